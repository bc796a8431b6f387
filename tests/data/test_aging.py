"""Aging cohorts: who and what is kept, by which test, and what is said where a table cannot be used."""

import numpy as np
import pandas as pd
import pytest
from cohorts import write
from scipy import stats

from nard.data.blocks import simulated_blocks
from nard.data.pathways import read_pathways
from nard.data.simulated import simulate_aging
from nard.data.words import words
from nard.errors import DataError
from nard.project.check import prepare_cohort
from nard.project.config import cohort_settings, validated

N = 120
MACRO = {"Body": ["height", "waist"], "Heart": ["sbp", "pulse wave"]}
MOLECULAR = {"Liver": ["albumin", "alp"], "Kidney": ["creat"]}
INPUTS, OUTPUTS = ["albumin", "alp", "creat"], ["height", "waist", "sbp", "pulse wave"]


def people(seed=0, n=N):
    """All phenotypes depend on age."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"id": [f"person {i}" for i in range(n)], "age": rng.uniform(20, 80, n).round(1)})
    table["sex"] = rng.choice(["f", "m"], n)
    table["pregnant"] = rng.choice([0, 1], n, p=[0.9, 0.1])
    for name in [*INPUTS, *OUTPUTS]:
        table[name] = (0.1 * table["age"] + rng.standard_normal(n)).round(4)
    return table


@pytest.fixture
def prepare(tmp_path):
    def prepare(table, options=None, **keys):
        path = write(table, tmp_path / "people.tsv", index=False)
        entry = {"source": "files", "kind": "aging", "table": path, "id": "id", "macro": MACRO, "molecular": MOLECULAR}
        config = validated({"cohorts": {"A": {**entry, **keys, "preprocessing": options or {}}}})
        return prepare_cohort(cohort_settings(config, "A"), {"table": path}, read_pathways())

    return prepare


def reasons(prepared, side, what):
    return {words(row): row["count"] for row in prepared.ledger.dropped if row["side"] == side and row["what"] == what}


def test_sound_people_need_nothing(prepare):
    prepared = prepare(people())
    assert list(prepared.X) == INPUTS
    assert list(prepared.Y) == OUTPUTS
    assert list(prepared.X.index) == [f"person {i}" for i in range(N)]
    assert not prepared.ledger.dropped
    assert not prepared.ledger.notes


@pytest.mark.parametrize("adjusted", [False, True])
def test_ages_are_told(prepare, adjusted):
    table = people()
    table.loc[:9, "age"] = np.nan
    prepared = prepare(table, {"adjust": ["sex", "age"] if adjusted else ["sex"]})
    ages = table["age"][10:]
    expected = {"column": "age", "lowest": ages.min(), "median": ages.median(), "highest": ages.max()}
    assert prepared.ages == {**expected, "adjusted": adjusted}
    # All phenotypes go with age, until it is adjusted for.
    correlations = prepared.Y.corrwith(ages.set_axis(prepared.Y.index)).abs()
    assert (correlations.max() < 1e-8) == adjusted
    assert (correlations.min() > 0.3) != adjusted


@pytest.mark.parametrize("seed", range(12))
def test_found_less_dropped_is_used(prepare, seed):
    rng = np.random.default_rng([3, seed])
    table = people(seed, 200)
    table.loc[rng.random(200) < 0.05, "age"] = np.nan
    table.loc[rng.random(200) < 0.05, "sex"] = None
    for name in [*INPUTS, *OUTPUTS]:
        table.loc[rng.random(200) < rng.choice([0.0, 0.02, 0.3, 1.0], p=[0.5, 0.3, 0.15, 0.05]), name] = np.nan
    table["height"] = rng.choice([table["height"], rng.standard_normal(200), np.ones(200)])
    options = {
        "impute": ("none", "median", "knn")[seed % 3],
        "outliers": ("winsorise", "rank_normal", "none")[seed % 2],
        "adjust": ["sex"] if seed % 2 else [],
    }
    prepared = prepare(table, options, filter="pregnant == 0 and age < 75" if seed % 4 else None)
    for side, values, n_features in (("inputs", prepared.X, 3), ("outputs", prepared.Y, 4)):
        assert prepared.ledger.found[side] == {"samples": 200, "features": n_features}
        for axis, what in enumerate(("samples", "features")):
            gone = sum(reasons(prepared, side, what).values())
            assert prepared.ledger.found[side][what] - gone == prepared.ledger.used(side, what) == values.shape[axis]
        assert np.isfinite(values.to_numpy()).all()
        np.testing.assert_allclose(values.mean(), 0, atol=1e-10)
        np.testing.assert_allclose(values.std(ddof=0), 1, atol=1e-10)
    assert prepared.X.index.equals(prepared.Y.index)
    if seed % 2:
        sex = table.set_index("id")["sex"].loc[prepared.X.index]
        np.testing.assert_allclose(prepared.Y.groupby(sex).mean(), 0, atol=1e-10)


def test_values_stay_with_their_person(prepare):
    table = people()
    table.loc[5, "alp"] = np.nan
    shuffled = table.sample(frac=1, random_state=0)
    prepared = prepare(shuffled, {"outliers": "none", "standardise": False}, filter="sex == 'f'")
    mine = table.set_index("id").loc[prepared.X.index]
    np.testing.assert_allclose(prepared.X, mine[INPUTS])
    np.testing.assert_allclose(prepared.Y, mine[OUTPUTS])
    assert (mine["sex"] == "f").all()
    assert len(mine) == (table.drop(index=5)["sex"] == "f").sum()


def test_order_and_units_do_not_matter(prepare):
    table = people()
    table.loc[3, "waist"] = 1e4
    first = prepare(table, {"adjust": ["sex"]})
    table["waist"] = 1e-3 * table["waist"] + 7
    table["alp"] *= 1e5
    second = prepare(table.sample(frac=1, random_state=1), {"adjust": ["sex"]})
    np.testing.assert_allclose(first.X, second.X.loc[first.X.index], atol=1e-8)
    np.testing.assert_allclose(first.Y, second.Y.loc[first.Y.index], atol=1e-8)


# Age


def kept_by_hand(table, names, fdr):
    """Benjamini and Hochberg, from the definition: the largest k with p₍ₖ₎ ≤ k·fdr/m."""
    pvalues = np.array([stats.pearsonr(table[name], table["age"]).pvalue for name in names])
    order = np.argsort(pvalues)
    below = np.flatnonzero(pvalues[order] <= fdr * np.arange(1, len(names) + 1) / len(names))
    return {names[i] for i in order[: below[-1] + 1]} if len(below) else set()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("fdr", [0.05, 0.3])
def test_what_correlates_with_age_is_kept(prepare, seed, fdr):
    rng = np.random.default_rng(seed)
    table = people(seed)
    for name in [*INPUTS, *OUTPUTS]:
        # From clearly related to not related at all, and both signs.
        table[name] = rng.choice([-1, 1]) * rng.choice([0.0, 0.005, 0.01, 0.1]) * table["age"] + rng.standard_normal(N)
    table["alp"], table["waist"] = -table["age"] + rng.standard_normal(N), table["age"] + rng.standard_normal(N)
    expected = kept_by_hand(table, [*INPUTS, *OUTPUTS], fdr)
    prepared = prepare(table, {"outliers": "none"}, age_fdr=fdr)
    assert {*prepared.X, *prepared.Y} == expected
    age = prepared.age.set_index("feature")
    assert set(age.index[age["kept"]]) == expected
    for name, row in age.iterrows():
        test = stats.pearsonr(table[name], table["age"])
        assert row["correlation"] == pytest.approx(test.statistic)
        assert row["pvalue"] == pytest.approx(test.pvalue)
        assert row["pvalue"] <= row["qvalue"] <= 1
    for side, names in (("inputs", INPUTS), ("outputs", OUTPUTS)):
        gone = len(set(names) - expected)
        assert reasons(prepared, side, "features") == ({"not correlated with age": gone} if gone else {})


def test_the_whole_table_can_be_kept(prepare):
    table = people()
    rng = np.random.default_rng(0)
    for name in [*INPUTS, *OUTPUTS]:
        table[name] = rng.standard_normal(N)
    with pytest.raises(DataError, match=r"(?s)no feature of the inputs is left.*3 dropped: not correlated with age"):
        prepare(table)
    prepared = prepare(table, age_fdr=1)
    assert (prepared.X.shape, prepared.Y.shape) == ((N, 3), (N, 4))
    assert len(prepared.age) == 7


def test_people_without_an_age_are_dropped(prepare):
    table = people()
    table.loc[[0, 7], "age"] = np.nan
    prepared = prepare(table)
    assert len(prepared.X) == N - 2
    assert reasons(prepared, "outputs", "samples") == {"no age": 2}


def test_age_may_have_another_name(prepare):
    table = people().rename(columns={"age": "years at visit"})
    assert len(prepare(table, age="years at visit").X) == N


def test_simulated_phenotypes_that_do_not_age_are_left_out(prepare):
    """Three phenotypes of every block; at 5 % hardly any of those 24 slip through, and no other is lost."""
    cohort = simulate_aging("A", 400, 1)
    blocks = simulated_blocks()
    prepared = prepare(cohort.tables["table"], **blocks)
    ageless = {name for side in blocks.values() for block in side.values() for name in block[-3:]}
    everything = {name for side in blocks.values() for block in side.values() for name in block}
    kept = {*prepared.X, *prepared.Y}
    assert len(ageless) == 24
    assert everything - ageless <= kept
    assert len(kept & ageless) <= 6


# Filters


def test_a_filter_keeps_rows_and_is_told(prepare):
    table = people()
    prepared = prepare(table, filter="pregnant == 0 and age >= 30")
    kept = table[(table["pregnant"] == 0) & (table["age"] >= 30)]
    assert list(prepared.X.index) == kept["id"].tolist()
    for side in ("inputs", "outputs"):
        assert reasons(prepared, side, "samples") == {"filter: pregnant == 0 and age >= 30": N - len(kept)}


def test_a_filter_that_is_always_true_drops_nobody(prepare):
    prepared = prepare(people(), filter="1 == 1")
    assert len(prepared.X) == N
    assert not prepared.ledger.dropped


def test_a_filter_that_keeps_nobody(prepare):
    with pytest.raises(DataError, match=rf"(?s)0 samples are left.*dropped {N} \(inputs\): filter: age > 900"):
        prepare(people(), filter="age > 900")


def test_missing_values_in_a_filter_drop_the_person(prepare):
    table = people()
    table["health"] = 1.0
    table.loc[:9, "health"] = np.nan
    assert len(prepare(table, filter="health <= 3").X) == N - 10
    assert len(prepare(table, filter="not health > 3").X) == N - 10


def test_a_filter_of_an_unknown_column(prepare):
    with pytest.raises(DataError, match="no column 'pregnnt'; did you mean 'pregnant'"):
        prepare(people(), filter="pregnnt == 0")


# Tables that cannot be used


def test_columns_that_are_not_there_are_told_with_the_nearest(prepare):
    with pytest.raises(DataError) as caught:
        prepare(people(), macro={"Body": ["hieght", "waist"]}, molecular={"Liver": ["xyz"]})
    text = str(caught.value)
    assert "people.tsv: 2 columns that the config names are not there" in text
    assert "'hieght': did you mean 'height'?" in text
    assert "'xyz': nothing alike" in text
    for keys, name in (({"age": "Age"}, "age"), ({"id": "ID"}, "id"), ({"options": {"adjust": ["sexx"]}}, "sex")):
        with pytest.raises(DataError, match=f"did you mean '{name}'"):
            prepare(people(), **keys)


@pytest.mark.parametrize("name", ["alp", "sbp", "age"])
def test_text_in_a_column_of_numbers(prepare, name):
    table = people().astype({name: object})
    table.loc[4, name] = "high"
    with pytest.raises(DataError, match=rf"people\.tsv: column '{name}' holds text, such as 'high' \(row 'person 4'\)"):
        prepare(table)


def test_leading_zeros_make_no_crash(prepare):
    """Numbers such as 07.5 stay text in a table, since they may be codes; here they are measurements or an error."""
    table = people().astype({"alp": str})
    table.loc[4, "alp"] = "07.5"
    try:
        prepared = prepare(table, {"outliers": "none", "standardise": False})
    except DataError as error:
        text = str(error)
    else:
        text = "07.5" if prepared.X.loc["person 4", "alp"] == 7.5 else ""
    assert "07.5" in text


@pytest.mark.parametrize("name", ["alp", "age"])
@pytest.mark.parametrize("outliers", ["none", "winsorise"])
def test_infinite_values_are_told(prepare, name, outliers):
    table = people()
    table.loc[4, name] = np.inf
    with pytest.raises(DataError, match=name):
        prepare(table, {"outliers": outliers})


@pytest.mark.parametrize("name", ["alp", "age", "id"])
def test_a_column_twice_is_told(prepare, name):
    table = people()
    table = pd.concat([table, table[[name]]], axis=1)
    with pytest.raises(DataError, match=name):
        prepare(table)


def test_people_of_one_age_are_told(prepare):
    with pytest.raises(DataError, match="age"):
        prepare(people().assign(age=50.0))


def test_duplicated_ids(prepare):
    table = people()
    table.loc[9, "id"] = "person 3"
    with pytest.raises(DataError, match=r"people\.tsv: 'person 3' appears more than once in the column 'id'"):
        prepare(table)
    # Without a column of names people are rows of the file, the header being the first.
    prepared = prepare(table, id=None)
    assert list(prepared.X.index[:2]) == ["row 2", "row 3"]
    assert len(prepared.X) == N


def test_codes_as_ids_keep_their_zeros(prepare):
    table = people()
    table["id"] = [f"{i:05d}" for i in range(N)]
    assert prepare(table).X.index[0] == "00000"
    table["id"] = range(N)
    assert prepare(table).X.index[1] == "1"


def test_too_few_people(prepare):
    with pytest.raises(DataError, match="19 samples are left, at least 20"):
        prepare(people(n=19))
