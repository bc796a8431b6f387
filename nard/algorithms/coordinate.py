"""J along one α_i: its exact minimum, and the statistics S, Q of all inputs kept by rank-one updates.

With C₋ᵢ the matrix C without input i, s_i = x_iᵀC₋ᵢ⁻¹x_i and q_i = YᵀC₋ᵢ⁻¹x_i,

    J(α_i) = m ln(1 + s_i/α_i) − q_iᵀΩq_i/(α_i + s_i) + 2bα_i − 2(a − 1) ln α_i + const.

Under a flat prior the minimum is α_i = m s_i²/η_i where η_i = q_iᵀΩq_i − m s_i > 0, else ∞ (the input is pruned). Under
Gamma(a, b) the stationary points are the positive roots of the cubic
2bα(α+s)² − 2(a−1)(α+s)² − ms(α+s) + q²α, one or three of them; the lower of the (at most two) minima is taken, and
since b > 0 it is never infinite.

S_i = x_iᵀC⁻¹x_i and Q_i = YᵀC⁻¹x_i give s_i = α_iS_i/(α_i − S_i), q_i = α_iQ_i/(α_i − S_i) for active inputs and are
s_i, q_i themselves for the others. Several inputs B that hardly overlap move at once, so that the work is done by
matrix products: with δ = 1/α_new − 1/α_old, M = X_BᵀC⁻¹X_B, K = (diag(δ)⁻¹ + M)⁻¹ and P = XᵀC⁻¹X_B,

    C⁻¹ −= C⁻¹X_B K X_BᵀC⁻¹,  S_i −= P_iKP_iᵀ,  Q −= P K Q_B,  YᵀC⁻¹Y −= Q_BᵀKQ_B,  ln|C| += ln|I + diag(δ)M|,

which also tells exactly how much J falls; a block that falls short of what its inputs promise one by one is halved.
"""

from __future__ import annotations

import numpy as np

from nard.algorithms.evidence import Problem, State
from nard.compiled import njit
from nard.covariance import inverse_and_logdet, solve_spd
from nard.progress import SILENT, Watch

__all__ = ["Coordinates", "best_alphas", "coordinate_value", "coordinates_at"]

# Inputs that move at once: at most so many, and at most this fraction of the samples.
_LARGEST_BLOCK = 64
_BLOCK_FRACTION = 1 / 16
# Of an input's squared length, the part that the inputs before it in a block may explain.
_OVERLAP = 0.1
# Candidates for a block lower J by at least this fraction of what the best one does.
_WORTH = 0.01
# A block must lower J by this fraction of the sum of its inputs' own falls.
_KEPT_PROMISE = 0.7
# Where less than this fraction of an output is left unexplained, rounding errors of the updates count.
_LITTLE_LEFT = 1e-4
# Inputs are worked on in chunks of this many, so that nothing N×d or d×m is formed where N < d.
_CHUNK = 1024


@njit(cache=True, nogil=True)
def coordinate_value(alpha, s, q2, m, a, b):
    """J(α_i) up to a constant; zero for a pruned input under the flat prior."""
    if alpha == np.inf:
        return 0.0
    value = m * np.log1p(s / alpha) - q2 / (alpha + s)
    if b > 0.0:
        value += 2.0 * b * alpha - 2.0 * (a - 1.0) * np.log(alpha)
    return value


@njit(cache=True, nogil=True)
def _cubic(alpha, s, q2, m, a, b):
    return (2.0 * b * alpha - 2.0 * (a - 1.0)) * (alpha + s) ** 2 - m * s * (alpha + s) + q2 * alpha


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def best_alphas(s, q2, m, a, b):
    """:func:`best_alpha` of every input."""
    out = np.empty(len(s))
    for i in range(len(s)):
        out[i] = best_alpha(s[i], q2[i], m, a, b)
    return out


@njit(cache=True, nogil=True)
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


class _ByInputs:
    """XᵀC⁻¹X (d×d) and Q (d×m), where N ≥ d: after XᵀX and XᵀY the samples are never touched again."""

    def __init__(self, problem: Problem, alpha: np.ndarray, active: np.ndarray):
        gram = problem.gram
        assert gram is not None
        root = alpha[active] ** -0.5
        units = np.outer(root, root)
        inner = np.eye(len(active)) + gram[np.ix_(active, active)] * units
        inverse, self.logdet = inverse_and_logdet(inner)
        sigma = inverse * units
        cross = gram[:, active] @ sigma  # XᵀX_A Σ
        self._kernel = gram - cross @ gram[active]
        # On the active inputs XᵀC⁻¹X is K − KΣK, and elsewhere in their columns XᵀX_A Σ K: no cancellation.
        cross *= alpha[active]
        self._kernel[:, active] = cross
        self._kernel[active] = cross.T
        self._kernel[np.ix_(active, active)] = np.diag(alpha[active]) - sigma * np.outer(alpha[active], alpha[active])
        mean = root[:, None] * solve_spd(inner, inverse, root[:, None] * problem.xty(active))
        self._Q = problem.xty() - gram[:, active] @ mean
        self._Q[active] = alpha[active, None] * mean
        if not problem.d:
            self.scatter = problem.yty  # nothing can move
            return
        scatter = problem.yty - problem.xty(active).T @ mean
        self.scatter = 0.5 * (scatter + scatter.T)

    def squares(self) -> np.ndarray:
        return self._kernel.diagonal().copy()

    def quadratic(self, omega):
        return np.einsum("ij,ij->i", self._Q @ omega, self._Q)

    def rows(self, index):
        """Q of some inputs."""
        return self._Q[index]

    def directions(self, index):
        """What `overlap`, `products` and `move` need of some inputs."""
        return self._kernel[:, index]

    def overlap(self, directions, index):
        return directions[index]

    def products(self, directions, right):
        """P = XᵀC⁻¹X_B of the inputs B, and Q @ right."""
        return directions, self._Q @ right

    def move(self, directions, K, KQ):
        self._kernel -= (directions @ K) @ directions.T
        self._Q -= directions @ KQ


class _BySamples:
    """C⁻¹ (N×N) and C⁻¹Y (N×m), where N < d: neither d×d nor d×m is ever formed."""

    def __init__(self, problem: Problem, alpha: np.ndarray, active: np.ndarray):
        self._X, n = problem.X, problem.n
        # On the active inputs S_i = α_i(1 − α_iΣ_ii), without cancellation, if Σ is known.
        self._active, self._active_squares = active, None
        self._small = None
        if len(active) <= n:
            # C⁻¹ = I − X_A Σ X_Aᵀ, from the smaller matrix.
            X = problem.X[:, active] * alpha[active] ** -0.5
            inverse, self.logdet = inverse_and_logdet(np.eye(len(active)) + X.T @ X)
            self._inverse = np.eye(n) - (X @ inverse) @ X.T
            self._active_squares = alpha[active] * (1.0 - np.diag(inverse))
            if len(active) <= n // 2:
                self._small = X, inverse
        else:
            C = np.eye(n)
            for at in range(0, len(active), _CHUNK):
                some = active[at : at + _CHUNK]
                X = problem.X[:, some] * alpha[some] ** -0.5
                C += X @ X.T
            self._inverse, self.logdet = inverse_and_logdet(C)
        self._Z = self._inverse @ problem.Y
        scatter = problem.Y.T @ self._Z
        self.scatter = 0.5 * (scatter + scatter.T)

    def _forms(self, A):
        """x_iᵀAx_i of every input."""
        out = np.empty(self._X.shape[1])
        for at in range(0, len(out), _CHUNK):
            some = self._X[:, at : at + _CHUNK]
            out[at : at + _CHUNK] = np.einsum("ij,ij->j", some, A @ some)
        return out

    def squares(self) -> np.ndarray:
        if self._small is None:
            out = self._forms(self._inverse)
        else:
            # With few active inputs it is cheaper to subtract what they explain.
            X, inverse = self._small
            out = np.empty(self._X.shape[1])
            for at in range(0, len(out), _CHUNK):
                some = self._X[:, at : at + _CHUNK]
                cross = X.T @ some
                out[at : at + _CHUNK] = np.einsum("ij,ij->j", some, some)
                out[at : at + _CHUNK] -= np.einsum("ij,ij->j", cross, inverse @ cross)
        if self._active_squares is not None:
            out[self._active] = self._active_squares
        return out

    def quadratic(self, omega):
        n, m = self._Z.shape
        if m * (n + m) >= n * n:
            diagonal = np.diag(omega)
            weighted = self._Z * diagonal if np.count_nonzero(omega) == m else self._Z @ omega
            return self._forms(weighted @ self._Z.T)
        out = np.empty(self._X.shape[1])
        for at in range(0, len(out), _CHUNK):
            Q = self._X[:, at : at + _CHUNK].T @ self._Z
            out[at : at + _CHUNK] = np.einsum("ij,ij->i", Q @ omega, Q)
        return out

    def rows(self, index):
        return self._X[:, index].T @ self._Z

    def directions(self, index):
        return self._inverse @ self._X[:, index]

    def overlap(self, directions, index):
        return self._X[:, index].T @ directions

    def products(self, directions, right):
        # At once, since reading X is what takes time.
        both = self._X.T @ np.hstack([directions, self._Z @ right])
        return both[:, : directions.shape[1]], both[:, directions.shape[1] :]

    def move(self, directions, K, KQ):
        self._inverse -= (directions @ K) @ directions.T
        self._Z -= directions @ KQ


class Coordinates:
    """S, ln|C| and YᵀC⁻¹Y at the current α, and Q on demand, kept up to date as blocks of α_j move."""

    def __init__(self, problem: Problem, alpha: np.ndarray, refresh_every: int = 100):
        self.problem = problem
        self.alpha = alpha.copy()
        self.refresh_every = refresh_every
        # Whether a sweep met its limit on the degrees of freedom.
        self.capped = False
        self.refresh()

    def refresh(self) -> None:
        """Everything anew from a Cholesky factor, against the drift of the updates."""
        active = np.flatnonzero(np.isfinite(self.alpha))
        form = _ByInputs if self.problem.gram is not None else _BySamples
        self._form = form(self.problem, self.alpha, active)
        self.logdet, self.scatter = self._form.logdet, self._form.scatter
        self.S = self._form.squares()
        self._blocks = 0

    def renew(self) -> None:
        """:meth:`refresh`, unless nothing has moved since the last."""
        if self._blocks:
            self.refresh()

    def Q(self, index=slice(None)) -> np.ndarray:
        """Q_i = YᵀC⁻¹x_i of some inputs, one row each."""
        return self._form.rows(index)

    def quadratic(self, omega: np.ndarray) -> np.ndarray:
        """Q_iᵀΩQ_i of every input."""
        return self._form.quadratic(omega)

    def mean(self) -> tuple[np.ndarray, np.ndarray]:
        """The active inputs and their posterior means μ_i = Q_i/α_i."""
        active = np.flatnonzero(np.isfinite(self.alpha))
        return active, self.Q(active) / self.alpha[active, None]

    @property
    def used(self) -> float:
        """Σ γ_i = Σ S_i/α_i = N − Tr C⁻¹: the degrees of freedom per output that the active inputs use."""
        active = np.isfinite(self.alpha)
        return float((self.S[active] / self.alpha[active]).sum())

    def sweep(
        self, omega: np.ndarray, min_gain: float, max_moves: int, order=None, most_used=np.inf, watch: Watch = SILENT
    ) -> int:
        """Moves α_j to their minima given Ω. Returns the number of moves.

        Greedy (``order`` None): the inputs that lower J most go next, in blocks, until none lowers it by ``min_gain``.
        Otherwise ``order`` is a sequence of inputs, each visited once. Once the inputs use ``most_used`` degrees of
        freedom, no α may fall.
        """
        Q2 = self._form.quadratic(omega)
        moves = 0
        size = 1
        largest = max(1, min(_LARGEST_BLOCK, int(_BLOCK_FRACTION * self.problem.n)))
        visits = None if order is None else iter(order)
        while moves < max_moves and not watch.stopped:
            watch.tick(f"{np.isfinite(self.alpha).sum()} active inputs")
            if visits is None:
                looked_at = slice(None)
            else:
                j = next(visits, None)
                if j is None:
                    break
                looked_at = slice(j, j + 1)
            best, gain = self._score(Q2, looked_at)
            if self.used >= most_used:
                self.capped = True
                gain[best < self.alpha[looked_at]] = 0.0
            if visits is None:
                size = min(2 * size, largest, max_moves - moves)
                candidates = _largest(gain, max(min_gain, _WORTH * gain.max(initial=0.0)), 2 * size)
                if not len(candidates):
                    break
                size = self._move(candidates, best[candidates], gain[candidates], size, omega, Q2)
                moves += size
                if size == 0 and self._blocks == 0:
                    break  # J is as low as floating point can tell
            elif gain[0] > min_gain:
                size = self._move(np.array([j]), best, gain, 1, omega, Q2)
                moves += size
            if self._blocks >= self.refresh_every or (size == 0 and self._blocks):
                self.refresh()
                Q2 = self._form.quadratic(omega)
            size = max(1, size)
        if (np.diag(self.scatter) < _LITTLE_LEFT * np.diag(self.problem.yty)).any():
            self.renew()
        return moves

    def _move(self, candidates, new, gain, size, omega, Q2) -> int:
        """Moves up to ``size`` of the candidates, the first among them, to ``new``; Q2 = q_iᵀΩq_i follows.

        Returns how many moved: none if J would not fall, which drift of the statistics may promise wrongly.
        """
        directions = self._form.directions(candidates)
        overlap = self._form.overlap(directions, candidates)
        chosen = _hardly_overlapping(overlap, self.S[candidates], size, _OVERLAP)
        index, new, gain = candidates[chosen], new[chosen], gain[chosen]
        Q = self._form.rows(index)
        weighted = Q @ omega
        M, H = overlap[np.ix_(chosen, chosen)], weighted @ Q.T
        delta = 1.0 / new - 1.0 / self.alpha[index]
        prior = self.problem.alpha_prior
        b = len(index)
        while True:
            eye = np.eye(b)
            inner = eye + delta[:b, None] * M[:b, :b]
            sign, logdet = np.linalg.slogdet(inner)
            K = np.linalg.solve(inner, np.diag(delta[:b]))
            fall = np.vdot(K, H[:b, :b]) - self.problem.m * logdet
            fall += prior.penalty(self.alpha[index[:b]]) - prior.penalty(new[:b])
            if sign > 0 and fall >= _KEPT_PROMISE * gain[:b].sum():
                break
            if b == 1:
                if sign > 0 and fall > 0:
                    break
                return 0
            b //= 2
        K = 0.5 * (K + K.T)
        index, Q, directions = index[:b], Q[:b], directions[:, chosen[:b]]
        KQ, weighted = K @ Q, K @ weighted[:b]  # KQ_B and KQ_BΩ
        P, cross = self._form.products(directions, weighted.T)
        PK = P @ K
        # (Q_i − P_iKQ_B)Ω(…)ᵀ, expanded.
        Q2 += np.einsum("ij,ij->i", P @ (weighted @ KQ.T) - 2.0 * cross, P)
        self.S -= np.einsum("ij,ij->i", PK, P)
        explained = Q.T @ KQ
        self.scatter -= 0.5 * (explained + explained.T)
        self.logdet += logdet
        self._form.move(directions, K, KQ)
        self.alpha[index] = new[:b]
        self._blocks += 1
        return b

    def gains(self, omega: np.ndarray) -> np.ndarray:
        """The fall of J if each input alone moved to its best α; zero for those that may not enter."""
        return self._score(self._form.quadratic(omega), slice(None))[1]

    def _score(self, Q2, looked_at):
        """Best α and the fall of J there, of the inputs looked at."""
        alpha, S, Q2, prior = self.alpha[looked_at], self.S[looked_at], Q2[looked_at], self.problem.alpha_prior
        best, gain = np.empty(len(alpha)), np.empty(len(alpha))
        _score_moves(alpha, S, Q2, self.problem.m, prior.a, prior.b, best, gain)
        if self.problem.entry_threshold:
            least = np.multiply(self.problem.entry_threshold, S, out=np.zeros_like(S), where=S > 0)
            gain[np.isinf(alpha) & (least > Q2)] = 0.0
        return best, gain

    def leave_one_out(self) -> tuple[np.ndarray, np.ndarray]:
        """s_i of every input, and the factor from Q_i to q_i."""
        active = np.isfinite(self.alpha)
        ratio = np.ones(len(self.alpha))
        ratio[active] = self.alpha[active] / (self.alpha[active] - self.S[active])
        return self.S * ratio, ratio


def coordinates_at(problem: Problem, state: State) -> Coordinates:
    """The statistics at a state: those that it carries, unless they have moved on since, or new ones."""
    known = state.coordinates
    if known is not None and known.problem.data is problem.data and np.array_equal(known.alpha, state.alpha):
        known.problem = problem
        return known
    return Coordinates(problem, state.alpha)


def _largest(gain, above, count):
    """The inputs with the largest gains, at most ``count`` and all above the given one, in falling order."""
    index = np.flatnonzero(gain > above)
    if len(index) > count:
        index = index[np.argpartition(gain[index], -count)[-count:]]
    return index[np.argsort(-gain[index], kind="stable")]


@njit(cache=True, nogil=True)
def _hardly_overlapping(M, S, size, most):
    """Positions of up to ``size`` inputs, in order, each overlapping with the ones before by at most ``most``."""
    chosen = np.empty(len(S), dtype=np.int64)
    count = 0
    for i in range(len(S)):
        if count == size:
            break
        overlap = 0.0
        for k in range(count):
            j = chosen[k]
            overlap += M[i, j] * M[i, j] / (S[i] * S[j])
        if overlap <= most:
            chosen[count] = i
            count += 1
    return chosen[:count]
