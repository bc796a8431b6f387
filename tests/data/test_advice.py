"""What the check proposes to change, and where it proposes nothing."""

import numpy as np
import pandas as pd
import pytest
from cohorts import PATHWAYS, raw_tables, settings_of, write

from nard.command import main
from nard.data.cleaning import tamed
from nard.data.ledger import Ledger
from nard.project.check import checked_cohort
from nard.project.config import load_config


@pytest.mark.parametrize("outliers", ["winsorise", "none", "rank_normal"])
def test_linear_values_are_told_from_logarithms(outliers):
    """Exponentials of normal values are skewed, and z-scores of them too; normal values are not."""
    values = pd.DataFrame(np.random.default_rng(0).standard_normal((200, 6)))
    linear = np.exp(values)
    for table, skewed in ((values, False), (linear, True), ((linear - linear.mean()) / linear.std(), True)):
        ledger = Ledger()
        tamed(table, outliers, "inputs", ledger)
        notes = [note for note in ledger.notes if note["code"] == "skewed"]
        assert len(notes) == (skewed and outliers != "rank_normal")
        for note in notes:
            assert 0.9 < note["skewness"] < table.skew().median()
            assert note["largest"] == table.max().max()


@pytest.mark.parametrize("outliers", ["winsorise", "none", "rank_normal"])
def test_sparse_outputs_get_a_word(outliers, tmp_path):
    mrna, rppa = raw_tables(n=60)
    rng = np.random.default_rng(3)
    sparse = rppa.index[:10]
    rppa.loc[sparse] = np.where(rng.random((10, 60)) < 0.8, 0.0, rppa.loc[sparse])
    files = write(mrna, tmp_path / "x.tsv"), write(rppa, tmp_path / "y.tsv")
    settings, named = settings_of(*files, preprocessing={"outliers": outliers})
    _, account = checked_cohort("TEST", settings, named, PATHWAYS)
    [fact] = [fact for fact in account["advice"] if fact["code"].startswith("sparse")]
    dropped = outliers == "winsorise"
    assert (fact["code"], fact["side"], fact["count"]) == ("sparse left out" if dropped else "sparse", "outputs", 10)
    assert account["n_outputs"] == len(rppa) - 10 * dropped


def test_what_the_pathways_leave_out_is_told(tmp_path):
    mrna, rppa = raw_tables(n=60)
    more = pd.DataFrame(np.random.default_rng(0).standard_normal((300, 60)), [f"OTHER{i}" for i in range(300)])
    files = write(pd.concat([mrna, more.set_axis(mrna.columns, axis=1)]).rename_axis("sample"), tmp_path / "x.tsv")
    for choice, expected in (("pathway", [(73, 373)]), ("all", [])):
        settings, named = settings_of(files, write(rppa, tmp_path / "y.tsv"), preprocessing={"genes": choice})
        _, account = checked_cohort("TEST", settings, named, PATHWAYS)
        facts = [(fact["kept"], fact["found"]) for fact in account["advice"] if fact["code"] == "pathways only"]
        assert facts == expected


@pytest.mark.parametrize("outliers", ["winsorise", "none", "rank_normal"])
@pytest.mark.parametrize("impute", ["none", "median", "knn"])
def test_copies_are_told_whatever_becomes_of_the_values(outliers, impute, tmp_path):
    """Where a value is filled in, and in normal scores, they are none any more."""
    rng = np.random.default_rng(0)
    mrna, rppa = raw_tables(n=80)
    rppa = rppa.iloc[:4]
    mean = (rppa.iloc[0] + 2 * rppa.iloc[1]) / 3
    rppa = pd.concat([rppa, pd.DataFrame([mean, 7 - 2 * rppa.iloc[2]], ["MEAN", "COPY"], rppa.columns)])
    if impute != "none":
        rppa = rppa.mask(rng.random(rppa.shape) < 0.08)
    # Nothing but an outlier in common.
    shared = pd.DataFrame(rng.standard_normal((2, 80)), ["ONE", "OTHER"], rppa.columns)
    shared.iloc[:, 3] = 1e4 if outliers != "none" else 0
    files = write(mrna, tmp_path / "x.tsv"), write(pd.concat([rppa, shared]).rename_axis("sample"), tmp_path / "y.tsv")
    options = {"proteins": "all", "outliers": outliers, "impute": impute}
    _, account = checked_cohort("TEST", *settings_of(*files, preprocessing=options), PATHWAYS)
    facts = [fact for fact in account["advice"] if fact["code"] in ("copies", "combination")]
    assert [(fact["code"], fact.get("one"), fact.get("names", fact.get("other"))) for fact in facts] == [
        ("combination", "MEAN", list(rppa.index[:2])),
        ("copies", rppa.index[2], "COPY"),
    ]


@pytest.mark.slow
def test_cancers_are_taken_at_once_and_their_z_scores_become_normal_scores(real_data, tmp_path):
    """Those of READ, COAD and LUSC are linear, those of UCEC logarithms, and KIRC has counts."""
    folder = real_data / "tcga"
    files = ["--inputs", f"{folder}/{{cohort}}/mrna.tsv.gz", "--outputs", f"{folder}/{{cohort}}/rppa.tsv.gz"]
    assert main(["init", str(tmp_path / "new"), *files, "--name", "COAD", "LUSC", "READ", "UCEC", "KIRC"]) == 0
    cohorts = load_config(tmp_path / "new/config/config.yaml")["cohorts"]
    outliers = {name: cohort["preprocessing"].get("outliers") for name, cohort in cohorts.items()}
    assert outliers == {"COAD": "rank_normal", "LUSC": "rank_normal", "READ": "rank_normal", "UCEC": None, "KIRC": None}
