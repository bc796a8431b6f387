"""The graphical lasso of giant components, forced upon small problems: it is the same, and so is its certificate."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from test_covariance import as_dense, assert_optimal, grouped_residuals, sample_covariance

from nard import graphical_lasso
from nard.covariance import giant, glasso_objective
from nard.covariance.elimination import sparse_log_determinant
from nard.simulate import draw_residuals, make_precision


def connected_residuals(m, n, seed=0, edges=4.0):
    rng = np.random.default_rng(seed)
    R = draw_residuals(make_precision(m, edges / m, rng), n, rng) * np.geomspace(0.5, 2.0, m)
    return R - R.mean(axis=0)


def hubs_and_chain(m, n, seed=0):
    """Every variable follows the one before it, and the hub of its neighbourhood."""
    rng = np.random.default_rng(seed)
    R = rng.standard_normal((n, m))
    for j in range(1, m):
        R[:, j] += 0.7 * R[:, j - 1] + 0.4 * R[:, j - j % 20]
        R[:, j] /= R[:, j].std()
    return R - R.mean(axis=0)


@pytest.fixture(autouse=True)
def small_ones_count_as_sparse(monkeypatch):
    monkeypatch.setattr(giant, "_SPARSE", 1.0)


@pytest.fixture
def giants(monkeypatch):
    """Every component of more than two variables is a giant."""
    monkeypatch.setattr("nard.covariance.glasso._GIANT", 2)


@pytest.fixture
def without_covariance(monkeypatch):
    monkeypatch.setattr("nard.covariance.glasso._FORMED", 0)


def with_and_without(monkeypatch, **arguments):
    monkeypatch.setattr("nard.covariance.glasso._GIANT", 10**9)
    plain = graphical_lasso(**arguments)
    monkeypatch.setattr("nard.covariance.glasso._GIANT", 2)
    return plain, graphical_lasso(**arguments)


def assert_certified(S, lam, result, tol):
    """W is in the box and positive definite, and the gap is no smaller than Cholesky factors say, and little larger."""
    m = len(S)
    omega, W = np.asarray(result.precision), np.asarray(result.dual)
    penalty = lam * (1 - np.eye(m))
    units = np.sqrt(np.outer(np.diag(S), np.diag(S)))
    assert (np.abs(W - S) <= penalty + 1e-12 * units).all()
    np.testing.assert_array_equal(W, W.T)
    np.testing.assert_array_equal(omega, omega.T)
    assert result.logdet == pytest.approx(np.linalg.slogdet(omega)[1], abs=1e-8)
    objective = glasso_objective(S, penalty, omega)
    assert result.objective == pytest.approx(objective, abs=1e-8)
    sign, logdet = np.linalg.slogdet(W)
    assert sign == 1
    gap = objective - logdet - m
    assert gap - 1e-9 <= result.duality_gap <= 1.5 * gap + 1e-9
    assert result.duality_gap <= tol * m


@pytest.mark.parametrize("lam", [0.03, 0.1, 0.3])
@pytest.mark.parametrize("sparse", [0.0, 1.0])
@pytest.mark.parametrize("block", [7, 64])
def test_giants_are_solved_as_others_are(lam, block, sparse, monkeypatch):
    """By blocks of any size, and with the gap from a Cholesky factor or without."""
    monkeypatch.setattr(giant, "_SPARSE", sparse)
    monkeypatch.setattr(giant, "_BLOCK", block)
    monkeypatch.setattr(giant, "_ROWS", 3 * block)
    S = sample_covariance(60, 100, seed=0)
    plain, found = with_and_without(monkeypatch, S=S, lam=lam, tol=1e-9, max_iter=1000)
    assert_certified(S, lam, found, 1e-9)
    assert_optimal(S, np.full(S.shape, lam), found.precision, atol=1e-4)
    np.testing.assert_allclose(found.precision, plain.precision, atol=1e-4)
    assert found.objective == pytest.approx(plain.objective, abs=1e-7)


@pytest.mark.parametrize("make", [connected_residuals, hubs_and_chain])
@pytest.mark.parametrize("tol", [1e-4, 1e-7])
def test_certificate_from_residuals(make, tol, giants, without_covariance):
    R = make(300, 200)
    S = R.T @ R / len(R)
    result = graphical_lasso(residuals=R, lam=0.25, tol=tol)
    assert result.converged
    assert sparse.issparse(result.precision)
    dense = graphical_lasso(S, 0.25, tol=tol)
    assert_certified(S, 0.25, dense, tol)
    np.testing.assert_allclose(result.precision.toarray(), dense.precision, atol=1e-8)
    np.testing.assert_allclose(result.dual, dense.dual, atol=1e-8)
    np.testing.assert_allclose(result.covariance, np.linalg.inv(dense.precision), atol=1e-8)


def test_penalties_of_their_own_and_units(giants):
    S = sample_covariance(40, 60, seed=3)
    rng = np.random.default_rng(3)
    L = rng.uniform(0.05, 0.3, S.shape)
    L = (L + L.T) / 2
    L[0, 1] = L[1, 0] = np.inf
    scale = np.geomspace(1e-3, 1e3, len(S))
    units = np.outer(scale, scale)
    plain, scaled = graphical_lasso(S, L, tol=1e-10), graphical_lasso(S * units, L * units, tol=1e-10)
    np.testing.assert_allclose(plain.precision, scaled.precision * units, atol=1e-6)
    assert plain.precision[0, 1] == 0.0
    assert_optimal(S, np.minimum(L, 1e9), plain.precision, atol=1e-5)


def test_order_does_not_matter(giants, without_covariance):
    R = connected_residuals(100, 80)
    order = np.random.default_rng(1).permutation(R.shape[1])
    one, other = (graphical_lasso(residuals=A, lam=0.2, tol=1e-10).precision.toarray() for A in (R, R[:, order]))
    np.testing.assert_allclose(other, one[np.ix_(order, order)], atol=1e-6)


def test_any_type_and_place_and_threads(tmp_path, giants, without_covariance, monkeypatch):
    R = connected_residuals(150, 60).astype(np.float32)
    on_disk = np.memmap(tmp_path / "r", dtype=np.float32, mode="w+", shape=R.shape)
    on_disk[:] = R
    wanted = graphical_lasso(residuals=R.astype(float), lam=0.3)
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        for given in (R, on_disk):
            found = graphical_lasso(residuals=given, lam=0.3)
            np.testing.assert_array_equal(found.precision.toarray(), wanted.precision.toarray())
            np.testing.assert_array_equal(found.dual, wanted.dual)
            assert found.duality_gap == wanted.duality_gap


@pytest.mark.parametrize("lam", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("sizes", [[1, 1, 2, 5, 30], [20, 20, 1, 3], [2] * 5])
def test_giants_beside_other_components(lam, sizes, giants):
    R = grouped_residuals(60, sizes)
    S = R.T @ R / len(R)
    found, dense = graphical_lasso(residuals=R, lam=lam, tol=1e-9), graphical_lasso(S, lam, tol=1e-9)
    assert_certified(S, lam, dense, 1e-9)
    if sparse.issparse(found.dual):
        precision, dual, covariance = as_dense(found)
    else:
        precision, dual, covariance = found.precision.toarray(), found.dual, np.asarray(found.covariance)
    np.testing.assert_allclose(precision, dense.precision, atol=1e-5)
    np.testing.assert_allclose(dual, dense.dual, atol=1e-5)
    np.testing.assert_allclose(precision @ covariance, np.eye(len(S)), atol=1e-6)
    assert found.objective == pytest.approx(dense.objective, abs=1e-6)


def test_starts(monkeypatch):
    """From a giant's result, a small one's, a sparse one; to a smaller and a larger penalty."""
    R = connected_residuals(200, 150)
    S = R.T @ R / len(R)
    plain, first = with_and_without(monkeypatch, S=S, lam=0.2, tol=1e-8)
    sparse_one = graphical_lasso(residuals=R, lam=0.2, tol=1e-8)
    for init in (plain, first, sparse_one):
        again = graphical_lasso(S, 0.2, init=init, tol=1e-7)
        assert again.n_iter == 0
        assert_certified(S, 0.2, again, 1e-7)
        for lam in (0.05, 0.18, 0.22, 0.4):
            cold = graphical_lasso(S, lam, tol=1e-6)
            for warm in (
                graphical_lasso(S, lam, init=init, tol=1e-6),
                graphical_lasso(None, lam, residuals=R, init=init),
            ):
                assert warm.objective == pytest.approx(cold.objective, abs=3e-4 * len(S))
            assert_certified(S, lam, graphical_lasso(S, lam, init=init, tol=1e-6), 1e-6)
    assert graphical_lasso(S, 0.198, init=first).n_iter < graphical_lasso(S, 0.198).n_iter
    assert graphical_lasso(S, 0.2, init=first, tol=1e-7).n_iter == 0


def test_a_start_that_is_not_inside_is_left(giants):
    """Far from its penalty an earlier W may not be positive definite in the new box."""
    S = sample_covariance(60, 20, seed=5)
    far = graphical_lasso(S, 0.9 * np.abs(S - np.diag(np.diag(S))).max())
    result = graphical_lasso(S, 0.02, init=far, tol=1e-6, max_iter=1000)
    assert_certified(S, 0.02, result, 1e-6)


@pytest.mark.parametrize("steps", [1, 2])
def test_too_few_steps_are_told_with_a_true_gap(steps, giants):
    S = sample_covariance(40, 25, seed=9)
    with pytest.warns(ConvergenceWarning, match=f"after {steps} steps"):
        result = graphical_lasso(S, 0.02, tol=1e-12, max_iter=steps)
    assert np.isfinite(result.precision).all()
    gap = glasso_objective(S, 0.02 * (1 - np.eye(40)), result.precision) - np.linalg.slogdet(result.dual)[1] - 40
    assert result.duality_gap >= gap - 1e-9


@pytest.mark.parametrize(("m", "degree"), [(150, 3), (600, 2), (600, 30)])
def test_log_determinant_by_elimination(m, degree):
    rng = np.random.default_rng(m)
    i, j = rng.integers(0, m, (2, m * degree // 2))
    A = sparse.coo_array((rng.uniform(-1, 1, len(i)) * (i != j), (i, j)), shape=(m, m)).toarray()
    A += A.T
    A[np.diag_indices(m)] = 1.1 * np.abs(np.linalg.eigvalsh(A)).max()
    given = sparse.csr_array(A)
    assert sparse_log_determinant(given) == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-10)
    indefinite = given - (np.linalg.eigvalsh(A).min() + 1e-3) * sparse.eye_array(m)
    assert sparse_log_determinant(sparse.csr_array(indefinite)) == -np.inf


MEMORY = """
import json
from pathlib import Path
import numpy as np
from fit_memory import status
from nard import graphical_lasso
from nard.covariance import glasso
m, glasso._GIANT, glasso._FORMED = 3000, 100, 0
R = np.random.default_rng(0).standard_normal((100, m))
R[:, 1:] += 0.6 * R[:, :-1]
S = R.T @ R / len(R)
L = np.full((m, m), 0.4)

def matrices_of(solve):
    solve(200)
    Path("/proc/self/clear_refs").write_text("5")  # forgets the highest mark
    before = status("VmRSS")
    found = solve(m)
    assert found.converged and isinstance(found.dual, np.ndarray)
    return found, (status("VmHWM") - before) * 2**20 / (8 * m * m)

_, residuals = matrices_of(lambda k: graphical_lasso(residuals=R[:, :k], lam=0.4))
found, given = matrices_of(lambda k: graphical_lasso(S[:k, :k], L[:k, :k]))
small = graphical_lasso(S[:200, :200], L[:200, :200])
S *= 0.98
_, again = matrices_of(lambda k: graphical_lasso(S[:k, :k], L[:k, :k], init=found if k == m else small))
print(json.dumps([residuals, given, again]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peaks are read from /proc")
def test_a_giant_takes_one_matrix_beside_what_is_given_and_returned():
    """W, what is left of Ω for a dense factor of its log determinant, and rows of S and L; where S is given also Ω."""
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, cwd=Path(__file__).parent)
    assert done.returncode == 0, done.stderr
    residuals, given, again = json.loads(done.stdout)
    assert 0.9 <= residuals <= 2.0
    assert given <= 3.0
    assert again <= 3.0
