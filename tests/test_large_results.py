"""Results of thousands of inputs and outputs: what is listed, what is counted, what is kept of the matrices."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse

from nard import NARD
from nard.baselines import CAPME
from nard.data.antibodies import read_antibodies
from nard.data.groups import coloured, own_inputs, pathway_groups
from nard.data.pathways import OTHER, read_pathways
from nard.files import read_json, read_tsv
from nard.fits.arrays import packed, unpacked
from nard.fits.comparison import explained_by, selection_frequency
from nard.fits.fitting import fit_paths, write_model
from nard.simulate import make_regression

ABOUT = {"cohort": "A", "title": "A", "kind": "omics", "simulated": True}
SETTINGS = {"lam": 0.1, "fdr": 0.05}
BEYOND = {"nard.fits.memory": 50, "nard.fits.listing": 50, "nard.fits.results": 50, "nard.fits.arrays": 50}


@pytest.fixture(scope="module")
def data():
    found = make_regression(120, 15, 14, edge_probability=0.3, random_state=1)
    X = pd.DataFrame(found.X, columns=[f"G{i}" for i in range(15)])
    return X, pd.DataFrame(found.Y, columns=[f"P{i}" for i in range(14)])


@pytest.fixture(scope="module", params=["sequential", "capme"])
def fitted(request, data):
    model = NARD(lam=0.1, relevance="entries", hidden=0) if request.param == "sequential" else CAPME(lam=0.1, tau=0.1)
    return request.param, model.fit(*data)


@pytest.fixture
def beyond(monkeypatch):
    """As if a hundred were millions."""
    for module, most in BEYOND.items():
        monkeypatch.setattr(f"{module}.MOST_ROWS", most)


def written(fitted, data, folder, statistics="listed"):
    method, model = fitted
    pathways = read_pathways()
    groups = coloured(pathway_groups(*data, pathways, read_antibodies()), [*pathways.names, OTHER])
    paths = fit_paths(folder, statistics)
    return write_model(model, method, SETTINGS, 120, groups, ABOUT, paths), paths


@pytest.mark.parametrize("most", [0, 7, 1000])
def test_edges_that_are_not_selected_can_be_left_out(fitted, most):
    _, model = fitted
    everything, some = model.edges(), model.edges(most=most)
    pd.testing.assert_frame_equal(some, everything.head(everything["selected"].sum() + most))


def test_large_tables_list_what_is_found_and_count_the_rest(fitted, data, tmp_path, beyond, monkeypatch):
    monkeypatch.setattr("nard.fits.listing.MORE_EDGES", 5)
    summary, paths = written(fitted, data, tmp_path)
    assert read_json(paths["fit"])["edges_listed"] == "selected and surest others"
    edges, everything = read_tsv(paths["edges"]), fitted[1].edges()
    assert edges["selected"].sum() == everything["selected"].sum() > 0
    assert len(edges) <= everything["selected"].sum() + 10_000
    tests = 0 if fitted[0] == "capme" else 14 * 13 // 2
    assert summary["pvalues"]["edges"]["tests"] == tests
    assert summary["pvalues"]["associations"]["tests"] == (15 * 14 if tests else 0)


def test_p_values_are_counted_alike_whatever_is_listed(fitted, data, tmp_path, monkeypatch):
    everything, _ = written(fitted, data, tmp_path / "small")
    for module, most in BEYOND.items():
        monkeypatch.setattr(f"{module}.MOST_ROWS", most)
    some, _ = written(fitted, data, tmp_path / "large")
    assert (some["edges_listed"], everything["edges_listed"]) == ("selected and surest others", "all")
    assert some["pvalues"] == everything["pvalues"]
    assert some["found"] == everything["found"]


def test_every_z_is_kept_on_request(fitted, data, tmp_path):
    _, paths = written(fitted, data, tmp_path, "all")
    method, model = fitted
    with np.load(paths["statistics"]) as kept:
        assert list(kept["features"]) == model.feature_labels_
        assert ("edges" in kept) == (method == "sequential")
        if method == "capme":
            return
        assert kept["associations"].dtype == kept["edges"].dtype == np.float32
        places = (
            {name: i for i, name in enumerate(kept["features"])},
            {name: i for i, name in enumerate(kept["targets"])},
        )
        for row in model.associations().itertuples():
            assert kept["associations"][places[0][row.feature], places[1][row.target]] == pytest.approx(row.z, rel=1e-5)
        for row in model.edges().itertuples():
            assert kept["edges"][places[1][row.source], places[1][row.target]] == pytest.approx(row.z, rel=1e-5)


def test_large_matrices_are_kept_without_their_zeros(monkeypatch):
    monkeypatch.setattr("nard.fits.arrays.MOST_ROWS", 50)
    sparse = np.zeros((20, 30))
    sparse[3, 4], sparse[19, 29] = 1.0, -2.0
    arrays = {"coef": sparse, "precision": np.eye(20), "input_coef": np.ones((20, 30)), "alpha": np.ones(20)}
    kept = {key: part for name, array in arrays.items() for key, part in packed(name, array).items()}
    assert issparse(unpacked(kept, "coef"))
    np.testing.assert_array_equal(unpacked(kept, "coef").toarray(), sparse)
    np.testing.assert_array_equal(unpacked(kept, "precision").toarray(), np.eye(20))
    np.testing.assert_array_equal(unpacked(kept, "alpha"), np.ones(20))
    # Neither small nor sparse: a file of results does without.
    assert not [name for name in kept if name.startswith("input_coef")]


def test_subsamples_need_no_table_of_all_pairs(data, beyond, monkeypatch):
    asked = []
    monkeypatch.setattr(NARD, "edges", lambda self, fdr, most=None: asked.append(most) or EDGES)
    selection_frequency(lambda: NARD(lam=0.1, relevance="entries", hidden=0), *data, 1, 0.8, 0, 0.05)
    assert asked == [0]


EDGES = pd.DataFrame({"source": ["P1"], "target": ["P2"], "selected": [True]})


def test_shares_of_groups_do_not_depend_on_how_many_outputs_are_taken_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    X, Y, W = rng.standard_normal((30, 6)), rng.standard_normal((30, 5)), rng.standard_normal((5, 6))
    groups = rng.random((5, 2, 6)) < 0.4
    groups[2, 1] = False
    whole = explained_by(W, X, Y, groups)
    monkeypatch.setattr("nard.fits.comparison._OUTPUTS", 2)
    np.testing.assert_allclose(explained_by(W, X, Y, groups), whole)
    assert np.isnan(whole[2, 1])
    by_hand = (W[0] * groups[0, 0]) @ (X.T @ Y[:, 0]) / len(X) / Y[:, 0].var()
    assert whole[0, 0] == pytest.approx(by_hand)


def test_own_inputs_share_a_pathway():
    rows = [("inputs", "a", "EMT;RTK"), ("inputs", "b", "other"), ("outputs", "y", "RTK"), ("outputs", "z", "other")]
    groups = pd.DataFrame(rows, columns=["side", "name", "pathways"])
    assert own_inputs(groups, ["b", "a"], ["y", "z"])[:, 0].tolist() == [[False, True], [False, False]]
