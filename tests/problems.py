"""Small random problems for the tests of the algorithms, and J written out independently of the package."""

from __future__ import annotations

import numpy as np

from nard.algorithms import Data, RoughPass
from nard.algorithms.priors import make_alpha_prior, make_covariance_prior
from nard.simulate import make_regression

# Shapes (N, d, m) on both sides of N = d, and with more outputs than samples.
SHAPES = [(40, 12, 6), (25, 60, 5), (80, 30, 15), (20, 45, 25), (30, 30, 4), (60, 5, 1), (15, 40, 2)]


def standardised(A):
    return (A - A.mean(axis=0)) / A.std(axis=0)


def random_problem(seed, shape=None, *, lam=None, alpha_prior=None, cov_prior=None, correlation=None, relevant=None):
    """A problem with some signal, its rough pass, and the simulated truth."""
    rng = np.random.default_rng(seed)
    n, d, m = shape or SHAPES[seed % len(SHAPES)]
    data = make_regression(
        n,
        d,
        m,
        relevant=rng.uniform(0.0, 0.5) if relevant is None else relevant,
        density=rng.uniform(0.2, 1.0),
        edge_probability=rng.uniform(0.0, 0.4),
        feature_correlation=rng.choice([0.0, 0.5, 0.95]) if correlation is None else correlation,
        random_state=seed,
    )
    scaled = Data(standardised(data.X), standardised(data.Y))
    cov = make_covariance_prior(cov_prior, scaled.Y.var(axis=0))
    rough = RoughPass(scaled, cov)
    lam = rng.uniform(0.02, 0.4) if lam is None else lam
    problem = rough.problem(scaled, lam, make_alpha_prior(alpha_prior, m), cov)
    return problem, rough, data


def dense_objective(problem, alpha, omega):
    """J from its definition, with dense matrices only (the tiny floor under V included)."""
    X, Y, prior, cov = problem.X, problem.Y, problem.alpha_prior, problem.cov_prior
    n, m = Y.shape
    C = np.eye(n) + (X / alpha) @ X.T
    psi = cov.psi + 1e-8 * np.diag(np.diag(Y.T @ Y))
    value = m * np.linalg.slogdet(C)[1] - (n + cov.nu) * np.linalg.slogdet(omega)[1]
    value += np.trace(omega @ (Y.T @ np.linalg.solve(C, Y) + psi))
    value += n * (problem.penalty * np.abs(omega)).sum()
    if not prior.is_flat:
        value += (2 * prior.b * alpha - 2 * (prior.a - 1) * np.log(alpha)).sum()
    return value


def dense_posterior(problem, alpha):
    """Σ and μ on all inputs; an infinite α gives zero rows."""
    active = np.isfinite(alpha)
    sigma = np.zeros((problem.d, problem.d))
    X = problem.X[:, active]
    sigma[np.ix_(active, active)] = np.linalg.inv(np.diag(alpha[active]) + X.T @ X)
    return sigma, sigma @ problem.X.T @ problem.Y


def dense_effects(entries, X, C):
    """c_i, the variance of every output's fit by its effects, written out with dense matrices."""
    precision = np.linalg.inv(C)
    c = np.zeros(len(entries.size))
    for i, at in zip(*np.nonzero(entries.on), strict=True):
        j, pip, mean = entries.index[i, at], entries.pip[i, at], entries.mean[i, at]
        G = X[:, j].T @ precision @ X[:, j]
        average = pip * mean
        c[i] += pip @ ((mean**2 + entries.variance[i, at]) * np.diag(G)) - average @ G @ average
    return c


def dense_divergence(entries, prior):
    """Σ KL of the effects' posteriors from their priors, less the log prior odds of their being there."""
    total = 0.0
    for i, at in zip(*np.nonzero(entries.on), strict=True):
        j, pip, size = entries.index[i, at], entries.pip[i, at], entries.size[i, at]
        share = prior.share[prior.fold[i]].copy()
        own = prior.own[i][prior.own[i] >= 0]
        if len(own):
            mass = prior.own_share[prior.fold[i]]
            share *= 1.0 - mass
            share[own] += mass / len(own)
        used = pip > 0
        j, pip = j[used], pip[used]
        ratio = entries.variance[i, at][used] / size
        gaussian = 0.5 * (ratio + entries.mean[i, at][used] ** 2 / size - 1.0 - np.log(ratio))
        total += pip @ (np.log(pip / share[j]) + gaussian) - prior.log_odds[at]
    return total


def dense_joint_objective(problem, alpha, omega, entries, prior, Y):
    """J(α, Ω, B) from its definition; ``problem`` gives X, the penalties, ``Y`` are the outputs."""
    X = problem.X
    n, m = Y.shape
    C = np.eye(n) + (X / alpha) @ X.T
    E = Y - X @ entries.coef().toarray()
    psi = 1e-8 * np.diag(np.diag(Y.T @ Y)) + np.diag(dense_effects(entries, X, C))
    # ν < 0 where hidden inputs took degrees of freedom.
    value = m * np.linalg.slogdet(C)[1] - (n + problem.cov_prior.nu) * np.linalg.slogdet(omega)[1]
    value += np.trace(omega @ (E.T @ np.linalg.solve(C, E) + psi))
    value += n * (problem.penalty * np.abs(omega)).sum()
    return value + 2.0 * dense_divergence(entries, prior)
