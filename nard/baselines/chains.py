"""What the Gibbs samplers share: running a chain in blocks that can be stopped and resumed, and judging its draws.

A sampler is a function ``draw(state, rng, count, keep)``. It makes ``count`` draws, changing the arrays of the dict
``state`` in place, and returns the monitored scalars as an array (count, n_monitors). Where ``keep`` is true the draws
are past the burn-in, and it adds them to the running sums that it keeps in ``state``, too. All randomness comes from
the generator, whose state is saved with the arrays: so a chain that was killed resumes to bit-identical results.
"""

from __future__ import annotations

import json
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from nard.files import write_npz
from nard.progress import SILENT, Watch

__all__ = [
    "Chain",
    "OtherCheckpoint",
    "begun",
    "effective_sample_size",
    "fit_resuming",
    "run_chain",
    "split_rhat",
]

_SAVE_EVERY = 30.0  # seconds
_COUNTS = ("n_burnin", "n_draws", "seconds")
# What reading a file that is cut off or overwritten may raise.
_DAMAGE = (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile, zlib.error)


class OtherCheckpoint(ValueError):
    """A checkpoint that was written for other data or parameters."""


@dataclass
class Chain:
    """A chain as far as it has got: its arrays, generator, number of draws, time spent, and kept monitors."""

    state: dict[str, np.ndarray]
    rng: np.random.Generator
    n_burnin: int = 0
    n_draws: int = 0
    seconds: float = 0.0
    trace: np.ndarray = field(default_factory=lambda: np.empty(0))
    interrupted: bool = False

    def save(self, path: str | Path, fingerprint: str) -> None:
        arrays = {f"state_{name}": value for name, value in self.state.items()}
        counts = {name: getattr(self, name) for name in _COUNTS}
        facts = {"fingerprint": fingerprint, "rng": self.rng.bit_generator.state, **counts}
        trace = {"trace": self.trace} if len(self.trace) else {}
        write_npz(path, facts=np.array(json.dumps(facts)), **trace, **arrays)

    def load(self, path: str | Path, fingerprint: str) -> None:
        """Go on from a file. One that was written for other data or parameters is an error, not a new start.

        One that is damaged is a new start, which a warning tells.
        """
        try:
            with np.load(path) as stored:
                arrays = dict(stored)
            facts = json.loads(str(arrays["facts"]))
            counts = {name: facts[name] for name in _COUNTS}
            state = {name: arrays[f"state_{name}"] for name in self.state}
            whole = all(state[name].shape == value.shape for name, value in self.state.items())
            rng, trace = facts["rng"], arrays.get("trace", self.trace)
        except _DAMAGE:
            whole, facts = False, {}
        if facts.get("fingerprint", fingerprint) != fingerprint:
            raise OtherCheckpoint(f"The checkpoint {path} is of other data or parameters: delete it, or name another.")
        if not whole:
            warnings.warn(f"The checkpoint {path} is damaged: the chain starts anew.", UserWarning, stacklevel=3)
            return
        for name, value in self.state.items():
            value[...] = state[name]
        self.rng.bit_generator.state, self.trace = rng, trace
        for name, count in counts.items():
            setattr(self, name, count)


def run_chain(
    draw: Callable[[dict, np.random.Generator, int, bool], np.ndarray],
    state: dict[str, np.ndarray],
    rng: np.random.Generator,
    n_burnin: int,
    n_draws: int,
    *,
    block: int = 10,
    time_budget: float | None = None,
    checkpoint: str | Path | None = None,
    fingerprint: str = "",
    watch: Watch = SILENT,
) -> Chain:
    """Run a chain, or resume the one in ``checkpoint``, until it is complete, out of time, or asked to stop.

    The burn-in gets its share n_burnin / (n_burnin + n_draws) of the time budget, which counts all the time the chain
    has been run for, and one block of draws is kept in any case: there is something to estimate from, unless the wish
    to stop came within the burn-in. A chain that was stopped goes on as if it had not been.
    ``block`` draws are made between two looks at the clock; ``fingerprint`` says which data and parameters the
    checkpoint is for.
    """
    chain = Chain(state, rng)
    if checkpoint is not None and Path(checkpoint).exists():
        chain.load(checkpoint, fingerprint)
    budget = np.inf if time_budget is None else float(time_budget)
    traces = [chain.trace] if len(chain.trace) else []
    before, started = chain.seconds, (saved := time.monotonic())

    def advance(count: int, keep: bool) -> None:
        nonlocal saved
        monitors = draw(state, rng, count, keep)
        traces.extend([monitors] if keep else [])
        chain.n_draws, chain.n_burnin = chain.n_draws + count * keep, chain.n_burnin + count * (not keep)
        chain.seconds = before + time.monotonic() - started
        watch.tick(f"{chain.n_burnin + chain.n_draws} of {n_burnin + n_draws} draws")
        if checkpoint is not None and time.monotonic() - saved > _SAVE_EVERY:
            chain.trace = np.concatenate(traces) if traces else chain.trace
            chain.save(checkpoint, fingerprint)
            saved = time.monotonic()

    # A chain that was resumed while its draws are kept has left its burn-in, even if that was cut short.
    burnin_budget = budget * n_burnin / (n_burnin + n_draws) if n_burnin else 0.0
    while not chain.n_draws and chain.n_burnin < n_burnin and chain.seconds < burnin_budget and not watch.stopped:
        advance(min(block, n_burnin - chain.n_burnin), False)
    while chain.n_draws < n_draws and not watch.stopped and (not chain.n_draws or chain.seconds < budget):
        advance(min(block, n_draws - chain.n_draws), True)
    chain.trace = np.concatenate(traces) if traces else chain.trace
    if checkpoint is not None:
        chain.save(checkpoint, fingerprint)
    chain.interrupted = watch.stopped and chain.n_draws < n_draws
    if chain.interrupted and chain.n_draws:
        warnings.warn(
            f"The chain was interrupted after {chain.n_draws} of {n_draws} draws: fit again to go on to the end.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return chain


def begun(chains: list[Chain]) -> list[Chain]:
    """The chains with draws to estimate from. If all were stopped before or within their burn-in, so is the fit."""
    found = [chain for chain in chains if chain.n_draws]
    if not found:
        raise KeyboardInterrupt("The chain was interrupted within its burn-in: fit again to go on to the end.")
    return found


def fit_resuming(model, X, Y, checkpoint: str | Path):
    """Fits the model. A sampler keeps ``checkpoint`` while it runs, and goes on from it if an earlier run was killed.

    A checkpoint of other data or parameters is of a run that the user has given up by changing them.
    """
    if "checkpoint" not in model.get_params():
        return model.fit(X, Y)
    model.set_params(checkpoint=checkpoint)
    try:
        model.fit(X, Y)
    except OtherCheckpoint:
        _remove(checkpoint)
        model.fit(X, Y)
    if not model.interrupted_:
        _remove(checkpoint)
    return model


def _remove(checkpoint: str | Path) -> None:
    """Of all chains, which have numbers behind the name if there are several."""
    path = Path(checkpoint)
    for each in path.parent.glob(f"{path.stem}*{path.suffix}"):
        each.unlink(missing_ok=True)


def split_rhat(draws: np.ndarray) -> float:
    """Split R̂ of draws (n_chains, n_draws): √(1 + (B/W − 1)/n), with chains cut in halves of n; NaN if n < 2."""
    halves = _halves(draws)
    n = halves.shape[1]
    if n < 2:
        return np.nan
    within, between = halves.var(axis=1, ddof=1).mean(), n * halves.mean(axis=1).var(ddof=1)
    if within == 0:
        return 1.0 if between == 0 else np.inf
    return float(np.sqrt((n - 1) / n + between / (n * within)))


def effective_sample_size(draws: np.ndarray) -> float:
    """Effective number among draws (n_chains, n_draws), by Geyer's initial monotone sequence on split chains.

    n_eff = N / (1 + 2 Σ_t ρ_t), where the ρ_t of all half chains are combined with R̂'s estimate of the variance, so
    that chains which disagree count for little, and the sum ends where a pair ρ_2t + ρ_2t+1 is no longer positive.
    """
    halves = _halves(draws)
    k, n = halves.shape
    if n < 2:
        return np.nan
    spectrum = np.abs(np.fft.rfft(halves - halves.mean(axis=1, keepdims=True), 2 * n, axis=1)) ** 2
    autocovariance = np.fft.irfft(spectrum, axis=1)[:, :n].mean(axis=0) / n
    total = autocovariance[0] + halves.mean(axis=1).var(ddof=1)
    if total == 0:
        return float(k * n)
    rho = 1 - (autocovariance[0] - autocovariance) / total
    pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    pairs = np.minimum.accumulate(pairs[: negative[0]] if len(negative) else pairs)
    # ρ_0 = 1 is in the first pair; chains better than independent ones are not believed beyond N log N.
    return float(k * n / max(2 * pairs.sum() - 1, 1 / np.log10(max(k * n, 10))))


def _halves(draws: np.ndarray) -> np.ndarray:
    draws = np.atleast_2d(draws)
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])
