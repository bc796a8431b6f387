"""One small fit on simulated data: what the model finds, beside the truth."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nard import NARD
from nard.simulate import make_regression


def main() -> None:
    data = make_regression(n_samples=300, n_features=60, n_targets=20, random_state=1)
    genes = [f"gene{i}" for i in range(data.X.shape[1])]
    proteins = [f"protein{i}" for i in range(data.Y.shape[1])]
    X, Y = pd.DataFrame(data.X, columns=genes), pd.DataFrame(data.Y, columns=proteins)

    model = NARD().fit(X, Y)
    print(f"Simulated data: {len(X)} samples, {X.shape[1]} inputs, {Y.shape[1]} outputs.")
    print(f"λ = {model.lam_:.3f} by cross-validation, {model.n_iter_} steps, converged: {model.converged_}\n")

    relevance, associations, edges = model.relevance(), model.associations(), model.edges()
    print("Inputs, most significant first:")
    print(relevance.head(5).to_string(index=False, float_format="%.3g"), "\n")
    print("Input → output associations:")
    print(associations.head(5).to_string(index=False, float_format="%.3g"), "\n")
    print("Edges between outputs:")
    print(edges.head(5).to_string(index=False, float_format="%.3g"), "\n")

    truth = {
        "inputs": (relevance, int(data.relevant.sum())),
        "associations": (associations, int(np.count_nonzero(data.coef))),
        "edges": (edges, int(np.triu(data.edges).sum())),
    }
    for kind, (table, n_true) in truth.items():
        print(
            f"{kind}: {int(table['selected'].sum())} selected at a false discovery rate of 5 %, {n_true} in the truth"
        )


if __name__ == "__main__":
    main()
