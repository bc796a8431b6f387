"""HS-GHS: its draws have the right distribution, agree with the original's, and resume as if nothing had happened."""

import numpy as np
import pytest
from scipy import stats

from nard.baselines.chains import effective_sample_size, fit_resuming
from nard.baselines.hsghs import HSGHS, draw_rows_tall, draw_rows_wide, initial_state, make_problem, sweep
from nard.simulate import draw_residuals, make_regression

GOLDEN_DRAWS = {"tiny": 5000, "small": 2000}


def read(golden, name):
    return np.loadtxt(golden / f"{name}.csv", delimiter=",")


def draws(X, Y, n_burnin, n_draws, seed, dof=None):
    """All draws of W and Ω, (n_draws, m, d) and (n_draws, m, m)."""
    problem, rng = make_problem(X, Y, dof), np.random.default_rng(seed)
    state = initial_state(Y.shape[1], X.shape[1])
    kept = {name: np.empty((n_draws, *state[name].shape)) for name in ("W", "omega")}
    for i in range(-n_burnin, n_draws):
        sweep(problem, state, rng)
        if i >= 0:
            for name, values in kept.items():
                values[i] = state[name]
    return kept["W"], kept["omega"]


def effective(values):
    """Effective sample size of every entry."""
    flat = values.reshape(len(values), -1)
    return np.array([effective_sample_size(column[None]) for column in flat.T]).reshape(values.shape[1:])


@pytest.mark.parametrize(
    ("problem", "n_draws"), [("tiny", 10_000), pytest.param("small", 20_000, marks=pytest.mark.slow)]
)
def test_posterior_means_are_those_of_the_original(golden, problem, n_draws):
    X, Y = read(golden, f"{problem}_X"), read(golden, f"{problem}_Y")
    W, omega = draws(X, Y, 1000, n_draws, seed=0)
    for values, name in ((W.transpose(0, 2, 1), "B"), (omega, "Omega")):
        mean, sd = (read(golden, f"{problem}_hsghs_{name}{what}") for what in ("", "_sd"))
        size = np.minimum(effective(values), len(values))
        error = np.sqrt(values.var(axis=0) / size + sd**2 / (GOLDEN_DRAWS[problem] * size / len(values)))
        z = (values.mean(axis=0) - mean) / error
        assert np.abs(z).max() < 4
        assert np.sqrt((z**2).mean()) < 1.5
        np.testing.assert_allclose(np.median(values.std(axis=0) / sd), 1, atol=0.1)


def draw_from_prior(d, n_pseudo, scatter, rng):
    """An exact draw of a whole state for m = 2, where ``n_pseudo`` residuals with EᵀE = scatter·I precede the data.

    These make Ω's prior proper: ω₁₁ ~ Gamma(n/2 + 1, s/2), ω₂₂ − ω₁₂²/ω₁₁ likewise, and ω₁₂ has the horseshoe times
    exp(−sω₁₂²/(2ω₁₁)), drawn by rejection.
    """

    def half_cauchy(*shape):
        return np.abs(rng.standard_cauchy(shape))

    def auxiliary(squared):
        return (1 + 1 / squared) / rng.standard_exponential(squared.shape)

    state = initial_state(2, d)
    state["W_local_sq"], state["W_global_sq"] = half_cauchy(2, d) ** 2, half_cauchy() ** 2
    state["W"] = rng.standard_normal((2, d)) * np.sqrt(state["W_local_sq"] * state["W_global_sq"])
    last = 2 * rng.standard_gamma(n_pseudo / 2 + 1) / scatter
    while True:
        first = 2 * rng.standard_gamma(n_pseudo / 2 + 1) / scatter
        local, state["omega_global_sq"] = half_cauchy() ** 2, half_cauchy() ** 2
        off = rng.standard_normal() * np.sqrt(local * state["omega_global_sq"])
        if rng.random() < np.exp(-scatter * off**2 / (2 * first)):
            break
    state["omega"] = np.array([[first, off], [off, last + off**2 / first]])
    state["omega_local_sq"] = np.array([[1.0, local], [local, 1.0]])
    state["omega_local_aux"] = np.where(np.eye(2) == 1, 1.0, auxiliary(np.asarray(local)))
    state["W_local_aux"] = auxiliary(state["W_local_sq"])
    for name in ("W_global", "omega_global"):
        state[f"{name}_sq"] = np.asarray(state[f"{name}_sq"])
        state[f"{name}_aux"] = np.asarray(auxiliary(state[f"{name}_sq"]))
    return state


def features(state):
    W, omega = state["W"], state["omega"]
    return [
        state["W_global_sq"],
        state["W_local_sq"][1, 0],
        W[0, 0],
        W[1, 1],
        abs(W).sum(),
        omega[0, 0],
        omega[1, 1],
        omega[0, 1],
        abs(omega[0, 1]),
        state["omega_global_sq"],
        state["omega_local_sq"][0, 1],
        W[0] @ W[1] * omega[0, 1],
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d"), [(6, 3), (1, 18)])
def test_sweeps_leave_the_joint_distribution_alone(n, d):
    # Geweke's test with independent replications: states from the prior, data given them, then sweeps given the data;
    # the states must still be distributed as the prior. (1, 18) takes the factors of size n, 5 with the pseudo-samples.
    rng, replications, n_pseudo, scatter = np.random.default_rng(0), 3000, 4, 4.0
    X = np.vstack([rng.standard_normal((n, d)), np.zeros((n_pseudo, d))])
    pseudo = np.zeros((n_pseudo, 2))
    pseudo[:2] = np.sqrt(scatter) * np.eye(2)
    swept = []
    for _ in range(replications):
        state = draw_from_prior(d, n_pseudo, scatter, rng)
        Y = X[:n] @ state["W"].T + draw_residuals(state["omega"], n, rng)
        problem = make_problem(X, np.vstack([Y, pseudo]))
        assert (problem.gram is None) == (d == 18)
        for _ in range(15):
            sweep(problem, state, rng)
        swept.append(features(state))
    expected = [features(draw_from_prior(d, n_pseudo, scatter, rng)) for _ in range(2 * replications)]
    swept, expected = np.array(swept), np.array(expected)
    assert min(stats.ks_2samp(a, b).pvalue for a, b in zip(swept.T, expected.T, strict=True)) > 1e-3


def test_both_ways_to_draw_a_row_are_the_same_normal(rng):
    n, d, m, k = 6, 9, 3, 1
    X, Y = rng.standard_normal((n, d)), rng.standard_normal((n, m))
    A = rng.standard_normal((m, 2 * m))
    omega, scale, start = A @ A.T, rng.uniform(0.1, 2, (m, d)), rng.standard_normal((m, d))
    # Only one row is free: a prior that is as good as fixed keeps the others at zero.
    scale[np.arange(m) != k], start[np.arange(m) != k] = 1e-12, 0.0

    def tall(noise):
        W = start.copy()
        draw_rows_tall(X.T @ X, Y.T @ X, omega, scale, noise[0], W)
        return W[k]

    def wide(noise):
        W = start.copy()
        draw_rows_wide(X, np.ascontiguousarray(Y.T), omega, scale, noise[0], noise[1], W)
        return W[k]

    precision = omega[k, k] * X.T @ X + np.diag(scale[k] ** -2)
    mean = np.linalg.solve(precision, X.T @ (Y @ omega[k]))
    for draw in (tall, wide):
        none = np.zeros((m, d)), np.zeros((m, n))
        np.testing.assert_allclose(draw(none), mean, atol=1e-9)
        # Draws are linear in their noise.
        columns = []
        for which, size in ((0, d), (1, n)):
            for j in range(size):
                noise = np.zeros((m, d)), np.zeros((m, n))
                noise[which][k, j] = 1.0
                columns.append(draw(noise) - mean)
        J = np.array(columns).T
        np.testing.assert_allclose(J @ J.T, np.linalg.inv(precision), atol=1e-9)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def easy():
    return make_regression(400, 10, 5, edge_probability=0.3, random_state=1)


@pytest.fixture(scope="module")
def fitted(easy):
    return HSGHS(500, 2000, n_chains=2, level=0.9, random_state=0).fit(easy.X, easy.Y)


def test_truth_of_an_easy_problem_is_recovered(easy, fitted):
    assert np.linalg.norm(fitted.coef_ - easy.coef) < 0.15 * np.linalg.norm(easy.coef)
    assert np.linalg.norm(fitted.precision_ - easy.precision) < 0.2 * np.linalg.norm(easy.precision)
    found = fitted._estimated
    assert found.W_selected[np.abs(easy.coef) > 0.4].all()
    assert found.W_selected[easy.coef == 0].mean() < 0.1
    assert (np.abs(fitted.coef_ - easy.coef) < 5 * found.W_sd).all()
    assert fitted.n_draws_ == 4000
    # ζ is known to mix slowly.
    assert all(value < 1.05 for name, value in fitted.rhat_.items() if name != "ln ζ")
    assert all(value > 10 for value in fitted.ess_.values())


def test_summaries_are_those_of_the_draws():
    data = make_regression(40, 6, 4, random_state=0)
    X, Y = data.X - data.X.mean(axis=0), data.Y - data.Y.mean(axis=0)
    found = HSGHS(20, 301, level=0.8).fit(data.X, data.Y)._estimated
    W, omega = draws(X, Y, 20, 301, seed=[0, 1], dof=39)
    for values, mean, sd, selected in (
        (W, found.W, found.W_sd, found.W_selected),
        (omega, found.omega, found.omega_sd, found.omega_selected),
    ):
        np.testing.assert_allclose(mean, values.mean(axis=0))
        np.testing.assert_allclose(sd, values.std(axis=0), rtol=1e-6)
        low, high = np.quantile(values, [0.1, 0.9], axis=0)
        np.testing.assert_array_equal(selected, (low > 0) | (high < 0))


def test_order_of_outputs_does_not_matter(easy):
    order = np.array([3, 0, 4, 2, 1])
    X, Y = easy.X, easy.Y
    W, omega = draws(X, Y, 300, 2000, seed=1)
    W_other, omega_other = draws(X, Y[:, order], 300, 2000, seed=2)
    for one, other in ((W[:, order], W_other), (omega[:, order][:, :, order], omega_other)):
        error = np.sqrt(one.var(axis=0) / effective(one) + other.var(axis=0) / effective(other))
        assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) < 5 * error).all()


def test_seeds_reproduce(easy):
    first, again, other = (HSGHS(10, 20, n_chains=2, random_state=seed).fit(easy.X, easy.Y).coef_ for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()


@pytest.mark.parametrize("n_chains", [1, 2])
def test_resumed_fit_is_identical(easy, tmp_path, n_chains):
    def fit(n_draws, **options):
        return HSGHS(30, n_draws, n_chains=n_chains, random_state=3, **options).fit(easy.X, easy.Y)

    fit(17, checkpoint=tmp_path / "chain.npz")
    assert len(list(tmp_path.glob("chain*.npz"))) == n_chains
    resumed, whole = fit(60, checkpoint=tmp_path / "chain.npz"), fit(60)
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    np.testing.assert_array_equal(resumed.precision_, whole.precision_)
    assert resumed.rhat_ == whole.rhat_


def test_checkpoint_of_other_data_is_refused(easy, tmp_path):
    path = tmp_path / "chain.npz"
    HSGHS(5, 5, checkpoint=path).fit(easy.X, easy.Y)
    with pytest.raises(ValueError, match="other data or parameters"):
        HSGHS(5, 5, checkpoint=path).fit(easy.X, easy.Y + 1.0 * easy.X[:, :1])


def test_time_budget_ends_the_chains(easy):
    found = HSGHS(10**6, 10**6, n_chains=2, time_budget=0.5).fit(easy.X, easy.Y)
    assert 2 <= found.n_draws_ < 10**5
    assert np.isfinite(found.coef_).all()


@pytest.mark.parametrize(("n", "d", "m"), [(60, 3, 8), (100, 150, 4), (100, 300, 4)])
def test_few_and_many_inputs(n, d, m):
    # The second has d > n with factors of size d, the third with factors of size n.
    data = make_regression(n, d, m, relevant=min(1.0, 5 / d), weight_range=(1, 2), random_state=0)
    found = HSGHS(300, 500).fit(data.X, data.Y)
    assert np.linalg.norm(found.coef_ - data.coef) < 0.5 * np.linalg.norm(data.coef)
    assert np.linalg.eigvalsh(found.precision_)[0] > 0
    assert np.diag(found.precision_).max() < 10 * np.diag(data.precision).max()


def test_exact_fit_is_an_error(rng):
    X = rng.standard_normal((10, 30))
    with pytest.raises(RuntimeError, match="improper"):
        HSGHS(2000, 2000).fit(X, rng.standard_normal((10, 2)))


def test_one_output(easy):
    found = HSGHS(100, 200).fit(easy.X, easy.Y[:, 0])
    assert found.predict(easy.X).shape == (400,)
    assert found.edges().empty


def test_verbose_tells_what_was_drawn(easy, capsys):
    HSGHS(5, 10, verbose=True).fit(easy.X, easy.Y)
    assert "5 + 10 draws" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("n_burnin", -1), ("n_draws", 0), ("n_chains", 1.5), ("level", 1.0), ("time_budget", 0)],
)
def test_parameters_are_checked(easy, parameter, value):
    with pytest.raises(ValueError, match=f"{parameter} must be"):
        HSGHS(**{parameter: value}).fit(easy.X, easy.Y)


def test_a_killed_fit_of_the_workflow_goes_on(easy, tmp_path):
    path = tmp_path / "chain.npz"
    HSGHS(30, 17, random_state=3, checkpoint=path).fit(easy.X, easy.Y)  # what a kill leaves behind
    resumed = fit_resuming(HSGHS(30, 60, random_state=3), easy.X, easy.Y, path)
    np.testing.assert_array_equal(resumed.coef_, HSGHS(30, 60, random_state=3).fit(easy.X, easy.Y).coef_)
    assert not path.exists()


def test_a_checkpoint_that_the_user_has_given_up_is_replaced(easy, tmp_path):
    path = tmp_path / "chain.npz"
    HSGHS(30, 17, random_state=3, checkpoint=path).fit(easy.X, easy.Y)
    other = fit_resuming(HSGHS(30, 20, random_state=4), easy.X, easy.Y, path)
    np.testing.assert_array_equal(other.coef_, HSGHS(30, 20, random_state=4).fit(easy.X, easy.Y).coef_)


def test_checkpoints_of_several_chains_are_removed(easy, tmp_path):
    fit_resuming(HSGHS(5, 5, n_chains=2, random_state=3), easy.X, easy.Y, tmp_path / "chain.npz")
    assert not list(tmp_path.iterdir())
