"""The Methods section says what the config and the results say."""

import re

import pytest
from cohorts import PATHWAYS, raw_tables

from nard import __version__
from nard.data.cohort import prepare_omics
from nard.data.tables import Table
from nard.fits.methods import METHODS, SKLEARN, minimise_j
from nard.project.config import validated
from nard.report.methods_section import methods_section


def summary(cohort, **keys):
    return {
        "cohort": cohort,
        "title": cohort,
        "kind": "omics",
        "simulated": False,
        "n_samples": 130,
        "n_inputs": 73,
        "n_outputs": 76,
        "dropped": [],
        "notes": [],
        **keys,
    }


def fit(cohort, lam, **found):
    return {
        "title": cohort,
        "tuned": {"lam": lam, "relevance": "entries", "hidden": 0},
        "tested": {"relevance": "entries", "hidden": 2},
        "hidden": {"number": 2},
        "found": {"features": 7, "features_with_associations": 6, "associations": 11, "edges": 1} | found,
        "diagnostics": {},
    }


def config(**keys):
    files = {"source": "files", "inputs": "x.tsv", "outputs": "y.tsv"}
    return validated({"methods": ["sequential"], "cohorts": {"KIRC": dict(files), "LUAD": dict(files)}} | keys)


def text_of(settings, summaries=None, fits=None):
    fits = fits or [fit("KIRC", 0.12), fit("LUAD", 0.2, edges=24)]
    section = methods_section(
        summaries or [summary("KIRC"), summary("LUAD", n_samples=313)],
        [{"method": settings["reference"], **one} for one in fits],
        settings,
    )
    return section.markdown()


def test_counts_and_settings_come_from_the_run():
    text = text_of(config(seed=17, fit={"fdr": 0.1}))
    assert "KIRC (130 samples, 73 genes, 76 proteins) and LUAD (313 samples, 73 genes, 76 proteins)" in text
    assert "five-fold cross-validated likelihood (λ between 0.12 and 0.2)" in text
    assert "false discovery rate of 0.1 within each cohort" in text
    kirc = (
        "11 associations of 6 inputs, 7 inputs in the test over all outputs at once and 1 edge between outputs in KIRC"
    )
    assert f"Selected were {kirc}; 11 associations of 6 inputs" in text
    assert "24 edges between outputs in LUAD." in text
    assert f"nard {__version__} with seed 17" in text
    assert "[Say where your files come from" in text
    assert "simulated" not in text


def test_a_given_penalty_is_called_so():
    text = text_of(config(fit={"lam": 0.1}), fits=[fit("KIRC", 0.1), fit("LUAD", 0.1)])
    assert "set beforehand (λ = 0.1)" in text


def test_the_parts_of_the_model_are_those_that_were_fitted():
    text = text_of(config())
    assert "those were used for prediction that predict held-out samples best: B alone." in text
    assert "found by bi-cross-validation (Owen and Wang 2016): 2 in KIRC and 2 in LUAD." in text
    assert "An input → output association was tested by Student's t" in text
    assert "leave-one-out" not in text
    both = fit("LUAD", 0.2)
    both["tuned"]["relevance"], both["tested"]["relevance"] = "both", "inputs"
    text = text_of(config(), fits=[fit("KIRC", 0.1), both])
    assert "B alone in KIRC and U and B in LUAD." in text
    assert "In KIRC an input → output association" in text
    assert "In LUAD inputs and input → output associations were tested by leave-one-out scores" in text
    assert "refit" not in text


def test_parts_that_were_set_are_called_so():
    plain = fit("KIRC", 0.1)
    plain["tuned"]["relevance"] = plain["tested"]["relevance"] = "inputs"
    plain["hidden"]["number"] = 0
    text = text_of(config(fit={"relevance": "inputs", "hidden": 0}), fits=[plain])
    assert "The parts were set beforehand: U alone. Hidden inputs were not allowed for." in text
    assert "findings were tested. Inputs and input → output associations were tested by leave-one-out scores" in text
    references = text.split("## References")[1]
    assert "Owen" not in references
    assert "Sarkar" not in references
    plain["hidden"]["number"] = 3
    text = text_of(config(fit={"relevance": "inputs", "hidden": 3}), fits=[plain])
    assert "The number of hidden inputs was set beforehand: 3 in KIRC." in text


def test_cohorts_prepared_differently_are_told_apart():
    settings = config()
    assert "KIRC:" not in text_of(settings)
    settings["cohorts"]["LUAD"]["preprocessing"] = {"outliers": "rank_normal", "genes": 500, "impute": "knn"}
    text = text_of(settings)
    kirc, luad = re.search("KIRC: (.*) LUAD: (.*)", text).groups()
    assert "five robust standard deviations" in kirc
    assert "then samples with any missing value" in kirc
    assert "the 500 most variable genes" in luad
    assert "normal scores" in luad
    assert "nearest neighbours" in luad


def test_logarithms_and_sample_types_are_those_of_the_preparation():
    """The codes that the section looks for are those that the preparation writes."""
    names = [f"TCGA-AB-{1000 + i}-{'11' if i < 3 else '01'}" for i in range(40)]
    mrna, rppa = raw_tables()
    tables = tuple(Table(table.T.set_axis(names), "", ()) for table in (2.0**mrna, rppa))
    options = config()["preprocessing"]
    made = prepare_omics(tables, {"inputs": "x", "outputs": "y"}, PATHWAYS, options).ledger.summary()
    text = text_of(config(), [summary("KIRC", **made), summary("LUAD", **made)])
    assert "log2(x + 1) of the genes was taken" in text
    assert "only samples of TCGA's type 01 were taken" in text
    assert "log2" not in text_of(config())


def test_simulated_data_are_called_so():
    settings = validated({"methods": ["sequential"], "cohorts": {"KIRC": {"source": "simulated"}}})
    text = text_of(settings, [summary("KIRC", simulated=True)], [fit("KIRC", 0.1)])
    assert "KIRC (simulated; 130 samples" in text


def test_aging_cohorts_have_a_filter():
    settings = validated({"methods": ["sequential"], "cohorts": {"AGE": {"source": "simulated", "kind": "aging"}}})
    settings["cohorts"]["AGE"]["filter"] = "age >= 20"
    text = text_of(settings, [summary("AGE", kind="aging")], [fit("AGE", 0.1)])
    assert "`age >= 20`" in text
    assert "correlate with age at a false discovery rate of 0.05" in text


@pytest.mark.parametrize("method", [name for name in METHODS if name not in minimise_j(METHODS)])
def test_every_baseline_is_cited(method):
    text = text_of(config(methods=["sequential", method]))
    assert re.search(rf"For comparison we fitted .*{METHODS[method].title} \(\w+.* \d{{4}}", text)
    references = text.split("## References")[1].strip().splitlines()
    # NARD, single effects, hidden inputs, edges, q-values, Snakemake, scikit-learn, and the method's.
    assert len(references) == 8 - (METHODS[method].publication is SKLEARN)


def test_a_method_from_outside_is_to_be_cited():
    text = text_of(config(methods=["sequential", "mine=nard.baselines:CAPME"]))
    assert "For comparison we fitted mine ([cite mine])." in text
    assert len(text.split("## References")[1].strip().splitlines()) == 7


def test_a_method_of_one_cohort_is_said_to_be_so():
    settings = config()
    settings["cohorts"]["LUAD"]["more_methods"] = ["jrns"]
    assert "JRNS (Samanta et al. 2022; in LUAD only)." in text_of(settings)


def test_subsamples_are_told():
    assert "50 random subsamples, each of 80% of the samples" in text_of(config(stability={"subsamples": 50}))
    assert "subsample" not in text_of(config())


def test_what_could_not_be_fitted_is_told():
    failed = {"code": "singular matrix", "message": "of rank 3\nand more"}
    fits = [
        {**fit("KIRC", 0.12), "failed": failed},
        fit("LUAD", 0.2),
        {**fit("LUAD", 0.2), "method": "hsghs", "diagnostics": {"rhat": 1.88, "ess": 1.4}},
        {**fit("KIRC", 0.2), "method": "hsghs", "diagnostics": {"rhat": 1.02, "ess": 400.0}},
    ]
    text = text_of(config(methods=["sequential", "hsghs"]), fits=fits)
    assert "NARD sequential could not be fitted to KIRC (singular matrix: of rank 3)." in text
    assert "The chains of HS-GHS had not converged in LUAD (R̂ 1.88, effective sample size 1.4)." in text
    assert "had not converged in KIRC" not in text
    luad = (
        "11 associations of 6 inputs, 7 inputs in the test over all outputs at once and 1 edge between outputs in LUAD"
    )
    assert f"Selected were {luad}." in text
    # Nor is anything said of a model that was fitted to no cohort.
    nothing = text_of(config(), fits=[{**one, "failed": failed} for one in fits[:2]])
    assert "Selected" not in nothing
    assert "could not be fitted to LUAD" in nothing


def test_the_floors_are_told():
    assert "predicted by ridge per output and no regression (scikit-learn; Pedregosa et al. 2011)" in text_of(config())


def test_a_baseline_as_reference_claims_no_tests():
    text = text_of(config(methods=["mrce"], reference="mrce"))
    assert "Networks were estimated by MRCE (Rothman et al. 2010)" in text
    assert "tests nothing" in text
    assert "Benjamini" not in text
