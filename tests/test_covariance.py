"""The graphical lasso: optimality, agreement with scikit-learn, exact special cases, errors."""

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.covariance import graphical_lasso as sklearn_graphical_lasso
from sklearn.exceptions import ConvergenceWarning

from nard import graphical_lasso
from nard.covariance import glasso, glasso_objective, newton
from nard.covariance.newton import newton_ascent
from nard.covariance.screening import feasible_start
from nard.simulate import draw_residuals, make_precision


def sample_covariance(m, n, seed, edge_probability=0.2):
    rng = np.random.default_rng(seed)
    covariance = np.linalg.inv(make_precision(m, edge_probability, rng))
    Z = rng.multivariate_normal(np.zeros(m), covariance, n)
    return Z.T @ Z / n


def assert_optimal(S, L, omega, atol):
    """The KKT conditions: V_ii = S_ii, V_ij − S_ij = L_ij sign(ω_ij) on the support, |V_ij − S_ij| ≤ L_ij off it."""
    slack = np.linalg.inv(omega) - S
    off = ~np.eye(len(S), dtype=bool)
    support = (omega != 0) & off
    np.testing.assert_allclose(np.diag(slack), 0.0, atol=atol)
    np.testing.assert_allclose(slack[support], (L * np.sign(omega))[support], atol=atol)
    assert (np.abs(slack) <= L + atol)[off].all()


@pytest.mark.parametrize(("m", "n"), [(2, 10), (10, 50), (30, 20), (40, 400)])
@pytest.mark.parametrize("lam", [0.02, 0.1, 0.4])
def test_optimality_and_certificate(m, n, lam):
    S = sample_covariance(m, n, seed=m)
    result = graphical_lasso(S, lam, tol=1e-10, max_iter=1000)
    assert result.converged
    assert 0 <= result.duality_gap <= 1e-10 * m
    assert_optimal(S, np.full((m, m), lam), result.precision, atol=1e-5)
    np.testing.assert_allclose(result.precision @ result.covariance, np.eye(m), atol=1e-8)
    assert result.objective == pytest.approx(glasso_objective(S, lam * (1 - np.eye(m)), result.precision))


@pytest.mark.parametrize("lam", [0.05, 0.2])
def test_agrees_with_scikit_learn(lam):
    S = sample_covariance(25, 100, seed=0)
    _, theirs = sklearn_graphical_lasso(S, lam, tol=1e-10, enet_tol=1e-10, max_iter=1000)
    ours = graphical_lasso(S, lam, tol=1e-12, max_iter=1000).precision
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_no_penalty_is_the_inverse():
    S = sample_covariance(15, 200, seed=1)
    np.testing.assert_allclose(graphical_lasso(S, 0.0, tol=1e-12).precision, np.linalg.inv(S), rtol=1e-6, atol=1e-8)


def test_large_penalty_is_diagonal():
    S = sample_covariance(15, 30, seed=2)
    result = graphical_lasso(S, np.abs(S - np.diag(np.diag(S))).max())
    np.testing.assert_array_equal(result.precision, np.diag(1 / np.diag(S)))
    assert result.duality_gap == pytest.approx(0.0, abs=1e-12)


def test_matrix_penalty_and_units():
    """Rescaling variables and the penalties along with them rescales the solution."""
    S = sample_covariance(12, 60, seed=3)
    rng = np.random.default_rng(3)
    L = rng.uniform(0.05, 0.3, S.shape)
    L = (L + L.T) / 2
    scale = np.geomspace(1e-3, 1e3, len(S))
    units = np.outer(scale, scale)
    plain = graphical_lasso(S, L, tol=1e-10)
    scaled = graphical_lasso(S * units, L * units, tol=1e-10)
    np.testing.assert_array_equal(plain.precision != 0, scaled.precision != 0)
    np.testing.assert_allclose(plain.precision, scaled.precision * units, atol=1e-5)
    assert_optimal(S, L, plain.precision, atol=1e-5)


def test_components_are_solved_alone():
    blocks = [sample_covariance(m, 50, seed=m) for m in (3, 1, 6)]
    S = np.zeros((10, 10))
    at = 0
    for block in blocks:
        S[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    order = np.random.default_rng(0).permutation(10)
    shuffled = graphical_lasso(S[np.ix_(order, order)], 0.05, tol=1e-10).precision
    at = 0
    for block in blocks:
        alone = graphical_lasso(block, 0.05, tol=1e-10).precision
        where = np.argsort(order)[at : at + len(block)]
        np.testing.assert_allclose(shuffled[np.ix_(where, where)], alone, atol=1e-6)
        at += len(block)


def test_warm_start_needs_fewer_sweeps():
    S = sample_covariance(40, 60, seed=4)
    cold = graphical_lasso(S, 0.1, tol=1e-8)
    warm = graphical_lasso(S, 0.1, init=cold, tol=1e-8)
    assert warm.n_iter < cold.n_iter
    np.testing.assert_allclose(warm.precision, cold.precision, atol=1e-4)


def test_same_input_same_bytes():
    S = sample_covariance(30, 20, seed=5)
    np.testing.assert_array_equal(graphical_lasso(S, 0.1).precision, graphical_lasso(S, 0.1).precision)


@pytest.mark.parametrize(
    ("S", "lam", "message"),
    [
        (np.ones((2, 3)), 0.1, "square"),
        (np.array([[1.0, 0.2], [0.3, 1.0]]), 0.1, "symmetric"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), 0.1, "missing"),
        (np.diag([1.0, 0.0]), 0.1, r"variables \[1\]"),
        (np.eye(2), -1.0, "≥ 0"),
        (np.eye(2), np.ones((3, 3)), "2×2"),
        (np.eye(2), np.array([[0.0, 1.0], [2.0, 0.0]]), "symmetric"),
    ],
)
def test_errors_say_what_is_wrong(S, lam, message):
    with pytest.raises(ValueError, match=message):
        graphical_lasso(S, lam)


def hard_covariance(seed):
    """Singular, rank one, constant blocks, condition 1e12, near duplicates or wild units; λ/λ_max from 1e-6 to 1."""
    rng = np.random.default_rng(seed)
    m, kind = int(rng.integers(1, 61)), seed % 6
    if kind == 0:
        Z = rng.standard_normal((1, m))
    elif kind == 1:
        Z = rng.standard_normal((int(rng.integers(1, max(2, m))), m))
    elif kind == 2:
        Z = np.eye(5)[:, rng.integers(0, 5, m)]
    elif kind == 3:
        basis, _ = np.linalg.qr(rng.standard_normal((m, m)))
        Z = np.geomspace(1.0, 1e-6, m)[:, None] * basis.T
    elif kind == 4:
        rank = int(rng.integers(1, 6))
        Z = rng.standard_normal((100, rank)) @ rng.standard_normal((rank, m)) + 1e-3 * rng.standard_normal((100, m))
    else:
        Z = rng.standard_normal((max(2, m // 2), m)) * np.geomspace(1e-6, 1e6, m)
    S = Z.T @ Z / len(Z)
    largest = np.abs(S - np.diag(np.diag(S))).max()
    return S, float(10.0 ** rng.uniform(-6, 0)) * (largest or 1.0)


@pytest.mark.slow
def test_hard_inputs():
    """500 hard problems: solved, or a warning with the gap; never an exception, never a NaN."""
    unsolved = 0
    for seed in range(500):
        S, lam = hard_covariance(seed)
        m = len(S)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = graphical_lasso(S, lam, max_iter=300)
        assert np.isfinite(result.precision).all()
        assert np.isfinite(result.objective)
        if not result.converged:
            assert [w.category for w in caught] == [ConvergenceWarning]
            assert f"{result.duality_gap:.3g}" in str(caught[0].message)
            unsolved += 1
            continue
        assert not caught
        # The certificate is true: W is inside the box and positive definite, and the two objectives are that close.
        L = lam * (1 - np.eye(m))
        rounding = 1e-12 * np.sqrt(np.outer(np.diag(S), np.diag(S)))
        assert (np.abs(result.dual - S) <= L + rounding).all()
        scale = np.sqrt(np.diag(S))
        dual = np.linalg.slogdet(result.dual / np.outer(scale, scale))[1] + 2 * np.log(scale).sum() + m
        assert result.objective - dual <= 1.01e-4 * m
    assert unsolved <= 10


def test_singular_without_penalty_warns():
    with pytest.warns(ConvergenceWarning, match="lam must be positive"):
        result = graphical_lasso(np.ones((3, 3)), 0.0)
    assert np.isfinite(result.precision).all()


def test_indefinite_input_does_not_raise():
    S = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    with pytest.warns(ConvergenceWarning, match="gap"):
        assert np.isfinite(graphical_lasso(S, 0.01).precision).all()
    assert graphical_lasso(S, 0.5).converged


def test_columns_and_newton_agree():
    """The two solvers reach the same optimum, each alone."""
    S = sample_covariance(30, 20, seed=6)
    S /= np.sqrt(np.outer(np.diag(S), np.diag(S)))
    L = 0.1 * (1 - np.eye(30))
    found = []
    for solver in ("columns", "newton"):
        certificate = glasso._Certificate(S, L, 1e-9)
        W = np.empty_like(S)
        feasible_start(S, L, W)
        if solver == "columns":
            glasso._climb_columns(certificate, W, np.zeros_like(S), 1, 1000)
        else:
            newton_ascent(S, L, W, certificate.judge, 1000)
        assert certificate.gap <= 3e-8
        found.append(certificate.omega)
    np.testing.assert_allclose(*found, atol=1e-4)


@pytest.mark.parametrize("dense", [0, 2000])
def test_newton_directions(dense, monkeypatch):
    """Conjugate gradients and the Cholesky factor lead to the same optimum."""
    monkeypatch.setattr(newton, "_MOST_DENSE", dense)
    S = sample_covariance(25, 12, seed=7)
    S /= np.sqrt(np.outer(np.diag(S), np.diag(S)))
    certificate = glasso._Certificate(S, 0.05 * (1 - np.eye(25)), 1e-8)
    W = np.empty_like(S)
    feasible_start(S, certificate.L, W)
    newton_ascent(S, certificate.L, W, certificate.judge, 200)
    assert certificate.gap <= 25e-8


def test_start_of_another_size_is_an_error():
    S = sample_covariance(5, 50, seed=8)
    with pytest.raises(ValueError, match="3 variables, but S has 5"):
        graphical_lasso(S, 0.1, init=graphical_lasso(S[:3, :3], 0.1))


@pytest.mark.parametrize("seed", range(20))
def test_rank_deficient_path_of_penalties(seed):
    """Warm starts on few samples, where Newton's method has to help: converged, and W exactly symmetric."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((int(rng.integers(3, 20)), int(rng.integers(5, 25))))
    S, result = Z.T @ Z / len(Z), None
    for lam in 10.0 ** rng.uniform(-4, -0.3) * np.array([10.0, 1.0]):
        result = graphical_lasso(S, lam, init=result)
        assert result.converged
        np.testing.assert_array_equal(result.dual, result.dual.T)
        np.testing.assert_array_equal(result.precision, result.precision.T)


def test_one_sweep_is_judged_too():
    S = sample_covariance(20, 40, seed=9)
    with pytest.warns(ConvergenceWarning, match="after 1 steps"):
        result = graphical_lasso(S, 0.02, tol=1e-12, max_iter=1)
    assert np.isfinite(result.duality_gap)


def test_penalties_above_improper_correlations():
    result = graphical_lasso(np.array([[1.0, 5.0], [5.0, 1.0]]), 5.5)
    np.testing.assert_array_equal(result.precision, np.eye(2))
    assert result.duality_gap == 0


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_certificate_of_sparse_problems(scale):
    """Where ln|W| is only bounded, cold and restarted: the gap is never below the true one, and close to it."""
    m = 150
    units = np.linspace(1.0, scale, m)
    S = sample_covariance(m, 600, seed=10, edge_probability=0.02) * np.outer(units, units)
    penalty = 0.15 * np.sqrt(np.outer(np.diag(S), np.diag(S)))
    cold = graphical_lasso(S, penalty, tol=1e-5)
    moved = S * np.random.default_rng(0).uniform(0.999, 1.001, m)[:, None]
    moved = 0.5 * (moved + moved.T)
    again = graphical_lasso(moved, penalty, init=cold, tol=1e-4)
    assert np.count_nonzero(cold.precision) < 0.1 * m**2
    assert again.n_iter == 0
    for covariance, result in ((S, cold), (moved, again)):
        assert result.converged
        slack = 1e-12 * np.sqrt(np.outer(np.diag(S), np.diag(S)))
        assert (np.abs(result.dual - covariance) <= penalty * (1 - np.eye(m)) + slack).all()
        assert result.logdet == pytest.approx(np.linalg.slogdet(result.precision)[1], abs=1e-8)
        gap = glasso_objective(covariance, penalty, result.precision) - np.linalg.slogdet(result.dual)[1] - m
        assert gap - 1e-9 <= result.duality_gap <= 1.5 * gap + 1e-9


def test_restart_with_variables_that_were_connected():
    """A penalty that cuts edges: variables alone get their exact precision, whatever the start."""
    S = sample_covariance(12, 60, seed=11)
    lam = 0.95 * np.abs(S - np.diag(np.diag(S))).max()
    result = graphical_lasso(S, lam, init=graphical_lasso(S, 0.01), tol=1.0)
    alone = (np.abs(S - np.diag(np.diag(S))) <= lam).all(axis=0)
    assert alone.any()
    np.testing.assert_array_equal(result.precision[alone], np.diag(1 / np.diag(S))[alone])
    np.testing.assert_array_equal(result.precision, result.precision.T)


def grouped_residuals(n, sizes, seed=0):
    """Samples of variables in unconnected groups, in random order and units."""
    rng = np.random.default_rng(seed)
    parts = [draw_residuals(make_precision(size, 0.5, rng), n, rng) for size in sizes]
    R = np.hstack(parts)
    return (R - R.mean(axis=0))[:, rng.permutation(R.shape[1])]


def as_dense(result):
    return result.precision.toarray(), result.dual.toarray(), result.covariance.toarray()


@pytest.mark.parametrize("lam", [0.05, 0.25, 0.4, 2.0])
@pytest.mark.parametrize("block", [7, 1024])
def test_residuals_give_what_their_covariance_gives(lam, block, monkeypatch):
    monkeypatch.setattr("nard.covariance.residuals._BLOCK", block)
    R = grouped_residuals(60, [1, 1, 2, 5, 8, 13])
    S = R.T @ R / len(R)
    found, wanted = graphical_lasso(residuals=R, lam=lam, tol=1e-10), graphical_lasso(S, lam, tol=1e-10)
    precision, dual, covariance = as_dense(found)
    np.testing.assert_allclose(precision, wanted.precision, atol=1e-6)
    np.testing.assert_allclose(dual, wanted.dual, atol=1e-6)
    np.testing.assert_allclose(covariance, wanted.covariance, atol=1e-6)
    assert found.objective == pytest.approx(wanted.objective, abs=1e-7)
    assert found.logdet == pytest.approx(wanted.logdet, abs=1e-6)
    assert found.converged
    assert 0 <= found.duality_gap <= 1e-10 * R.shape[1]


def test_residuals_of_any_type_and_place(tmp_path):
    R = grouped_residuals(40, [3] * 5).astype(np.float32)
    on_disk = np.memmap(tmp_path / "r", dtype=np.float32, mode="w+", shape=R.shape)
    on_disk[:] = R
    wanted = graphical_lasso(residuals=R.astype(float), lam=0.2).precision.toarray()
    for given in (R, on_disk):
        np.testing.assert_array_equal(graphical_lasso(residuals=given, lam=0.2).precision.toarray(), wanted)


def test_residuals_in_another_order_have_the_same_solution():
    R = grouped_residuals(50, [4] * 6)
    order = np.random.default_rng(1).permutation(R.shape[1])
    one, other = (graphical_lasso(residuals=A, lam=0.3, tol=1e-10).precision.toarray() for A in (R, R[:, order]))
    np.testing.assert_allclose(other, one[np.ix_(order, order)], atol=1e-7)


def test_residuals_start_from_an_earlier_result():
    R = grouped_residuals(80, [10] * 6)
    S = R.T @ R / len(R)
    first = graphical_lasso(residuals=R, lam=0.2, tol=1e-8)
    assert graphical_lasso(residuals=R, lam=0.2, tol=1e-7, init=first).n_iter == 0
    # A larger penalty parts components, a smaller one joins them.
    for lam in (0.1, 0.3):
        wanted = graphical_lasso(S, lam, tol=1e-10).objective
        for init in (first, graphical_lasso(S, 0.2)):
            assert graphical_lasso(residuals=R, lam=lam, tol=1e-9, init=init).objective == pytest.approx(wanted)
    assert graphical_lasso(S, 0.2, init=first, tol=1e-7).n_iter == 0


def test_residuals_of_many_variables_take_little_memory():
    """Less than a quarter of one m×m matrix of doubles, most of it for a block of S."""
    m, rng = 6000, np.random.default_rng(0)
    R = rng.standard_normal((100, m))
    R[:, 1::2] += R[:, ::2]
    graphical_lasso(residuals=R[:, :10], lam=0.9)  # compiles
    tracemalloc.start()
    found = graphical_lasso(residuals=R, lam=0.9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.precision.nnz > 1.5 * m
    assert peak < 8 * m * m / 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lam": 0.1}, "a covariance S or residuals=R"),
        ({"S": np.eye(2), "residuals": np.eye(2), "lam": 0.1}, "one of both"),
        ({"residuals": np.eye(2)}, "a penalty lam"),
        ({"residuals": np.ones(3), "lam": 0.1}, "samples × variables, found shape"),
        ({"residuals": np.eye(3), "lam": 0.0}, "a positive number where residuals are given, found 0.0"),
        ({"residuals": np.eye(3), "lam": np.eye(3)}, "a positive number"),
        ({"residuals": np.array([[1.0, np.nan], [1.0, 2.0]]), "lam": 0.1}, "infinite values, in variables 1"),
        ({"residuals": np.eye(9)[:3], "lam": 0.1}, "zero in variables 3, 4, 5, 6, 7 and 1 more: drop them"),
        ({"residuals": np.eye(3), "lam": 0.1, "init": graphical_lasso(np.eye(2), 0.1)}, "result for 2 variables"),
    ],
)
def test_errors_of_residuals_say_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        graphical_lasso(**arguments)
