"""J along one α_i: its exact minimum, and the statistics S, Q of all inputs kept by rank-one updates.

With C₋ᵢ the matrix C without input i, s_i = x_iᵀC₋ᵢ⁻¹x_i and q_i = YᵀC₋ᵢ⁻¹x_i,

    J(α_i) = m ln(1 + s_i/α_i) − q_iᵀΩq_i/(α_i + s_i) + 2bα_i − 2(a − 1) ln α_i + const.

Under a flat prior the minimum is α_i = m s_i²/η_i where η_i = q_iᵀΩq_i − m s_i > 0, else ∞ (the input is pruned). Under
Gamma(a, b) the stationary points are the positive roots of the cubic
2bα(α+s)² − 2(a−1)(α+s)² − ms(α+s) + q²α, one or three of them; the lower of the (at most two) minima is taken, and
since b > 0 it is never infinite.

S_i = x_iᵀC⁻¹x_i and Q_i = YᵀC⁻¹x_i give s_i = α_iS_i/(α_i − S_i), q_i = α_iQ_i/(α_i − S_i) for active inputs and are
s_i, q_i themselves for the others. When α_j moves, with δ = 1/α_new − 1/α_old, c = XᵀC⁻¹x_j and k = δ/(1 + δS_j):
S −= k c², Q −= k c Q_jᵀ, YᵀC⁻¹Y −= k Q_jQ_jᵀ, ln|C| += ln(1 + δS_j).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.linalg import cho_factor, cho_solve

from nard.algorithms.evidence import Problem, posterior
from nard.covariance import inverse_spd

__all__ = ["Coordinates", "best_alphas", "coordinate_value"]


@njit(cache=True)
def coordinate_value(alpha, s, q2, m, a, b):
    """J(α_i) up to a constant; zero for a pruned input under the flat prior."""
    if alpha == np.inf:
        return 0.0
    value = m * np.log1p(s / alpha) - q2 / (alpha + s)
    if b > 0.0:
        value += 2.0 * b * alpha - 2.0 * (a - 1.0) * np.log(alpha)
    return value


@njit(cache=True)
def _cubic(alpha, s, q2, m, a, b):
    return (2.0 * b * alpha - 2.0 * (a - 1.0)) * (alpha + s) ** 2 - m * s * (alpha + s) + q2 * alpha


@njit(cache=True)
def _root_between(low, high, s, q2, m, a, b):
    """The root of the cubic in (low, high), where it goes from negative to positive: bisection on ln α."""
    low, high = np.log(low), np.log(high)
    for _ in range(200):
        middle = 0.5 * (low + high)
        if _cubic(np.exp(middle), s, q2, m, a, b) < 0.0:
            low = middle
        else:
            high = middle
        if high - low <= 1e-14 * max(1.0, abs(low)):
            break
    return np.exp(0.5 * (low + high))


@njit(cache=True)
def best_alpha(s, q2, m, a, b):
    """The global minimum of J over α_i in (0, ∞]."""
    if b == 0.0:
        eta = q2 - m * s
        return m * s * s / eta if eta > 1e-12 * m * s else np.inf
    # Below `lowest` the cubic is surely negative, above `highest` surely positive.
    lowest = 1e-300
    highest = 1.0
    while _cubic(highest, s, q2, m, a, b) <= 0.0:
        highest *= 4.0
    while highest < (2.0 * abs(a - 1.0) + m) / b:
        highest *= 4.0
    # Turning points of the cubic: 6bα² + (8bs − 4(a−1))α + 2bs² − 4(a−1)s − ms + q² = 0.
    c2, c1 = 6.0 * b, 8.0 * b * s - 4.0 * (a - 1.0)
    c0 = 2.0 * b * s * s - 4.0 * (a - 1.0) * s - m * s + q2
    discriminant = c1 * c1 - 4.0 * c2 * c0
    if discriminant > 0.0:
        # Numerically stable roots of the quadratic.
        h = -0.5 * (c1 + np.sqrt(discriminant)) if c1 > 0 else -0.5 * (c1 - np.sqrt(discriminant))
        r1, r2 = h / c2, (c0 / h if h != 0.0 else 0.0)
        left, right = min(r1, r2), max(r1, r2)
        if left > 0.0 and _cubic(left, s, q2, m, a, b) > 0.0 and _cubic(right, s, q2, m, a, b) < 0.0:
            near = _root_between(lowest, left, s, q2, m, a, b)
            far = _root_between(right, highest, s, q2, m, a, b)
            if coordinate_value(near, s, q2, m, a, b) <= coordinate_value(far, s, q2, m, a, b):
                return near
            return far
    return _root_between(lowest, highest, s, q2, m, a, b)


@njit(cache=True)
def best_alphas(s, q2, m, a, b):
    """:func:`best_alpha` of every input."""
    out = np.empty(len(s))
    for i in range(len(s)):
        out[i] = best_alpha(s[i], q2[i], m, a, b)
    return out


@njit(cache=True)
def _score_moves(alpha, S, Q2, m, a, b, best, gain):
    """Fills in every input's best α and how much J falls if it alone moves there."""
    for i in range(len(alpha)):
        s, q2 = S[i], Q2[i]
        if alpha[i] != np.inf:
            left = alpha[i] - S[i]
            if left <= 0.0:  # lost to rounding; the next refresh restores it
                best[i], gain[i] = alpha[i], 0.0
                continue
            ratio = alpha[i] / left
            s, q2 = s * ratio, q2 * ratio * ratio
        if s <= 0.0:
            best[i], gain[i] = alpha[i], 0.0
            continue
        best[i] = best_alpha(s, q2, m, a, b)
        gain[i] = coordinate_value(alpha[i], s, q2, m, a, b) - coordinate_value(best[i], s, q2, m, a, b)


class Coordinates:
    """S, Q, ln|C| and YᵀC⁻¹Y at the current α, for all inputs, kept up to date as single α_j move.

    Where N ≥ d it holds XᵀC⁻¹X (d×d) and never touches the samples again; where N < d it holds C⁻¹ (N×N).
    """

    def __init__(self, problem: Problem, alpha: np.ndarray, refresh_every: int = 200):
        self.problem = problem
        self.alpha = alpha.copy()
        self.refresh_every = refresh_every
        self.refresh()

    def refresh(self) -> None:
        """Everything anew from a Cholesky factor, against the drift of the rank-one updates."""
        problem, alpha = self.problem, self.alpha
        active = np.flatnonzero(np.isfinite(alpha))
        self._moves = 0
        if problem.gram is not None:
            post = posterior(problem, alpha, "primal")
            self.logdet, self.scatter = post.logdet, post.scatter
            gram = problem.gram
            self._kernel = gram.copy()
            if len(active):
                root = alpha[active] ** -0.5
                scaled = gram[np.ix_(active, active)] * np.outer(root, root)
                factor = cho_factor(np.eye(len(active)) + scaled, lower=True)
                half = root[:, None] * cho_solve(factor, root[:, None] * gram[active])  # Σ X_AᵀX
                self._kernel -= gram[:, active] @ half
                # On the active inputs XᵀC⁻¹X is K − KΣK, and elsewhere in their columns XᵀX_A Σ K: no cancellation.
                sigma_k = root[:, None] * cho_solve(factor, np.diag(1.0 / root))
                cross = gram[:, active] @ sigma_k
                self._kernel[:, active] = cross
                self._kernel[active] = cross.T
                k_sigma_k = (1.0 / root**2)[:, None] * sigma_k
                self._kernel[np.ix_(active, active)] = np.diag(alpha[active]) - 0.5 * (k_sigma_k + k_sigma_k.T)
            self.S = self._kernel.diagonal().copy()
            self.Q = problem.xty - gram[:, active] @ post.mean
            self.Q[active] = alpha[active, None] * post.mean
        else:
            X = problem.X[:, active] * alpha[active] ** -0.5
            C = np.eye(problem.n) + X @ X.T
            self.logdet = float(np.linalg.slogdet(C)[1])
            self._kernel = inverse_spd(C)
            half = self._kernel @ problem.X
            self.S = np.einsum("ij,ij->j", problem.X, half)
            self.Q = half.T @ problem.Y
            scatter = problem.Y.T @ (self._kernel @ problem.Y)
            self.scatter = 0.5 * (scatter + scatter.T)

    def _move(self, j: int, new: float, omega: np.ndarray, Q2: np.ndarray) -> None:
        """α_j ← new; Q2 = q_iᵀΩq_i of every input is updated along with the rest."""
        old, self.alpha[j] = self.alpha[j], new
        delta = 1.0 / new - 1.0 / old
        k = delta / (1.0 + delta * self.S[j])
        if self.problem.gram is not None:
            c = self._kernel[j].copy()
            self._kernel -= np.outer(k * c, c)
        else:
            v = self._kernel @ self.problem.X[:, j]
            c = self.problem.X.T @ v
            self._kernel -= np.outer(k * v, v)
        self.logdet += np.log1p(delta * self.S[j])
        q = self.Q[j].copy()
        Q2 += k * c * (k * c * Q2[j] - 2.0 * (self.Q @ (omega @ q)))
        self.S -= k * c * c
        self.Q -= np.outer(k * c, q)
        self.scatter -= np.outer(k * q, q)
        self._moves += 1

    @property
    def used(self) -> float:
        """Σ γ_i = Σ S_i/α_i = N − Tr C⁻¹: the degrees of freedom per output that the active inputs use."""
        active = np.isfinite(self.alpha)
        return float((self.S[active] / self.alpha[active]).sum())

    def sweep(self, omega: np.ndarray, min_gain: float, max_moves: int, order=None, most_used=np.inf) -> int:
        """Moves α_j to their minima, one at a time, given Ω. Returns the number of moves.

        Greedy (``order`` None): the input that lowers J most goes next, until none lowers it by ``min_gain``.
        Otherwise ``order`` is a sequence of inputs, each visited once. Once the inputs use ``most_used`` degrees of
        freedom, no α may fall.
        """
        Q2 = self._quadratic(omega)
        moves = 0
        for visited in range(max_moves) if order is None else order:
            looked_at = slice(None) if order is None else slice(visited, visited + 1)
            best, gain = self._score(Q2, looked_at)
            if self.used >= most_used:
                gain[best < self.alpha[looked_at]] = 0.0
            k = int(np.argmax(gain))
            if gain[k] <= min_gain:
                if order is None:
                    break
                continue
            self._move(k if order is None else visited, best[k], omega, Q2)
            moves += 1
            if self._moves >= self.refresh_every:
                self.refresh()
                Q2 = self._quadratic(omega)
        return moves

    def gains(self, omega: np.ndarray) -> np.ndarray:
        """The fall of J if each input alone moved to its best α; zero for those that may not enter."""
        return self._score(self._quadratic(omega), slice(None))[1]

    def _quadratic(self, omega):
        """Q_iᵀΩQ_i of every input."""
        return np.einsum("ij,ij->i", self.Q @ omega, self.Q)

    def _score(self, Q2, looked_at):
        """Best α and the fall of J there, of the inputs looked at."""
        alpha, S, Q2, prior = self.alpha[looked_at], self.S[looked_at], Q2[looked_at], self.problem.alpha_prior
        best, gain = np.empty(len(alpha)), np.empty(len(alpha))
        _score_moves(alpha, S, Q2, self.problem.m, prior.a, prior.b, best, gain)
        if self.problem.entry_threshold:
            gain[np.isinf(alpha) & (self.problem.entry_threshold * S > Q2)] = 0.0
        return best, gain

    def leave_one_out(self) -> tuple[np.ndarray, np.ndarray]:
        """s_i and q_i (d×m) of every input."""
        active = np.isfinite(self.alpha)
        ratio = np.ones(len(self.alpha))
        ratio[active] = self.alpha[active] / (self.alpha[active] - self.S[active])
        return self.S * ratio, self.Q * ratio[:, None]
