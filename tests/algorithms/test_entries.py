"""Single effects against densities of Gaussian mixtures written out, and the bound that they lower."""

from dataclasses import replace

import numpy as np
import pytest
from problems import dense_divergence, dense_effects, dense_joint_objective, random_problem, standardised
from scipy.stats import multivariate_normal

from nard.algorithms import entries as module
from nard.algorithms.entries import Prior, Whitened, fit_entries, learnt_prior, no_entries, no_own
from nard.algorithms.joint import sample_covariance
from nard.simulate import draw_residuals, make_precision

# The order of effects: an impossible one is never there.
IMPOSSIBLE = -1e6


def plain_prior(d, m, log_odds=(0.0,), share=None, own=None, own_share=0.0):
    """The same for all outputs, with as many effects as there are odds."""
    odds = np.full(module.MOST_EFFECTS, IMPOSSIBLE)
    odds[: len(log_odds)] = log_odds
    share = np.full(d, 1.0 / d) if share is None else share
    return Prior(share[None, :], np.zeros(m, dtype=int), odds, no_own(m) if own is None else own, np.array([own_share]))


def fitted(X, Y, omega, prior, C=None, start=None, tol=1e-10, lengths=None, split=True):
    start = no_entries(X.shape[1], Y.shape[1]) if start is None else start
    lengths = np.einsum("ij,ij->j", X, X) if lengths is None else lengths
    E = Y - X @ start.coef().toarray()
    return fit_entries(Whitened(X, C), E, omega, start, lengths, Y.var(axis=0), prior, tol, split=split)


def by_input(entries, i, at):
    """π, μ and τ of one effect by the number of the input, zero where it is not kept."""
    parts = np.zeros((3, entries.d))
    parts[:, entries.index[i, at]] = entries.pip[i, at], entries.mean[i, at], entries.variance[i, at]
    return parts


@pytest.mark.parametrize(("network", "column_wise", "own_share"), [(0.0, 0, 0.0), (0.9, 0, 0.0), (0.9, 2, 0.4)])
def test_one_effect_is_the_posterior_of_a_mixture_of_gaussians(network, column_wise, own_share):
    """Outputs are N(0, V ⊗ C), plus x_jσ in output 0 with probability p_j: all from that density itself."""
    rng = np.random.default_rng(3)
    n, d, m = 18, 5, 3
    X = rng.standard_normal((n, d))
    X[:, 1] = 0.95 * X[:, 0] + 0.3 * X[:, 1]
    alpha = np.full(d, np.inf)
    alpha[3 : 3 + column_wise] = 5.0
    C = sample_covariance(X, alpha)
    over_samples = np.eye(n) if C is None else C
    omega = make_precision(m, network, rng)
    V = np.linalg.inv(omega)
    share = rng.dirichlet(np.ones(d))
    own = np.array([[2], [-1], [-1]])
    full_share = (1.0 - own_share) * share
    full_share[2] += own_share
    Y = np.linalg.cholesky(over_samples) @ draw_residuals(omega, n, rng)
    Y[:, 0] += 1.3 * X[:, 0]
    # Only output 0 has signal; the others would need strong evidence.
    log_odds = -2.0
    prior = plain_prior(d, m, (log_odds,), share, own, own_share)
    found = fitted(X, Y, omega, prior, C)
    np.testing.assert_array_equal(found.on.sum(axis=1), [1, 0, 0])

    stacked, without = Y.T.ravel(), np.kron(V, over_samples)
    null = multivariate_normal(cov=without).logpdf(stacked)

    def factors(size):
        log = []
        for j in range(d):
            column = np.concatenate([X[:, j], np.zeros(n * (m - 1))])
            log.append(multivariate_normal(cov=without + size * np.outer(column, column)).logpdf(stacked) - null)
        return full_share * np.exp(log)

    totals = [factors(size).sum() for size in module._SIZES * Y[:, 0].var()]
    size = module._SIZES[np.argmax(totals)] * Y[:, 0].var()
    assert found.size[0, 0] == pytest.approx(size)
    pip, mean, variance = by_input(found, 0, 0)
    assert (pip > 1e-4).sum() >= 2  # inputs 0 and 1 can hardly be told apart
    np.testing.assert_allclose(pip, factors(size) / factors(size).sum(), rtol=1e-7, atol=1e-10)
    precision = np.linalg.inv(without)
    for j in np.flatnonzero(pip > 1e-10):
        column = np.concatenate([X[:, j], np.zeros(n * (m - 1))])
        tau = 1.0 / (1.0 / size + column @ precision @ column)
        assert variance[j] == pytest.approx(tau, rel=1e-8)
        assert mean[j] == pytest.approx(tau * (column @ precision @ stacked), rel=1e-8)
    # −2 ln of the mixture's density, prior odds included, is what one effect's bound is equal to.
    problem, _, _ = random_problem(0, (n, d, m))
    problem = replace(problem, data=replace(problem.data, X=X, Y=Y), penalty=np.zeros((m, m)))
    exact = -2.0 * (null + np.log(totals).max() + log_odds) - n * m * np.log(2.0 * np.pi)
    assert dense_joint_objective(problem, alpha, omega, found, prior, Y) == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_two_effects_are_a_bound_of_the_exact_evidence(seed):
    """One output, three correlated inputs, two effects: the evidence is a mixture of nine Gaussians."""
    rng = np.random.default_rng(seed)
    n, d = 25, 3
    X = standardised(rng.standard_normal((n, d)) + 0.7 * rng.standard_normal((n, 1)))
    y = X[:, 0] - 0.8 * X[:, 1] + rng.standard_normal(n)
    omega = np.array([[1.2]])
    prior = plain_prior(d, 1, (0.3, -0.2), rng.dirichlet(np.full(d, 5.0)))
    found = fitted(X, y[:, None], omega, prior)
    assert found.on.sum() == 2
    first, second = found.size[0, :2]
    density = 0.0
    for j in range(d):
        for k in range(d):
            outer = first * np.outer(X[:, j], X[:, j]) + second * np.outer(X[:, k], X[:, k])
            weight = prior.share[0, j] * prior.share[0, k]
            density += weight * multivariate_normal(cov=np.eye(n) / 1.2 + outer).pdf(y)
    exact = -2.0 * (np.log(density) + 0.3 - 0.2) - n * np.log(2.0 * np.pi)
    problem, _, _ = random_problem(0, (n, d, 1))
    problem = replace(problem, data=replace(problem.data, X=X, Y=y[:, None]), penalty=np.zeros((1, 1)))
    bound = dense_joint_objective(problem, np.full(d, np.inf), omega, found, prior, y[:, None])
    assert exact <= bound <= exact + 10.0


SITUATIONS = [
    ((40, 12, 6), False),
    ((25, 60, 5), False),
    ((80, 30, 15), True),
    ((30, 90, 8), True),
    ((40, 150, 6), False),
]


@pytest.mark.parametrize(("shape", "column_wise"), SITUATIONS)
@pytest.mark.parametrize("seed", range(4))
def test_no_sweep_raises_the_bound(shape, column_wise, seed, monkeypatch):
    """J from its definition after every single sweep, effects that come and go included."""
    monkeypatch.setattr(module, "_SWEEPS", 1)
    problem, _, _ = random_problem(seed, shape, relevant=0.5)
    n, d, m = shape
    rng = np.random.default_rng(seed)
    alpha = np.full(d, np.inf)
    if column_wise:
        alpha[rng.choice(d, 4, replace=False)] = 10.0
    C = sample_covariance(problem.X, alpha)
    omega = make_precision(m, 0.3, rng)
    own = rng.integers(0, d, (m, 2))
    own[::2] = -1
    start = fitted(problem.X, problem.Y, omega, plain_prior(d, m, (1.0, 1.0, 1.0)), C)
    prior = replace(learnt_prior(start, own), log_odds=np.linspace(0.5, -3.0, module.MOST_EFFECTS))
    found, values = fitted(problem.X, problem.Y, omega, prior, C), []
    for _ in range(12):
        values.append(dense_joint_objective(problem, alpha, omega, found, prior, problem.Y))
        found = fitted(problem.X, problem.Y, omega, prior, C, found)
    empty = dense_joint_objective(problem, alpha, omega, no_entries(d, m), prior, problem.Y)
    assert values[0] < empty
    assert (np.diff(values) <= 1e-9 * np.abs(values[1:])).all()
    assert values[0] - values[-1] > 0
    np.testing.assert_allclose(
        Whitened(problem.X, C).extra_scatter(found),
        dense_effects(found, problem.X, np.eye(n) if C is None else C),
        rtol=1e-8,
        atol=1e-8,
    )


def test_an_input_that_goes_with_two_is_split_into_them():
    """Neither of two inputs explains the output as well as a third does that goes with both of them."""
    rng = np.random.default_rng(0)
    n, d = 120, 60
    X = rng.standard_normal((n, d))
    X[:, 2] = (X[:, 0] + X[:, 1]) / np.sqrt(2) + 0.3 * X[:, 2]
    X /= X.std(axis=0)
    Y = (X[:, 0] + X[:, 1] + 0.8 * rng.standard_normal(n))[:, None]
    omega, prior = np.array([[1 / 0.64]]), plain_prior(d, 1, (0.0, 0.0, 0.0))

    def bound(found):
        left = np.sum((Y - X @ found.coef().toarray()) ** 2) + dense_effects(found, X, np.eye(n))[0]
        return omega[0, 0] * left + 2.0 * dense_divergence(found, prior)

    both, one_by_one = (fitted(X, Y, omega, prior, split=split) for split in (True, False))
    assert set(one_by_one.index[0][one_by_one.on[0], 0]) >= {2}
    assert set(both.index[0][both.on[0], 0]) == {0, 1}
    assert bound(both) < bound(one_by_one)


def test_rows_in_the_space_of_the_inputs_are_enough():
    """With N > d the rows are rotated and cut to d; nothing that an effect depends on changes."""
    problem, _, _ = random_problem(2, (80, 30, 15), correlation=0.5)
    alpha = np.full(30, np.inf)
    alpha[:3] = 5.0
    C = sample_covariance(problem.X, alpha)
    cut = Whitened(problem.X, C)
    assert cut.rows(problem.Y).shape == (15, 30)
    whole = Whitened(problem.X, C)
    whole._basis, whole.XT = None, np.linalg.solve(np.linalg.cholesky(C), problem.X).T.copy()
    assert whole.rows(problem.Y).shape == (15, 80)
    omega = make_precision(15, 0.3, np.random.default_rng(0))
    prior = plain_prior(30, 15, (0.0, 0.0, 0.0))
    arguments = omega, no_entries(30, 15), np.full(30, 80.0), np.ones(15), prior, 1e-9
    one, two = (fit_entries(whitened, problem.Y, *arguments) for whitened in (cut, whole))
    assert not one.empty
    np.testing.assert_array_equal(one.on, two.on)
    np.testing.assert_allclose(one.coef().toarray(), two.coef().toarray(), atol=1e-9)
    np.testing.assert_allclose(cut.extra_scatter(one), whole.extra_scatter(two), atol=1e-8)


def test_permuting_permutes():
    problem, _, _ = random_problem(2, (80, 30, 15), correlation=0.5)
    rng = np.random.default_rng(0)
    inputs, outputs = rng.permutation(30), rng.permutation(15)
    share, omega = rng.dirichlet(np.ones(30)), make_precision(15, 0.3, rng)
    prior, moved = (plain_prior(30, 15, (0.0, 0.0), p) for p in (share, share[inputs]))
    one = fitted(problem.X, problem.Y, omega, prior)
    two = fitted(problem.X[:, inputs], problem.Y, omega, moved)
    assert not one.empty
    np.testing.assert_allclose(two.coef().toarray(), one.coef().toarray()[inputs], atol=1e-8)
    # With a network the outputs take turns; without one their order cannot matter.
    alone = np.diag(np.diag(omega))
    one = fitted(problem.X, problem.Y, alone, prior)
    two = fitted(problem.X, problem.Y[:, outputs], alone[np.ix_(outputs, outputs)], prior)
    np.testing.assert_allclose(two.coef().toarray(), one.coef().toarray()[:, outputs], atol=1e-8)


def test_inputs_that_the_hidden_ones_explain_lead_no_effect():
    rng = np.random.default_rng(0)
    X = standardised(rng.standard_normal((60, 4)))
    Y = X[:, [0]] + 0.3 * rng.standard_normal((60, 1))
    lengths = np.full(4, 60.0)
    omega, prior = np.array([[10.0]]), plain_prior(4, 1)
    assert fitted(X, Y, omega, prior, lengths=lengths).index[0, 0, 0] == 0
    lengths[0] = 60.0 * 1000  # all but a thousandth of it was projected out
    assert np.all(fitted(X, Y, omega, prior, lengths=lengths).coef().toarray()[0] == 0)


def entries_that_drive(pairs, d, m):
    """Effects of known inputs, one per pair (output, input)."""
    found, count = no_entries(d, m), np.zeros(m, dtype=int)
    for i, j in pairs:
        at = count[i]
        count[i] += 1
        found.size[i, at] = 1.0
        found.index[i, at, 0], found.pip[i, at, 0], found.mean[i, at, 0] = j, 1.0, 0.5
    return found


def test_the_prior_is_learnt_from_other_outputs_only():
    rng = np.random.default_rng(0)
    d, m = 50, 40
    hub = [(i, 3) for i in range(m)]
    others = [(i, int(rng.integers(d))) for i in range(m)]
    own = np.where(np.arange(m) < 20, np.arange(m), -1)[:, None]
    prior = learnt_prior(entries_that_drive(hub + others, d, m), own)
    np.testing.assert_allclose(prior.share.sum(axis=1), 1.0)
    assert (prior.share.argmax(axis=1) == 3).all()
    # The folds' own outputs do not count: what these have may change without changing their prior.
    fold = prior.fold == 2
    changed = [(i, 8 if fold[i] else j) for i, j in hub] + others
    again = learnt_prior(entries_that_drive(changed, d, m), own)
    np.testing.assert_array_equal(again.share[2], prior.share[2])
    np.testing.assert_array_equal(again.own_share[2], prior.own_share[2])
    assert not np.array_equal(again.share[1], prior.share[1])


def test_the_prior_is_even_where_counts_vary_no_more_than_chance():
    d, m = 40, 40
    even = learnt_prior(entries_that_drive([(i, i) for i in range(m)], d, m), no_own(m))
    np.testing.assert_array_equal(even.share, np.full((5, d), 1 / d))
    np.testing.assert_array_equal(learnt_prior(no_entries(d, m), no_own(m)).share, np.full((5, d), 1 / d))


def test_own_inputs_get_the_share_that_they_have_elsewhere():
    d, m = 60, 40
    own = np.arange(m)[:, None]
    pairs = [(i, i) for i in range(m)] + [(i, (i + 20) % d) for i in range(m)]
    prior = learnt_prior(entries_that_drive(pairs, d, m), own)
    np.testing.assert_allclose(prior.own_share, 32 / (64 + 1))
    np.testing.assert_array_equal(learnt_prior(entries_that_drive(pairs, d, m), no_own(m)).own_share, 0.0)


def test_odds_of_another_effect_are_those_of_the_outputs():
    """Of forty outputs thirty have one effect at least, and ten two."""
    pairs = [(i, i) for i in range(30)] + [(i, i + 1) for i in range(10)]
    prior = learnt_prior(entries_that_drive(pairs, 50, 40), no_own(40))
    low, high = module._LEARNT_ODDS
    expected = np.clip(np.log([30.5 / 10.5, 10.5 / 20.5, 0.5 / 10.5]), low, high)
    np.testing.assert_allclose(prior.log_odds[:3], expected)
