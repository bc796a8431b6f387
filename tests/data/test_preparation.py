"""The preparation of X and Y: every sample and feature is accounted for, and what is computed is what is said."""

import json
import re
from functools import cache
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from cohorts import N, barcodes, raw_tables, settings_of, write
from hypothesis import given
from hypothesis import strategies as st
from messy import FILES, PATHWAYS, STYLES, messy_cohort, options
from scipy import stats

from nard.data.cleaning import adjusted, drop_constant, fill_missing, logged, standardised, tamed, thin_missing
from nard.data.cohort import prepare_omics
from nard.data.features import choose_features, one_spelling, spelt, wanted_names
from nard.data.ledger import Ledger
from nard.data.names import antibody_key, barcode, gene_key, is_barcode, patient, sample_type
from nard.data.pathways import read_pathways
from nard.data.samples import _alike, match_samples, same_samples
from nard.data.tables import Table
from nard.data.words import dropped_lines, told, words
from nard.errors import DataError
from nard.project.check import prepare_cohort

SEEDS = range(50)
SIDES = ("inputs", "outputs")
UNTOUCHED = {"log": False, "outliers": "none", "standardise": False}


def random_options(seed):
    rng = np.random.default_rng([18, seed])
    return options(
        sample_types=("auto", "patient", ["01", "06"], ["01"])[rng.integers(4)],
        genes=("pathway", "all", 4, 9)[rng.integers(4)],
        proteins=str(rng.choice(["pathway", "all"])),
        max_missing=float(rng.choice([0.0, 0.1, 0.3, 1.0])),
        impute=str(rng.choice(["none", "median", "knn"], p=[0.5, 0.25, 0.25])),
        outliers=str(rng.choice(["winsorise", "rank_normal", "none"])),
    )


@cache
def prepared_at_random(seed):
    """The prepared cohort, or the error."""
    try:
        return messy_cohort(seed).prepare(**random_options(seed))
    except DataError as error:
        return error


def drawn(n=60, columns=("a", "b", "c"), seed=0):
    return pd.DataFrame(np.random.default_rng(seed).standard_normal((n, len(columns))), columns=list(columns))


def dropped(ledger, side, what):
    return {words(row): row["count"] for row in ledger.dropped if row["side"] == side and row["what"] == what}


# The account


@pytest.mark.parametrize("seed", SEEDS)
def test_found_less_dropped_is_used(seed):
    cohort = messy_cohort(seed)
    prepared = prepared_at_random(seed)
    if isinstance(prepared, DataError):
        # With few samples of a type, or none without a gap, there is nothing to prepare; that is told.
        causes = ("samples are left, at least 20", "share no sample", "no feature of the")
        assert any(text in str(prepared) for text in causes)
        return
    ledger = prepared.ledger
    for side, table, values in zip(SIDES, (cohort.inputs, cohort.outputs), (prepared.X, prepared.Y), strict=True):
        for axis, what in enumerate(("samples", "features")):
            gone = sum(row["count"] for row in ledger.dropped if row["side"] == side and row["what"] == what)
            assert ledger.found[side][what] == table.values.shape[axis]
            assert ledger.found[side][what] - gone == ledger.used(side, what) == values.shape[axis]
        assert np.isfinite(values.to_numpy()).all()
        assert values.index.is_unique
        assert values.columns.is_unique
        np.testing.assert_allclose(values.mean(), 0, atol=1e-10)
        np.testing.assert_allclose(values.std(ddof=0), 1, atol=1e-10)
    assert prepared.X.index.equals(prepared.Y.index)
    assert prepared.X.index.is_monotonic_increasing
    for row in ledger.dropped:
        assert row["count"] > 0
        assert len(row["names"]) == min(row["count"], 20)
    summary = json.loads(json.dumps(ledger.summary()))
    # What is read from a file is told as what was never written.
    assert dropped_lines(summary["dropped"], 4) == dropped_lines(ledger.dropped, 4)
    assert list(map(told, summary["notes"])) == list(map(told, ledger.notes))
    assert summary["outputs"]["samples"]["used"] == len(prepared.Y)


def test_most_messy_cohorts_can_be_used():
    """The test above tests something."""
    done = [seed for seed in SEEDS if not isinstance(prepared_at_random(seed), DataError)]
    assert len(done) >= 0.7 * len(SEEDS)


@pytest.mark.parametrize("seed", range(24))
def test_every_value_stays_with_its_patient_and_feature(seed):
    """Values are all different, so that each one of X and Y tells which raw cell it comes from."""
    cohort = messy_cohort(seed)
    prepared = cohort.prepare(
        **UNTOUCHED, genes="all", proteins="all", max_missing=0.1, impute="none", sample_types="auto"
    )
    types = set()
    for key, table, values in ((gene_key, cohort.inputs, prepared.X), (antibody_key, cohort.outputs, prepared.Y)):
        source = {}
        for column, feature in enumerate(table.values.columns):
            source |= {value: (i, feature) for i, value in enumerate(table.values.iloc[:, column])}
        for feature in values:
            for sample, value in values[feature].items():
                if value == 3.0:
                    continue
                i, raw_feature = source[value]
                raw_sample = barcode(table.values.index[i])
                assert key(raw_feature) == feature
                if is_barcode(sample):
                    assert patient(raw_sample) == patient(sample)
                    types.add(sample_type(raw_sample))
                else:
                    assert raw_sample == sample
                if table.cancers is not None:
                    assert table.cancers.iloc[i] == "LUAD"
    # One tumour type, or none where barcodes do not tell.
    assert len(types - {None}) <= 1
    assert not types & {"11", "20"}


def test_the_tables_are_left_as_they_are():
    cohort = messy_cohort(3)
    before = [table.values.copy() for table in (cohort.inputs, cohort.outputs)]
    cohort.prepare(impute="knn", outliers="rank_normal")
    for table, old in zip((cohort.inputs, cohort.outputs), before, strict=True):
        pd.testing.assert_frame_equal(table.values, old)


def test_words_of_the_account():
    ledger = Ledger()
    ledger.find("inputs", 10, 5)
    ledger.drop("inputs", "samples", [], "aliquot")
    ledger.drop("inputs", "samples", ["b", "a"], "filter", filter="age ({}) < {0}")
    ledger.drop("outputs", "samples", ["b", "a"], "filter", filter="age ({}) < {0}")
    ledger.drop("inputs", "features", ["x"], "few values", limit=0.2)
    assert ledger.used("inputs", "samples") == 8
    assert ledger.used("inputs", "features") == 4
    assert dropped_lines(ledger.dropped) == [
        "2 samples (inputs and outputs) left out: filter: age ({}) < {0}",
        "1 feature (inputs) left out: more than 20% of the values missing",
    ]
    assert dropped_lines(ledger.dropped, n_names=1)[0].endswith("< {0} (a, …)")
    assert ledger.dropped[2] == (
        {"code": "few values", "side": "inputs", "what": "features", "count": 1, "limit": 0.2, "names": ["x"]}
    )


# What must not matter


@pytest.mark.parametrize("seed", range(16))
def test_order_of_samples_and_features_does_not_matter(seed):
    cohort = messy_cohort(seed, styles=("aliquot", STYLES[seed % 4] if seed % 4 != 1 else "aliquot"))
    choices = {
        "impute": ("none", "median", "knn")[seed % 3],
        "genes": ("pathway", "all", 5)[seed % 3],
        "max_missing": 0.1,
    }
    try:
        first = cohort.prepare(**choices)
    except DataError:
        first = None
    rng = np.random.default_rng(seed)
    for name in ("inputs", "outputs"):
        table = getattr(cohort, name)
        rows, columns = (rng.permutation(size) for size in table.values.shape)
        cancers = None if table.cancers is None else table.cancers.iloc[rows]
        setattr(cohort, name, Table(table.values.iloc[rows, columns], table.layout, table.notes, cancers))
    if first is None:
        with pytest.raises(DataError):
            cohort.prepare(**choices)
        return
    second = cohort.prepare(**choices)
    for a, b in ((first.X, second.X), (first.Y, second.Y)):
        assert a.index.equals(b.index)
        assert set(a) == set(b)
        np.testing.assert_allclose(a.to_numpy(), b[a.columns].to_numpy(), atol=1e-9)


@pytest.mark.parametrize(("turn_inputs", "turn_outputs"), [(True, False), (False, True), (True, True)])
def test_orientation_does_not_matter(tmp_path, turn_inputs, turn_outputs):
    mrna, rppa = raw_tables()
    rppa = rppa.mask(np.random.default_rng(1).random(rppa.shape) < 0.01)
    pathways = read_pathways()

    def prepare(a, b):
        settings, files = settings_of(write(a, tmp_path / "a.tsv"), write(b, tmp_path / "b.tsv"))
        settings["preprocessing"]["impute"] = "median"
        return prepare_cohort(settings, files, pathways)

    plain = prepare(mrna, rppa)
    turned = prepare(
        mrna.T.rename_axis("sample") if turn_inputs else mrna, rppa.T.rename_axis("sample") if turn_outputs else rppa
    )
    pd.testing.assert_frame_equal(plain.X, turned.X)
    pd.testing.assert_frame_equal(plain.Y, turned.Y)


@pytest.mark.parametrize("impute", ["none", "median", "knn"])
@pytest.mark.parametrize("outliers", ["winsorise", "rank_normal", "none"])
def test_units_do_not_matter(outliers, impute):
    """Each feature in other units, with another zero: the standardised X and Y are the same."""
    cohort = messy_cohort(5, styles=("aliquot", "sample"), gaps=0.01)
    choices = {"outliers": outliers, "impute": impute, "log": False, "max_missing": 0.1}
    assert cohort.outputs.values.isna().to_numpy().any()
    first = cohort.prepare(**choices)
    rng = np.random.default_rng(0)
    for name, key in (("inputs", gene_key), ("outputs", antibody_key)):
        table = getattr(cohort, name)
        # One scale for all spellings of a name, so that the most variable of them stays the same.
        names = [key(feature) for feature in table.values]
        factors = {name: 10.0 ** rng.uniform(-3, 3) for name in sorted(set(names))}
        scale = np.array([factors[name] for name in names])
        values = table.values * scale + 10 * scale
        setattr(cohort, name, Table(values, table.layout, table.notes, table.cancers))
    second = cohort.prepare(**choices)
    np.testing.assert_allclose(first.X, second.X, atol=1e-7)
    np.testing.assert_allclose(first.Y, second.Y, atol=1e-7)


# Steps


@pytest.mark.parametrize(
    ("smallest", "largest", "raw"),
    [
        (0.0, 50.0, False),
        (0.0, 50.1, True),
        (-0.01, 6e5, False),
        (3.0, 19.0, False),
        (0.0, 6e5, True),
        (-4.0, 4.0, False),
    ],
)
def test_auto_takes_logarithms_of_raw_data_only(smallest, largest, raw):
    values = pd.DataFrame({"a": [smallest, 2.0, np.nan], "b": [1.0, largest, 3.0]})
    ledger = Ledger()
    found = logged(values, "auto", "inputs", "mrna.tsv", ledger)
    expected = np.log2(values + 1) if raw else values
    pd.testing.assert_frame_equal(found, expected)
    assert any("log2" in note for note in map(told, ledger.notes)) == raw
    # What was decided by itself is told; what was decided against the looks, too.
    ledger = Ledger()
    pd.testing.assert_frame_equal(logged(values, False, "inputs", "mrna.tsv", ledger), values)
    assert any("look like raw counts" in note for note in map(told, ledger.notes)) == raw


def test_logarithms_on_demand():
    values = pd.DataFrame({"a": [0.0, 3.0], "b": [1.0, 7.0]}, index=["s", "t"])
    found = logged(values, True, "inputs", "mrna.tsv", Ledger())
    np.testing.assert_array_equal(found, [[0, 1], [2, 3]])
    values.loc["t", "a"] = -0.5
    with pytest.raises(DataError, match=r"mrna.tsv: negative value -0.5 \(sample t, feature a\)"):
        logged(values, True, "inputs", "mrna.tsv", Ledger())


@pytest.mark.parametrize("n", [20, 21, 200])
def test_normal_scores(n):
    values = drawn(n)
    values["ties"] = np.arange(n) // 2
    scores = tamed(np.exp(3 * values), "rank_normal", "inputs", Ledger())
    for name in "abc":
        assert stats.rankdata(scores[name]).tolist() == stats.rankdata(values[name]).tolist()
        np.testing.assert_allclose(np.sort(scores[name]), stats.norm.ppf((np.arange(n) + 0.5) / n), atol=1e-12)
    np.testing.assert_allclose(scores["ties"][0::2][: n // 2], scores["ties"][1::2][: n // 2])
    np.testing.assert_allclose(scores[["a", "b", "c"]].mean(), 0, atol=1e-12)


def test_winsorising_clips_at_five_robust_standard_deviations():
    values = drawn(101)
    values.loc[[3, 50], "a"] = [40.0, -1e6]
    values.loc[7, "b"] = np.inf
    ledger = Ledger()
    found = tamed(values, "winsorise", "inputs", ledger)
    for name in values:
        centre = np.median(values[name])
        reach = 5 * 1.4826 * np.median(np.abs(values[name] - centre))
        assert found[name].max() <= centre + reach + 1e-12
        assert found[name].min() >= centre - reach - 1e-12
        inside = np.abs(values[name] - centre) <= reach
        assert (found[name] == values[name])[inside].all()
        np.testing.assert_allclose(np.abs(found[name] - centre)[~inside], reach)
    assert int((found != values).to_numpy().sum()) == 3
    assert list(map(told, ledger.notes)) == ["inputs: 3 outliers (0.99%) pulled in to five robust standard deviations"]


def test_sound_data_have_no_outliers():
    """Five standard deviations of a Gaussian: nothing happens to a sound table, and nothing is said."""
    ledger = Ledger()
    values = drawn(500, "abcdefgh")
    pd.testing.assert_frame_equal(tamed(values, "winsorise", "inputs", ledger), values)
    pd.testing.assert_frame_equal(tamed(values, "none", "inputs", ledger), values)
    assert not ledger.notes


@pytest.mark.parametrize("seed", range(5))
def test_residuals_are_orthogonal_to_covariates(seed):
    rng = np.random.default_rng(seed)
    values = drawn(80, "abcde", seed)
    covariates = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, 80),
            "sex": rng.choice(["f", "m"], 80),
            "batch": rng.choice(["x", "y", "z"], 80),
            "score": rng.integers(0, 2, 80),
        }
    )
    values["a"] += covariates["age"] + (covariates["batch"] == "y")
    values["b"] -= 5.0 * (covariates["sex"] == "f")
    ledger = Ledger()
    found = adjusted(values, covariates, "inputs", ledger)
    np.testing.assert_allclose(found.sum(), 0, atol=1e-9)
    np.testing.assert_allclose(found.T @ covariates[["age", "score"]], 0, atol=1e-8)
    for name in ("sex", "batch"):
        np.testing.assert_allclose(found.groupby(covariates[name]).sum(), 0, atol=1e-9)
    # Least squares, not less: what was taken away lies in the span of the covariates.
    design = np.column_stack([np.ones(80), pd.get_dummies(covariates, dtype=float)])
    fitted = values - found
    projected = design @ np.linalg.pinv(design) @ fitted
    np.testing.assert_allclose(projected, fitted, atol=1e-8)
    assert list(map(told, ledger.notes)) == ["inputs: adjusted for age, sex, batch, score"]


def test_units_of_covariates_do_not_matter():
    """A date in milliseconds is nearly constant compared with its size."""
    values, days = drawn(), np.random.default_rng(1).uniform(0, 30, 60)
    values["a"] += days
    plain = adjusted(values, pd.DataFrame({"date": days}), "inputs", Ledger())
    date = adjusted(values, pd.DataFrame({"date": 1.6e12 + 86_400_000 * days}), "inputs", Ledger())
    np.testing.assert_allclose(date, plain, atol=1e-6)
    assert abs(np.corrcoef(date["a"], days)[0, 1]) < 1e-6


def test_one_category_or_collinear_covariates_do_no_harm():
    values, age = drawn(), np.arange(60.0)
    plain = adjusted(values, pd.DataFrame({"age": age}), "inputs", Ledger())
    more = adjusted(values, pd.DataFrame({"age": age, "months": 12 * age, "site": "one"}), "inputs", Ledger())
    np.testing.assert_allclose(more, plain, atol=1e-9)


def test_what_covariates_explain_entirely_is_not_blown_up_to_noise():
    """The residuals of a feature on itself are rounding errors; scaled to unit variance they would look like data."""
    cohort = messy_cohort(5, styles=("plain", "plain"))
    inputs = cohort.inputs.values
    sex = pd.Series(np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(inputs)), inputs.index)
    sex = sex[~sex.index.duplicated()]
    inputs["G4"] = 5 + 3 * sex.reindex(inputs.index)
    table = pd.DataFrame({"sample": sex.index, "sex": sex.to_numpy()})
    try:
        found = _prepared_with_covariates(cohort, table, adjust=["sex"])
    except DataError:
        return
    assert "G4" not in found.X


def test_as_many_categories_as_samples_leave_nothing():
    cohort = messy_cohort(5, styles=("plain", "plain"))
    samples = cohort.inputs.values.index.unique()
    table = pd.DataFrame({"sample": samples, "site": [f"site {i}" for i in range(len(samples))]})
    with pytest.raises(DataError):
        _prepared_with_covariates(cohort, table, adjust=["site"])


@pytest.mark.parametrize("seed", range(4))
def test_missing_values_are_filled_in_and_counted(seed):
    rng = np.random.default_rng(seed)
    values = drawn(70, "abcdef", seed)
    whole = values.copy()
    gaps = rng.random(values.shape) < 0.1
    values = values.mask(gaps)
    for how in ("median", "knn"):
        ledger = Ledger()
        found = fill_missing(values, how, "outputs", ledger)
        assert f"outputs: {gaps.sum()} missing values ({gaps.mean():.2%}) filled in ({how})" in map(told, ledger.notes)
        assert not found.isna().to_numpy().any()
        np.testing.assert_array_equal(found.to_numpy()[~gaps], whole.to_numpy()[~gaps])
        if how == "median":
            for i, name in enumerate(values):
                assert (found[name].to_numpy()[gaps[:, i]] == np.nanmedian(values[name])).all()
    ledger = Ledger()
    pd.testing.assert_frame_equal(fill_missing(values, "none", "outputs", ledger), values)
    pd.testing.assert_frame_equal(fill_missing(whole, "knn", "outputs", ledger), whole)
    assert not ledger.notes


def test_similar_samples_fill_in_better_than_the_median():
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((200, 1))
    whole = pd.DataFrame(factor + 0.2 * rng.standard_normal((200, 10)))
    gaps = rng.random(whole.shape) < 0.1
    errors = {
        how: ((fill_missing(whole.mask(gaps), how, "inputs", Ledger()) - whole).to_numpy()[gaps] ** 2).mean()
        for how in ("median", "knn")
    }
    assert errors["knn"] < 0.2 * errors["median"]


def test_imputation_keeps_the_samples_that_would_be_dropped():
    cohort = messy_cohort(5, styles=("sample", "sample"), gaps=0.01)
    without, filled = (cohort.prepare(impute=how, max_missing=0.2) for how in ("none", "median"))
    lost = dropped(without.ledger, "outputs", "samples")["a missing value among the features kept"]
    assert lost > 0
    assert len(filled.X) == len(without.X) + lost
    assert filled.Y.shape[1] == without.Y.shape[1]


def test_the_share_that_may_be_missing_is_exact():
    values = drawn(20, "abcd")
    for name, n in zip("abcd", (4, 5, 20, 0), strict=True):
        values.loc[: n - 1, name] = np.nan
    ledger = Ledger()
    assert list(thin_missing(values, 0.2, "inputs", ledger)) == ["a", "d"]
    assert dropped(ledger, "inputs", "features") == {
        "no value in any sample": 1,
        "more than 20% of the values missing": 1,
    }
    assert list(thin_missing(values, 1.0, "inputs", Ledger())) == ["a", "b", "d"]
    assert list(thin_missing(values, 0.0, "inputs", Ledger())) == ["d"]


def test_features_go_before_samples():
    """One antibody that failed in a third of the samples costs that antibody, not a third of the samples."""
    mrna, rppa = (table.T for table in raw_tables(n=60))
    rppa.iloc[:20, 0] = np.nan
    rppa.iloc[25, 1] = np.nan
    prepared = prepare_omics(
        (Table(mrna, "", ()), Table(rppa, "", ())), FILES, read_pathways(), options(sample_types="auto")
    )
    assert prepared.X.shape == (59, 73)
    assert prepared.Y.shape == (59, 76)


def test_constant_features_are_dropped():
    values = drawn(20, "abcd")
    values["b"] = 7.0
    values.loc[:9, "c"] = np.median(values["c"][10:])
    values.loc[:8, "d"] = 0.0
    ledger = Ledger()
    assert list(drop_constant(values, "winsorise", "inputs", ledger)) == ["a", "d"]
    assert [row["names"] for row in ledger.dropped] == [["b"], ["c"]]
    assert list(drop_constant(values, "none", "inputs", Ledger())) == ["a", "c", "d"]
    # What is kept has a spread by any measure, so that nothing is divided by zero.
    kept = drop_constant(values, "winsorise", "inputs", Ledger())
    assert (kept.sub(kept.median()).abs().median() > 0).all()


def test_standardised():
    found = standardised(1e6 + 1e-3 * drawn())
    np.testing.assert_allclose(found.mean(), 0, atol=1e-6)
    np.testing.assert_allclose(found.std(ddof=0), 1, atol=1e-12)


# Features


def test_of_two_spellings_the_most_complete_then_the_most_variable_is_kept():
    values = drawn(50, ["TP53|7157", "TP53", "EGFR", "EGFR|1", "EGFR|2"])
    # The more variable ones have gaps.
    values[["TP53|7157", "EGFR"]] *= 10
    values.iloc[:2, 0] = np.nan
    values.iloc[0, 2] = np.nan
    values["EGFR|2"] *= 3
    ledger = Ledger()
    found, old = one_spelling(values, [gene_key(name) for name in values], "inputs", ledger)
    assert list(found) == ["TP53", "EGFR"]
    assert old == {"TP53": "TP53", "EGFR": "EGFR|2"}
    np.testing.assert_array_equal(found["TP53"], values["TP53"])
    np.testing.assert_array_equal(found["EGFR"], values["EGFR|2"])
    assert ledger.dropped[0]["names"] == ["EGFR", "EGFR|1", "TP53|7157"]


def test_the_most_variable_genes_are_those_after_the_logarithm():
    rng = np.random.default_rng(0)
    n = 60
    # Large and steady, small and variable: raw variances would choose the first one.
    genes = {"G1": 1e5 * np.exp(0.1 * rng.standard_normal(n)), "G2": 100 * np.exp(2 * rng.standard_normal(n))}
    names = [f"patient {i}" for i in range(n)]
    inputs = pd.DataFrame(genes, names)
    outputs = pd.DataFrame(rng.standard_normal((n, 3)), names, ["P1", "P2", "P3"])
    tables = Table(inputs, "", ()), Table(outputs, "", ())
    prepared = prepare_omics(tables, FILES, PATHWAYS, options(genes=1))
    assert list(prepared.X) == ["G2"]
    assert dropped(prepared.ledger, "inputs", "features") == {"not among the 1 most variable": 1}
    assert list(prepare_omics(tables, FILES, PATHWAYS, options(genes=1, log=False)).X) == ["G1"]


def test_a_gene_that_is_dropped_takes_no_place_among_the_most_variable():
    """Silent in most samples and strong in some: the largest variance, and not to be used."""
    rng = np.random.default_rng(0)
    names = [f"patient {i}" for i in range(60)]
    inputs = pd.DataFrame(rng.standard_normal((60, 4)), names, ["G1", "G2", "G3", "G4"])
    inputs["G1"] = np.where(np.arange(60) % 3 == 0, 20.0 + inputs["G1"], 0.0)
    inputs["G4"] *= 0.1
    outputs = pd.DataFrame(rng.standard_normal((60, 3)), names, ["P1", "P2", "P3"])
    prepared = prepare_omics((Table(inputs, "", ()), Table(outputs, "", ())), FILES, PATHWAYS, options(genes=2))
    assert list(prepared.X) == ["G2", "G3"]


def test_names_from_a_file_are_spelt_as_in_the_data(tmp_path):
    mrna, rppa = (table.T for table in raw_tables())
    rppa = rppa.rename(columns={"4EBP1PS65": "4E-BP1_pS65-R-V", "BAX": "BAX-R-V", "BAK": "Bak"})
    mrna = mrna.rename(columns={"TP53": "TP53|7157", "MRE11A": "MRE11"})
    (tmp_path / "proteins.txt").write_text("4E-BP1_pS65-R-V\n\n BAX-R-V \nBak\nBAX\nNOSUCH\n")
    (tmp_path / "genes.txt").write_text("TP53|7157\nMRE11\nEGFR\n")
    choices = options(genes=str(tmp_path / "genes.txt"), proteins=str(tmp_path / "proteins.txt"))
    prepared = prepare_omics((Table(mrna, "", ()), Table(rppa, "", ())), FILES, read_pathways(), choices)
    assert list(prepared.Y) == ["4EBP1PS65", "BAX", "BAK"]
    assert list(prepared.X) == ["TP53", "MRE11A", "EGFR"]
    assert any("outputs: 1 asked for but not in the file: NOSUCH" in note for note in map(told, prepared.ledger.notes))


@pytest.mark.parametrize("genes", ["all", 4])
def test_features_of_a_plain_table_keep_their_names(tmp_path, genes):
    """Names that are one where antibodies and genes are spelt are two elsewhere."""
    bacteria = ["k__Bacteria|p__Firmicutes", "k__Bacteria|p__Bacteroidetes", "MRE11", "MRE11A"]
    cells = ["CD4+", "CD4-", "IL-1", "IL1", "Bcl-2"]
    samples = [f"patient {i}" for i in range(60)]
    files = [
        write(drawn(60, names, seed).set_axis(samples), tmp_path / f"{seed}.tsv", index_label="id")
        for seed, names in enumerate((bacteria, cells))
    ]
    settings, files = settings_of(
        *files, orientation="samples_in_rows", preprocessing={"genes": genes, "proteins": "all"}
    )
    prepared = prepare_cohort(settings, files, read_pathways())
    assert list(prepared.X) == bacteria
    assert list(prepared.Y) == cells
    assert not prepared.ledger.dropped


@pytest.mark.parametrize(
    ("wanted", "names", "found"),
    [
        (None, ["CD4+", "CD4-", "Bcl-2"], None),
        (7, ["CD4+", "CD4-", "Bcl-2"], 7),
        (["BCL2", "BAX"], ["CD4+", "CD4-", "BCL2"], ["BCL2", "BAX"]),
        (["CD4-", "bcl2"], ["CD4+", "CD4-", "BCL2"], ["CD4-", "BCL2"]),
        (["CD4-", "CD4"], ["CD4", "CD4-", "Bcl-2"], ["CD4-", "CD4"]),
    ],
)
def test_names_of_somebodys_own_are_joined_only_to_be_found(wanted, names, found):
    own = Table(drawn(5, ["CD4+", "CD4-", " Bcl-2"]), "", (), own_names=True)
    assert spelt(own, wanted, antibody_key) == (names, found)


LINEAGES = ["k__B|p__A|s__unc", "k__B|p__C|s__unc", "k__B|p__D|s__unc"]


@pytest.mark.parametrize(
    ("names", "own"),
    [(["IL-1", "IL1", "il1"], True), (LINEAGES, True), (["Bcl-2-R-V", "BCL2", "Bak"], True), (["Bak-R-V"], False)],
)
def test_names_like_those_of_a_source_are_joined_if_nothing_is_lost(names, own):
    values = drawn(5, names)
    keys = list(map(antibody_key, names))
    assert spelt(Table(values, "", (), own_names=None), None, antibody_key) == (names if own else keys, None)
    # The same values, or each with values where the other has none.
    values[:] = values.iloc[:, :1]
    assert spelt(Table(values, "", (), own_names=None), None, antibody_key) == (keys, None)
    values = drawn(5, names).where(np.arange(5)[:, None] % len(names) == np.arange(len(names)))
    assert spelt(Table(values, "", (), own_names=None), None, antibody_key) == (keys, None)


def test_a_table_that_looks_like_xenas_keeps_what_differs(tmp_path):
    genes, proteins = ["chr1|12", "chr1|34", "TP53|7157"], ["IL-1", "IL1", "il1"]
    files = [
        write(drawn(60, names, seed).set_axis(barcodes(60)).T, tmp_path / f"{seed}.tsv", index_label="sample")
        for seed, names in enumerate((genes, proteins))
    ]
    settings, files = settings_of(*files, preprocessing={"genes": "all", "proteins": "all"})
    prepared = prepare_cohort(settings, files, read_pathways())
    assert (list(prepared.X), list(prepared.Y)) == (genes, proteins)
    assert not prepared.ledger.dropped


def test_names_of_a_source_are_joined():
    table = Table(drawn(5, ["Bcl-2-R-V", "BCL2", "Bak"]), "", ())
    assert spelt(table, None, antibody_key) == (["BCL2", "BCL2", "BAK"], None)
    assert spelt(table, ["Bcl-2"], antibody_key) == (["BCL2", "BCL2", "BAK"], ["BCL2"])


def test_wanted_names():
    assert wanted_names("all", ["a"], "genes") is None
    assert wanted_names("pathway", ["a"], "genes") == ["a"]
    assert wanted_names(7, ["a"], "genes") == 7
    with pytest.raises(DataError, match=r"`preprocessing\.genes`: 'pathways' is neither pathway nor all"):
        wanted_names("pathways", ["a"], "genes")


def test_absent_features_are_told_with_the_nearest():
    ledger = Ledger()
    found = choose_features(drawn(5, ["CDKN1B", "TP53"]), ["TP53", "CDKN1BB", "XYZ", "TP53"], "inputs", "f", ledger)
    assert list(found) == ["TP53"]
    assert list(map(told, ledger.notes)) == ["inputs: 2 asked for but not in the file: CDKN1BB (nearest: CDKN1B), XYZ"]
    assert dropped(ledger, "inputs", "features") == {"not among the features asked for": 1}
    with pytest.raises(
        DataError, match=r"(?s)mrna.tsv: none of the 2 inputs asked for.*asked for: A, B.*found: CDKN1B"
    ):
        choose_features(drawn(5, ["CDKN1B", "TP53"]), ["A", "B"], "inputs", "mrna.tsv", Ledger())


# Samples


def two_tables(inputs, outputs):
    """Tables whose one value is the position of the sample."""
    return [pd.DataFrame({"v": np.arange(float(len(names)))}, index=names) for names in (inputs, outputs)]


def matched(inputs, outputs, sample_types="auto"):
    ledger = Ledger()
    X, Y = match_samples(*two_tables(inputs, outputs), sample_types, ("mrna.tsv", "rppa.tsv"), ledger)
    assert X.index.equals(Y.index)
    return list(X.index), X["v"].astype(int).tolist(), Y["v"].astype(int).tolist(), ledger


SPELLINGS = {
    "case": ("Pat-{:02d}", "PAT-{:02d}"),
    "separator": ("P{:02d}a", "p_{:02d}.A"),
    "prefix": ("S{}", "X{:03d}"),
    "suffix": ("{}_rna", "{}_protein"),
}


@pytest.mark.parametrize("kind", SPELLINGS)
def test_samples_that_are_alike_are_proposed(kind):
    inputs, outputs = ([spelling.format(i) for i in range(1, 31)] for spelling in SPELLINGS[kind])
    with pytest.raises(DataError) as error:
        matched(inputs, outputs[::-1])
    assert "share no sample" in str(error.value)
    assert "30 pairs, such as " in str(error.value)
    assert f"{inputs[0]!r} and {outputs[0]!r}" in str(error.value)


@given(
    st.lists(st.text("aB1-_ ", min_size=1, max_size=6), unique_by=lambda name: re.sub(r"[\W_]", "", name).casefold())
)
def test_alike_are_names_that_differ_in_case_and_separators(names):
    names = [name for name in names if re.sub(r"[\W_]", "", name)]
    pairs = _alike(names, [name.swapcase().replace("-", ".") for name in names], list)
    assert sorted(one for one, _ in pairs) == sorted(names)


def test_the_first_of_samples_counted_from_zero_is_alike_too():
    with pytest.raises(DataError, match="5 pairs, such as 'P0' and 'Patient_000'"):
        matched([f"P{i}" for i in range(5)], [f"Patient_{i:03}" for i in range(5)])


def test_nothing_is_proposed_where_nothing_is_alike():
    for inputs, outputs in (
        (["ann", "bob"], ["carl", "dora"]),
        (barcodes(5), [f"TCGA-ZZ-{1000 + i}-01" for i in range(5)]),
    ):
        with pytest.raises(DataError) as error:
            matched(inputs, outputs)
        assert "alike" not in str(error.value)


def test_some_samples_that_are_alike_are_told():
    names = [f"P{i}" for i in range(30)]
    samples, _, _, ledger = matched(names, [*names[:20], *(name.lower() for name in names[20:])])
    assert len(samples) == 20
    [note] = [note for note in ledger.notes if note["code"] == "alike samples"]
    assert (note["count"], note["names"][0]) == (10, "P20 and p20")


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_normal_tissue_is_left_out_in_any_order(order):
    names = [f"TCGA-AA-{number}-{kind}" for number in range(1000, 1005) for kind in ("01", "11")]
    X, Y = same_samples(*two_tables(names, names[order]), ("mrna.tsv", "rppa.tsv"), Ledger())
    assert list(X.index) == list(Y.index) == [name for name in names if name.endswith("01")]


def test_one_tumour_of_each_patient_stays_as_it_is():
    """As the preparation leaves them: of several types, in its own order."""
    names = ["TCGA-AA-1002-06", "TCGA-AA-1001-01", "TCGA-AA-1003-01"]
    X, Y = same_samples(*two_tables(names, names), ("mrna.tsv", "rppa.tsv"), Ledger())
    assert list(X.index) == list(Y.index) == names


def test_auto_is_the_type_that_most_patients_have_on_both_sides():
    # More samples of type 01 in either table, more pairs of type 06.
    inputs = [*barcodes(30, "01"), *barcodes(20, "06")]
    outputs = [*(name.replace("AB", "ZZ") for name in barcodes(30, "01")), *barcodes(20, "06")]
    samples, _, _, ledger = matched(inputs, outputs)
    assert samples == barcodes(20, "06")
    assert dropped(ledger, "inputs", "samples") == {"sample type 01, kept: 06 (`preprocessing.sample_types`)": 30}


def test_auto_never_takes_normal_tissue():
    inputs = [*barcodes(30, "11"), *barcodes(3, "01")]
    assert matched(inputs, inputs)[0] == barcodes(3, "01")


def test_sample_types_on_demand():
    names = [*barcodes(5, "01"), *barcodes(8, "06"), *barcodes(9, "11")]
    assert matched(names, names, ["06"])[0] == barcodes(8, "06")
    assert matched(names, names, ["11"])[0] == barcodes(9, "11")
    # One sample per patient: the first type that both sides have.
    both = matched(names, names, ["01", "06"])
    assert both[0] == [*barcodes(5, "01"), *barcodes(8, "06")[5:]]
    assert dropped(both[3], "inputs", "samples")["a second sample type of the same patient; first one kept"] == 5
    only = matched(names, barcodes(8, "06"), ["01", "06"])
    assert only[0] == barcodes(8, "06")


def test_by_patient_whatever_the_type():
    samples, of_inputs, of_outputs, ledger = matched(
        ["TCGA-AB-1000-06", "TCGA-AB-1000-01", "TCGA-AB-1001-01", "TCGA-AB-1002-11"],
        ["TCGA-AB-1000-06", "TCGA-AB-1001-07", "TCGA-AB-1002-01"],
        "patient",
    )
    assert samples == ["TCGA-AB-1000", "TCGA-AB-1001"]
    assert of_inputs == [1, 2]
    assert of_outputs == [0, 1]
    assert ledger.dropped[0]["names"] == ["TCGA-AB-1002-11"]


def test_a_table_without_types_is_matched_by_patient():
    patients = [name[:12] for name in barcodes(6)]
    inputs = [*barcodes(4, "01"), *barcodes(6, "11")]
    samples, of_inputs, _, ledger = matched(inputs, patients)
    assert samples == patients[:4]
    assert of_inputs == [0, 1, 2, 3]
    assert any("outputs: barcodes end at the patient" in note for note in map(told, ledger.notes))
    assert matched(patients, patients)[0] == patients


def test_the_first_aliquot_is_taken_in_any_order():
    inputs = ["TCGA-AB-1000-01B-11R", "TCGA-AB-1000-01A-21R", "TCGA-AB-1000-01A-11R"]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        names = [inputs[i] for i in order]
        samples, of_inputs, _, ledger = matched(names, ["TCGA.ab.1000.01"])
        assert samples == ["TCGA-AB-1000-01"]
        assert names[of_inputs[0]] == "TCGA-AB-1000-01A-11R"
        assert dropped(ledger, "inputs", "samples") == {"another aliquot of the same sample; first one kept": 2}


def test_plain_names():
    samples, of_inputs, of_outputs, ledger = matched(["b", " a ", "c"], ["c", "a", "d"])
    assert samples == ["a", "c"]
    assert of_inputs == [1, 2]
    assert of_outputs == [1, 0]
    assert dropped(ledger, "inputs", "samples") == {"not measured among the outputs": 1}
    with pytest.raises(DataError, match=r"rppa\.tsv: sample 'a' appears 2 times with different values"):
        matched(["a", "b"], ["a", "a"])


def test_a_sample_that_is_no_barcode_does_not_switch_the_types_off():
    """One stray column, such as a control, must not mix normal tissue with tumours, nor patients with themselves."""
    names = [*barcodes(30, "01"), *barcodes(10, "11"), *barcodes(10, "06")]
    try:
        samples = matched([*names, "Control"], names)[0]
    except DataError:
        return
    assert samples == barcodes(30, "01")


def test_a_barcode_without_type_does_not_make_tumours_of_normals():
    """Of a table in which one barcode ends at the patient, the normal tissue of the others is still left out."""
    tumours = barcodes(30, "01")
    normals = [name.replace("-01", "-11") for name in tumours[:10]]
    samples = matched(tumours, [*normals, *tumours[10:], "TCGA-ZZ-0000"])[0]
    assert {name[:12] for name in samples} == {name[:12] for name in tumours[10:]}


def test_types_that_are_not_there_are_told_as_such():
    """Both files have the same samples, so "rename the samples" would lead astray."""
    with pytest.raises(DataError, match="sample_types"):
        matched(barcodes(30, "01"), barcodes(30, "01"), ["06"])
    with pytest.raises(DataError, match="sample_types"):
        matched(barcodes(30, "11"), barcodes(30, "11"), "auto")


def test_a_table_of_several_cancers(tmp_path):
    mrna, rppa = raw_tables(n=60)
    tcpa = rppa.T.rename_axis("Sample_ID").reset_index()
    tcpa.insert(1, "Cancer_Type", ["COAD"] * 30 + ["READ"] * 25 + ["OV"] * 5)
    tcpa.insert(2, "Sample_Type", "Primary")
    inputs, outputs = write(mrna, tmp_path / "mrna.tsv"), write(tcpa, tmp_path / "tcpa.csv", sep=",", index=False)
    settings, files = settings_of(inputs, outputs)
    found = prepare_cohort({**settings, "cancer": "READ"}, files, read_pathways())
    assert list(found.Y.index) == barcodes(60)[30:55]
    assert dropped(found.ledger, "outputs", "samples") == {"another cancer than READ": 35}
    assert dropped(found.ledger, "inputs", "samples") == {"not measured among the outputs": 35}
    assert found.Y.shape[1] == 77
    with pytest.raises(DataError, match=r"(?s)none of its rows is 'LUAD'.*found: COAD, OV, READ.*set `cancer`"):
        prepare_cohort({**settings, "cancer": "LUAD"}, files, read_pathways())


# Covariates


def _prepared_with_covariates(cohort, table, **changed):
    with TemporaryDirectory() as folder:
        path = write(table, f"{folder}/covariates.tsv", index=False)
        return cohort.prepare({"covariates": path}, **changed)


def covariates_of(names, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"patient": names, "age": rng.uniform(20, 80, len(names)).round(1)})
    table["sex"] = rng.choice(["f", "m"], len(names))
    return table


@pytest.mark.parametrize("style", ["patient", "sample", "dotted"])
def test_covariates_are_those_of_the_patient(style):
    cohort = messy_cohort(5, styles=("aliquot", "sample"))
    table = covariates_of([f"TCGA-AB-{1000 + i}" for i in range(70)])
    spelt = table.copy()
    if style == "sample":
        spelt["patient"] += "-01"
    if style == "dotted":
        spelt["patient"] = spelt["patient"].str.replace("-", ".").str.lower()
    spelt = spelt.sample(frac=1, random_state=0)
    prepared = _prepared_with_covariates(cohort, spelt, adjust=["age", "sex"], max_missing=0.1)
    plain = cohort.prepare(max_missing=0.1)
    assert prepared.X.index.equals(plain.X.index)
    mine = table.set_index("patient").loc[[patient(name) for name in prepared.X.index]]
    for values, before in ((prepared.X, plain.X), (prepared.Y, plain.Y)):
        design = np.column_stack([np.ones(len(mine)), mine["age"], mine["sex"] == "f"])
        expected = before - design @ np.linalg.lstsq(design, before.to_numpy(), rcond=None)[0]
        np.testing.assert_allclose(values, expected / expected.std(ddof=0), atol=1e-8)


def test_samples_without_covariates_are_dropped_and_counted():
    cohort = messy_cohort(5, styles=("aliquot", "sample"))
    table = covariates_of([f"TCGA-AB-{1000 + i}" for i in range(70)])
    plain = cohort.prepare(max_missing=0.1)
    present = {patient(name) for name in plain.X.index}
    table.loc[:9, "sex"] = None
    without = set(table["patient"][:10]) & present
    without |= set(table["patient"][60:]) & present
    prepared = _prepared_with_covariates(cohort, table[:60], adjust=["sex"], max_missing=0.1)
    assert len(without) > 10
    assert {patient(name) for name in prepared.X.index} == present - without
    for side in SIDES:
        assert dropped(prepared.ledger, side, "samples")["no value of sex"] == len(without)
        assert prepared.ledger.used(side, "samples") == len(prepared.X)


def test_plain_samples_have_covariates_of_their_own():
    cohort = messy_cohort(5, styles=("plain", "plain"))
    table = covariates_of([f"patient {i}" for i in range(70)])
    prepared = _prepared_with_covariates(cohort, table, adjust=["age"], max_missing=0.1)
    age = table.set_index("patient")["age"].loc[prepared.X.index]
    correlations = [np.corrcoef(column, age)[0, 1] for column in prepared.Y.to_numpy().T]
    np.testing.assert_allclose(correlations, 0, atol=1e-10)
    assert len(prepared.X) == len(cohort.prepare(max_missing=0.1).X)


def test_covariates_that_are_not_there():
    cohort = messy_cohort(5, styles=("aliquot", "sample"))
    table = covariates_of([f"TCGA-AB-{1000 + i}" for i in range(70)])
    with pytest.raises(DataError, match=r"(?s)covariates.tsv: 1 columns.*'agee': did you mean 'age'?"):
        _prepared_with_covariates(cohort, table, adjust=["agee"])


def test_covariates_that_contradict_each_other_are_not_passed_over():
    cohort = messy_cohort(5, styles=("aliquot", "sample"))
    table = covariates_of([f"TCGA-AB-{1000 + i}" for i in range(70)])
    other = table.assign(age=table["age"][::-1].to_numpy())
    try:
        prepared = _prepared_with_covariates(cohort, pd.concat([table, other]), adjust=["age"], max_missing=0.1)
    except DataError:
        return
    assert any("covariates" in note for note in map(told, prepared.ledger.notes))


def test_one_stray_row_of_covariates_does_not_lose_all_samples():
    cohort = messy_cohort(5, styles=("aliquot", "sample"))
    table = covariates_of([*(f"TCGA-AB-{1000 + i}" for i in range(70)), "mean of all"])
    prepared = _prepared_with_covariates(cohort, table, adjust=["age"], max_missing=0.1)
    assert len(prepared.X) == len(cohort.prepare(max_missing=0.1).X)


# Too little left


def test_too_few_samples_are_told_with_what_was_dropped():
    mrna, rppa = (table.T for table in raw_tables(n=N))
    tables = Table(mrna, "", ()), Table(rppa[:19], "", ())
    with pytest.raises(
        DataError, match=r"(?s)19 samples are left.*mrna.tsv, rppa.tsv.*dropped 21 \(inputs\): not measured"
    ):
        prepare_omics(tables, FILES, read_pathways(), options())
    prepared = prepare_omics((tables[0], Table(rppa[:20], "", ())), FILES, read_pathways(), options())
    assert len(prepared.X) == 20
    assert any("only 20 samples" in note for note in map(told, prepared.ledger.notes))


@pytest.mark.parametrize("outliers", ["winsorise", "rank_normal", "none"])
@pytest.mark.parametrize("value", [1.0, np.nan])
def test_no_feature_left_is_told(outliers, value):
    mrna, rppa = (table.T for table in raw_tables())
    rppa[:] = value
    with pytest.raises(DataError, match=r"(?s)rppa.tsv: no feature of the outputs is left.*77 dropped"):
        prepare_omics((Table(mrna, "", ()), Table(rppa, "", ())), FILES, read_pathways(), options(outliers=outliers))
