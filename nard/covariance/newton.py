"""Projected Newton ascent on the graphical lasso's dual, for the problems where columns go too slowly.

    max over W ≻ 0 of ln|W|   s.t. |W_ij − S_ij| ≤ L_ij, W_ii = S_ii.

With G = W⁻¹ the gradient in W_ij is G_ij and the Hessian −G ⊗ G. Entries at a bound that the gradient presses against
are held there; on the others, which are the zeros of Ω, the Newton step D solves (GDG)_ij = G_ij. Newton's method does
not mind ill-conditioned S, of which coordinate methods suffer.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from nard.covariance.gaussian import inverse_spd, log_determinant

__all__ = ["newton_ascent"]

# An entry within this fraction of its penalty of a bound counts as being there.
_NEAR = 1e-3
# Where conjugate gradients are too slow, a system of up to this many unknowns is solved by a Cholesky factor.
_MOST_DENSE = 2000
_CG_TOL = 0.1
_CG_STEPS = 30
_SHORTEST_STEP = 1e-10
_ARMIJO = 1e-4


def _dense_direction(G, free):
    i, j = np.nonzero(np.triu(free, 1))
    hessian = G[np.ix_(i, i)] * G[np.ix_(j, j)] + G[np.ix_(i, j)] * G[np.ix_(j, i)]
    D = np.zeros_like(G)
    D[i, j] = D[j, i] = cho_solve(cho_factor(hessian, overwrite_a=True), G[i, j])
    return D


def _iterative_direction(G, W, free):
    """Conjugate gradients, preconditioned with W ⊗ W: the inverse of the Hessian if every entry were free.

    Returns the direction and whether it is good enough.
    """
    residual, D = np.where(free, G, 0.0), np.zeros_like(G)
    conditioned = np.where(free, W @ residual @ W, 0.0)
    direction, size = conditioned, np.vdot(residual, conditioned)
    if size == 0.0:
        return D, True
    target = _CG_TOL**2 * size
    for _ in range(_CG_STEPS):
        product = np.where(free, G @ direction @ G, 0.0)
        step = size / np.vdot(direction, product)
        D += step * direction
        residual -= step * product
        conditioned = np.where(free, W @ residual @ W, 0.0)
        new_size = np.vdot(residual, conditioned)
        if new_size <= target:
            return D, True
        direction = conditioned + (new_size / size) * direction
        size = new_size
    return D, False


def _direction(G, W, free, exact):
    n_free = np.count_nonzero(free) // 2
    if n_free == 0:
        return np.zeros_like(G)
    good = False
    if not (exact and n_free <= _MOST_DENSE):
        D, good = _iterative_direction(G, W, free)
    if not good and n_free <= _MOST_DENSE:
        try:
            return _dense_direction(G, free)
        except LinAlgError:  # singular to rounding
            D, _ = _iterative_direction(G, W, free)
    return D


def newton_ascent(S, L, W, judge, max_steps):
    """Ascends from W, which must be feasible; ``judge(Ω, W, ln|W|)`` says whether to stop. Returns the steps taken."""
    lower, upper = S - L, S + L
    off_diagonal = ~np.eye(len(S), dtype=bool)
    value, exact = log_determinant(W), False
    for step in range(max_steps):
        G = inverse_spd(W)
        held = ((upper - _NEAR * L <= W) & (G > 0)) | ((lower + _NEAR * L >= W) & (G < 0))
        free = off_diagonal & ~held & (L > 0)
        if judge(np.where(free, 0.0, G), W, value):
            return step
        # Rounding must not make W asymmetric: its two halves would drift apart.
        D = _direction(G, W, free, exact)
        D = 0.5 * (D + D.T)
        # What is held near a bound goes all the way.
        D[held] = np.where(G > 0, upper, lower)[held] - W[held]
        length = 1.0
        while length > _SHORTEST_STEP:
            trial = np.clip(W + length * D, lower, upper)
            trial_value = log_determinant(trial)
            if trial_value > value + _ARMIJO * np.vdot(G, trial - W):
                W, value = trial, trial_value
                break
            length *= 0.5
        else:
            if exact:
                return step  # nothing more to gain in floating point
            exact = True
    return max_steps
