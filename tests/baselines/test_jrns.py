"""JRNS against the original's outputs, numerical integration of its posterior, Geweke's test; chains and resuming."""

import itertools
import time

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaln, logsumexp

from nard.baselines import chains, jrns
from nard.baselines.chains import effective_sample_size, run_chain, split_rhat
from nard.baselines.jrns import JRNS, GibbsProblem, initial_state, positive_definite
from nard.simulate import make_regression


def read(folder, name):
    return np.loadtxt(folder / f"{name}.csv", delimiter=",")


def batch_means(problem, state, rng, n_batches, size):
    """Means of W and Ω over batches of draws, (n_batches, …) each."""
    means = {"W": [], "omega": []}
    for _ in range(n_batches):
        for name in means:
            state[f"{name}_sums"][:] = 0
        problem.draw(state, rng, size, True)
        for name, values in means.items():
            values.append(state[f"{name}_sums"][1] / size)
    return {name: np.array(values) for name, values in means.items()}


# The original's outputs. It did not centre the data, so these tests call the sampler instead of the estimator.


@pytest.mark.parametrize("name", ["tiny", "small"])
def test_inclusion_agrees_with_the_original(golden, name):
    """Zeros of the original never return, and this chain may go on between the modes of ``small``, so it is long."""
    X, Y = read(golden, f"{name}_X"), read(golden, f"{name}_Y")
    problem = GibbsProblem(X, Y, alone=1000)
    chain = run_chain(problem.draw, initial_state(problem), np.random.default_rng(0), 25_000, 25_000)
    found = [chain.state[key][0] / 25_000 >= 0.5 for key in ("W_sums", "omega_sums")]
    expected = [read(golden, f"{name}_jrns_B").T != 0, read(golden, f"{name}_jrns_Omega") != 0]
    upper = np.triu_indices(Y.shape[1], 1)
    same = np.concatenate([(found[0] == expected[0]).ravel(), (found[1] == expected[1])[upper]])
    assert same.mean() >= 0.99


@pytest.mark.parametrize(("name", "lost"), [("tiny", None), ("small", (8, 16))])
def test_estimates_agree_with_the_original_given_its_support(golden, name, lost):
    """To three Monte Carlo errors.

    The ω_jj of the original are low by what lies between mean and mode of their conditional, to the leading order in
    1/n nω/(n + Tω²)², as if it drew them around the mode. Of ``small`` it lost the edge 8 – 16 for good after 90 %
    of its draws. The chain is then one of two parts, whose errors are not those of a stationary one: outputs
    linked with the edge have to agree to five errors only.
    """
    X, Y = read(golden, f"{name}_X"), read(golden, f"{name}_Y")
    expected = {"W": read(golden, f"{name}_jrns_B").T, "omega": read(golden, f"{name}_jrns_Omega")}
    share = 1.0 if lost is None else read(golden, f"{name}_jrns_Omega_inclusion")[lost]
    problem = GibbsProblem(X, Y)
    # λ of a zero entry so far from any other that neither zeros nor other entries ever change sides.
    problem.centre_coef = np.full(Y.shape[1], 600.0), np.zeros(X.shape[1])
    problem.centre_edges = np.full(Y.shape[1], 300.0)
    rng, parts = np.random.default_rng(0), []
    for absent in (None, lost):
        state = initial_state(problem) | {key: value.copy() for key, value in expected.items()}
        if absent is not None:
            state["omega"][absent] = state["omega"][absent[::-1]] = 0.0
        problem.draw(state, rng, 500, False)
        parts.append(batch_means(problem, state, rng, 40, 1000))
    mean = {key: share * parts[0][key].mean(axis=0) + (1 - share) * parts[1][key].mean(axis=0) for key in expected}
    n, omega = len(Y), np.diag(mean["omega"])
    T = np.sum((Y - X @ mean["W"].T) ** 2, axis=0)
    mean["omega"] = mean["omega"] - np.diag(n * omega / (n + T * omega**2) ** 2)
    component = connected_components(expected["omega"] != 0)[1]
    limit = np.full(Y.shape[1], 3.0)
    if lost is not None:
        limit[component == component[lost[0]]] = 5.0
        assert (limit == 3).sum() >= 12
        mean["omega"][lost] = mean["omega"][lost[::-1]] = expected["omega"][lost]
    for key, value in expected.items():
        # The original made 8,000 draws where these are 40,000.
        error = parts[0][key].std(axis=0, ddof=1) / np.sqrt(40) * np.sqrt(1 + 40_000 / 8_000)
        assert np.all((np.abs(mean[key] - value) <= limit[:, None] * error)[value != 0])


# The posterior, straight from its definition.

SMOOTH = {"q": (0.4, 0.6), "shape": 3.0, "rate": 1.0, "eta": 1.0}


def log_slab(x, shape, rate):
    """N(0, 1/λ) with λ ~ Gamma(a, b) is Student's t."""
    norm = gammaln(shape + 0.5) - gammaln(shape) - 0.5 * np.log(2 * np.pi * rate)
    return norm - (shape + 0.5) * np.log1p(x**2 / (2 * rate))


def entries(W, omega):
    """Those of W row by row, the edges, the diagonal."""
    return np.r_[W.ravel(), omega[np.triu_indices(len(omega), 1)], np.diag(omega)]


def box(problem, state, rng):
    """Where the posterior is: the range of some draws, widened by 40 %, for entries as in :func:`entries`."""
    draws = []
    for _ in range(4000):
        problem.draw(state, rng, 3, False)
        draws.append(entries(state["W"] if problem.coef else np.zeros((0, 0)), state["omega"]))
    low, high = np.min(draws, axis=0), np.max(draws, axis=0)
    low, high = low - 0.2 * (high - low), high + 0.2 * (high - low)
    low[-len(problem.YY) :] = np.maximum(low[-len(problem.YY) :], 0)
    return low, high


def integrated(X, Y, q, shape, rate, eta, low, high, n_points, coef=True):
    """Inclusion probabilities and means of all :func:`entries`, by Gauss quadrature for each support."""
    n, m, d = len(Y), Y.shape[1], X.shape[1] if coef else 0
    pairs = list(itertools.combinations(range(m), 2))
    n_zeroable = m * d + len(pairs)
    log_q = np.log(np.r_[np.full(m * d, q[0]), np.full(len(pairs), q[1])])
    log_not_q = np.log1p(-np.exp(log_q))
    nodes, weights = np.polynomial.legendre.leggauss(n_points)
    log_z, means = [], []
    supports = list(itertools.product([False, True], repeat=n_zeroable))
    for support in supports:
        free = [*np.flatnonzero(support), *range(n_zeroable, n_zeroable + m)]
        sides = list(zip(low[free], high[free], strict=True))
        grid = np.meshgrid(*[(a + b) / 2 + (b - a) / 2 * nodes for a, b in sides], indexing="ij")
        log_w = sum(np.meshgrid(*[np.log((b - a) / 2 * weights) for a, b in sides], indexing="ij"))
        values = dict(zip(free, (g.ravel() for g in grid), strict=True))
        value = [values.get(i, 0.0) for i in range(n_zeroable + m)]
        omega = [[0.0] * m for _ in range(m)]
        for i, (j, k) in enumerate(pairs):
            omega[j][k] = omega[k][j] = value[m * d + i]
        for j in range(m):
            omega[j][j] = value[n_zeroable + j]
        density = log_w.ravel() + sum(n * np.log(omega[j][j]) - eta * omega[j][j] for j in range(m))
        for i in range(n):
            e = [Y[i, s] - sum(value[s * d + r] * X[i, r] for r in range(d)) for s in range(m)]
            # Tr(Ω² EᵀE) = Σ_i ‖Ω e_i‖².
            density = density - 0.5 * sum(sum(omega[j][k] * e[k] for k in range(m)) ** 2 for j in range(m))
        for i, inside in enumerate(support):
            density = density + (log_q[i] + log_slab(value[i], shape, rate) if inside else log_not_q[i])
        log_z.append(logsumexp(density))
        p = np.exp(density - log_z[-1])
        means.append([np.sum(p * v) for v in value])
    share = np.exp(np.array(log_z) - logsumexp(log_z))
    return share @ np.array(supports), share @ np.array(means)


def sampled(X, Y, n_batches=40, size=4000, coef=True, **prior):
    """The same from the sampler, with Monte Carlo errors from batches."""
    problem = GibbsProblem(X, Y, coef=coef, **prior)
    state, rng = initial_state(problem), np.random.default_rng(3)
    problem.draw(state, rng, 1000, False)
    inclusion, means = [], []
    for _ in range(n_batches):
        state["W_sums"][:] = state["omega_sums"][:] = 0
        problem.draw(state, rng, size, True)
        W = state["W_sums"] / size if coef else np.zeros((3, 0, 0))
        count, mean = (entries(W[i], state["omega_sums"][i] / size) for i in (0, 1))
        inclusion.append(count[: -Y.shape[1]])
        means.append(mean)
    return [(np.mean(x, axis=0), np.std(x, axis=0, ddof=1) / np.sqrt(n_batches)) for x in (inclusion, means)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "m", "coef", "n_points"), [(1, 2, True, 20), (2, 1, True, 50), (1, 3, False, 13)], ids=str
)
def test_sampler_draws_from_the_posterior(d, m, coef, n_points):
    rng = np.random.default_rng(2)
    n = 12
    Y = 1.5 * rng.standard_normal((n, m)) @ (np.eye(m) + 0.4 * np.eye(m, k=1))
    X = rng.standard_normal((n, d)) @ (0.5 * np.eye(d) + 0.5) + 0.3 * Y[:, :1]
    problem = GibbsProblem(X, Y, coef=coef, **SMOOTH)
    low, high = box(problem, initial_state(problem), rng)
    expected = integrated(X, Y, low=low, high=high, n_points=n_points, coef=coef, **SMOOTH)
    assert expected[0].min() < 0.9
    for exact, (found, error) in zip(expected, sampled(X, Y, coef=coef, **SMOOTH), strict=True):
        assert np.all(np.abs(found - exact) < 4 * error + 1e-3)


def test_published_hyperprior_lets_zeros_return():
    """One coefficient: its inclusion probability, by integration over ω and, in logarithmic steps, itself."""
    rng = np.random.default_rng(0)
    n = 30
    x = rng.standard_normal(n)
    y = 1.5 * x + rng.standard_normal(n)
    omega = np.linspace(1e-3, 3, 1500)
    steps = np.linspace(np.log(1e-9), np.log(1e2), 3000)
    b = np.exp(steps)

    def log_likelihood(b):
        rss = np.sum((y - np.multiply.outer(b, x)) ** 2, axis=-1)
        return logsumexp(n * np.log(omega) - 0.5 * omega**2 * rss[..., None] - omega, axis=-1)

    slab = log_slab(b, 1e-4, 1e-8) + steps + np.log(steps[1] - steps[0])
    inside = logsumexp(np.r_[slab + log_likelihood(b), slab + log_likelihood(-b)])
    exact = 1 / (1 + np.exp(log_likelihood(np.zeros(1))[0] - inside))
    (inclusion, error), _ = sampled(x[:, None], y[:, None], size=2000, q=(0.5, 0.5))
    assert 0.1 < exact < 0.9
    assert error[0] < 0.02
    assert abs(inclusion[0] - exact) < 4 * error[0]


@pytest.mark.parametrize(
    ("n", "t", "c"), [(80, 75.0, -20.0), (10, 8.0, 9.0), (300, 400.0, 1.0), (20, 0.5, 15.0), (20, 0.5, 12.0)]
)
def test_diagonal_draws(n, t, c):
    rng = np.random.default_rng(0)
    draws = np.array([jrns._diagonal(n, t, c, rng) for _ in range(20_000)])
    omega = np.linspace(1e-6, 5, 200_001)
    log_p = n * np.log(omega) - 0.5 * t * omega**2 - c * omega
    p = np.exp(log_p - logsumexp(log_p))
    mean, variance = p @ omega, p @ omega**2 - (p @ omega) ** 2
    assert abs(draws.mean() - mean) < 4 * np.sqrt(variance / len(draws))
    assert draws.var() == pytest.approx(variance, rel=0.05)


@pytest.mark.slow
def test_geweke():
    """Prior draws, and a chain that draws data and parameters in turn, have the same moments.

    Only for diagonal Ω is the generalised likelihood a density of Y: that of N(XB, Ω⁻²).
    """
    rng = np.random.default_rng(0)
    n, d, m, n_draws = 4, 2, 2, 40_000
    X = rng.standard_normal((n, d))
    lam = rng.gamma(SMOOTH["shape"], 1 / SMOOTH["rate"], (n_draws, m, d))
    prior_W = np.where(rng.random(lam.shape) < SMOOTH["q"][0], rng.standard_normal(lam.shape) / np.sqrt(lam), 0.0)
    prior_omega = rng.exponential(1 / SMOOTH["eta"], (n_draws, m))

    W, omega = prior_W[0].copy(), np.diag(prior_omega[0])
    chain_W, chain_omega = np.empty_like(prior_W), np.empty_like(prior_omega)
    for i in range(n_draws):
        Y = X @ W.T + rng.standard_normal((n, m)) / np.diag(omega)
        problem = GibbsProblem(X, Y, edges=False, **SMOOTH)
        state = initial_state(problem) | {"W": W, "omega": omega}
        problem.draw(state, rng, 1, False)
        chain_W[i], chain_omega[i] = W, np.diag(omega)

    def moments(W, omega):
        flat = W.reshape(len(W), -1)
        log_omega = np.log(omega)
        return np.hstack([flat, flat**2, flat != 0, omega, log_omega, log_omega**2, np.abs(flat[:, :1]) * omega[:, :1]])

    prior, chain = moments(prior_W, prior_omega), moments(chain_W, chain_omega)
    size = np.array([effective_sample_size(column) for column in chain.T])
    error = np.sqrt(prior.var(axis=0) / n_draws + chain.var(axis=0) / size)
    z = (chain.mean(axis=0) - prior.mean(axis=0)) / error
    assert size.min() > 200
    assert np.abs(z).max() < 4
    assert np.sqrt((z**2).mean()) < 1.6


# The estimator and its chains.


@pytest.fixture(scope="module")
def data():
    return make_regression(300, 12, 6, random_state=0)


@pytest.mark.parametrize("variant", ["joint", "stepwise"])
def test_recovers_the_truth(data, variant):
    model = JRNS(1000, 1000, variant=variant, random_state=0).fit(data.X, data.Y)
    np.testing.assert_array_equal(model.coef_ != 0, data.coef != 0)
    np.testing.assert_allclose(model.coef_, data.coef, atol=0.25)
    found = model.precision_ != 0
    assert not (found & (data.precision == 0)).any()
    assert np.linalg.eigvalsh(model.precision_)[0] > 0
    assert model.associations()["selected"].sum() == np.count_nonzero(data.coef)
    assert model.n_draws_ == 1000
    assert set(model.rhat_) == set(model.ess_) == set(jrns.MONITORS)
    assert model.rhat_["log_likelihood"] < 1.05


def test_chains_from_far_starts_agree(data):
    model = JRNS(500, 500, n_chains=3, random_state=1).fit(data.X, data.Y)
    assert model.n_draws_ == 1500
    assert model.rhat_["coef_norm"] < 1.05
    assert model.ess_["coef_norm"] > 500


def test_seeds_reproduce(data):
    fits = [JRNS(50, 50, random_state=seed).fit(data.X, data.Y) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    np.testing.assert_array_equal(fits[0].precision_, fits[1].precision_)
    assert (fits[0].coef_ != fits[2].coef_).any()


def test_killed_chain_resumes_to_the_same_bits(data, tmp_path, monkeypatch):
    monkeypatch.setattr(chains, "_SAVE_EVERY", 0.0)
    problem = GibbsProblem(data.X, data.Y, alone=20)

    def run(draw, **options):
        return run_chain(draw, initial_state(problem), np.random.default_rng(5), 60, 75, **options)

    whole = run(problem.draw)
    path = tmp_path / "chain.npz"
    # Killed within the burn-in, and again while draws are kept.
    for n_blocks in (3, 6):
        left = iter(range(n_blocks))

        def killed(*arguments, left=left):
            if next(left, None) is None:
                raise KeyboardInterrupt
            return problem.draw(*arguments)

        with pytest.raises(KeyboardInterrupt):
            run(killed, checkpoint=path)
    resumed = run(problem.draw, checkpoint=path)
    assert (resumed.n_burnin, resumed.n_draws) == (60, 75)
    np.testing.assert_array_equal(resumed.trace, whole.trace)
    for name, value in whole.state.items():
        np.testing.assert_array_equal(resumed.state[name], value)
    with pytest.raises(ValueError, match="other data"):
        run(problem.draw, checkpoint=path, fingerprint="other")


@pytest.mark.parametrize("variant", ["joint", "stepwise"])
def test_fit_goes_on_from_its_checkpoint(data, tmp_path, variant):
    options = {"n_burnin": 40, "variant": variant, "random_state": 0}
    whole = JRNS(n_draws=60, **options).fit(data.X, data.Y)
    path = tmp_path / "chain.npz"
    JRNS(n_draws=60, checkpoint=path, **options).fit(data.X, data.Y)
    names = {"joint": {"chain.npz"}, "stepwise": {"chain-coef-0.npz", "chain-precision-0.npz"}}[variant]
    assert {file.name for file in tmp_path.iterdir()} == names
    again = JRNS(n_draws=60, checkpoint=path, **options).fit(data.X, data.Y)
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    np.testing.assert_array_equal(again.precision_, whole.precision_)
    with pytest.raises(ValueError, match="other data"):
        JRNS(n_draws=60, checkpoint=path, **options).fit(data.X, data.Y + data.X[:, :1])


def test_more_draws_continue_a_finished_chain(data, tmp_path):
    options = {"n_burnin": 40, "random_state": 0}
    JRNS(n_draws=30, checkpoint=tmp_path / "chain.npz", **options).fit(data.X, data.Y)
    longer = JRNS(n_draws=80, checkpoint=tmp_path / "chain.npz", **options).fit(data.X, data.Y)
    whole = JRNS(n_draws=80, **options).fit(data.X, data.Y)
    assert longer.n_draws_ == 80
    np.testing.assert_array_equal(longer.coef_, whole.coef_)


@pytest.mark.parametrize("variant", ["joint", "stepwise"])
def test_time_budget(data, variant):
    JRNS(1, 1, variant=variant).fit(data.X, data.Y)  # compiles
    started = time.monotonic()
    model = JRNS(10**8, 10**8, variant=variant, time_budget=0.4, random_state=0).fit(data.X, data.Y)
    assert time.monotonic() - started < 2
    assert 0 < model.n_draws_ < 10**8
    # Half of the time is the burn-in's.
    np.testing.assert_array_equal(model.coef_ != 0, data.coef != 0)


@pytest.mark.parametrize(
    "wrong", [{"variant": "both"}, {"n_draws": 0}, {"n_burnin": -1}, {"n_chains": 1.5}, {"time_budget": 0}]
)
def test_wrong_parameters(data, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        JRNS(**wrong).fit(data.X, data.Y)


def test_one_output(data):
    model = JRNS(200, 200, random_state=0).fit(data.X, data.Y[:, 0])
    assert model.predict(data.X).shape == (300,)
    np.testing.assert_array_equal(model.coef_[0] != 0, data.coef[0] != 0)


def test_positive_definite():
    good = np.array([[2.0, 0.5], [0.5, 1.0]])
    assert positive_definite(good) is good
    bad = np.array([[1.0, 0.9, 0.9], [0.9, 4.0, 0.0], [0.9, 0.0, 0.25]])
    mended = positive_definite(bad)
    scale = np.sqrt(np.diag(bad))
    assert np.linalg.eigvalsh(mended / np.outer(scale, scale))[0] == pytest.approx(0.01)
    np.testing.assert_array_equal(np.diag(mended), np.diag(bad))
    assert mended[1, 2] == 0
    assert mended[0, 1] == mended[0, 2] > 0


def test_diagnostics_of_known_chains():
    """An AR(1) with coefficient φ has N (1 − φ) / (1 + φ) effective draws."""
    rng = np.random.default_rng(0)
    draws = np.zeros((4, 5000))
    for t in range(1, 5000):
        draws[:, t] = 0.8 * draws[:, t - 1] + rng.standard_normal(4)
    assert effective_sample_size(draws) == pytest.approx(20_000 / 9, rel=0.15)
    assert effective_sample_size(rng.standard_normal((4, 5000))) == pytest.approx(20_000, rel=0.1)
    assert split_rhat(draws) < 1.01
    assert split_rhat(draws + np.arange(4)[:, None]) > 1.1
    # A drift within a chain is seen, too.
    assert split_rhat(draws[:1] + np.linspace(0, 5, 5000)) > 1.1
    assert split_rhat(np.ones((2, 10))) == 1


def test_diagonal_draws_take_no_longer_where_the_data_say_nothing():
    """The prior's exp(−ω) then makes the density; a normal law as wide as the data's is hardly ever below it."""
    rng, n = np.random.default_rng(0), 50
    draws = np.array([jrns._diagonal(n, 1e-18, 1.0, rng) for _ in range(20_000)])
    assert draws.mean() == pytest.approx(n + 1, rel=0.01)
    assert draws.var() == pytest.approx(n + 1, rel=0.05)
