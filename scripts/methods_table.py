"""Every fit in one row: findings, agreement with the reference method, held-out predictions."""

import pandas as pd

from nard.files import read_json, read_tsv, write_tsv
from nard.project.jobs import job


def with_reference(jaccard: pd.DataFrame, cohort: str, method: str, reference: str, what: str) -> float:
    if method == reference:
        return 1.0
    pair = {method, reference}
    rows = jaccard[(jaccard["cohort"] == cohort) & (jaccard["what"] == what)]
    chosen = [{a, b} == pair for a, b in zip(rows["method_a"], rows["method_b"], strict=True)]
    return float(rows["jaccard"][chosen].iloc[0])


def _shown(value) -> str:
    return value if isinstance(value, str) else f"{value:.3g}"


if __name__ == "__main__":
    with job(snakemake.log[0]):
        jaccard = read_tsv(snakemake.input.jaccard, dtype={"cohort": str})
        rows = []
        for fit, held_out in zip(
            map(read_json, snakemake.input.fits), map(read_json, snakemake.input.held_out), strict=True
        ):
            cohort, method = fit["cohort"], fit["method"]
            reference = snakemake.params.reference
            rows.append(
                {
                    "cohort": cohort,
                    "method": method,
                    "chosen": ", ".join(
                        f"{name} = {_shown(value)}" for name, value in fit["tuned"].items() if value is not None
                    ),
                    **fit["found"],
                    "jaccard_associations": with_reference(jaccard, cohort, method, reference, "associations"),
                    "jaccard_edges": with_reference(jaccard, cohort, method, reference, "edges"),
                    "held_out_log_likelihood": held_out["log_likelihood"],
                    "held_out_r2": held_out["r2"],
                    "converged": fit["diagnostics"].get("converged"),
                }
            )
        write_tsv(pd.DataFrame(rows), snakemake.output[0])
