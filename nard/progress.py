"""What a long fit tells a person at a terminal, and how it is asked to stop."""

from __future__ import annotations

import signal
import threading
from typing import Any

import numpy as np
from tqdm import tqdm

__all__ = ["SILENT", "Watch"]

# Fits that take less than this many seconds show nothing.
_DELAY = 3.0
# The line is written anew at most this often, in seconds.
_INTERVAL = 0.2


class Watch:
    """A line with J, active inputs and edges, and the wish to stop.

    As a context manager it shows the line on standard error, if that is a terminal, and turns the first Ctrl-C into
    ``stopped``, which the algorithms look at between two steps; the second one interrupts as usual. ``verbose`` prints
    every step instead. Otherwise, and outside of the context, it does nothing.
    """

    def __init__(self, verbose: bool = False):
        self.stopped = False
        self._verbose = verbose
        self._line: Any = None
        self._handler: Any = None

    def __enter__(self) -> Watch:
        # None: off where standard error is no terminal.
        disable = True if self._verbose else None
        self._line = tqdm(
            disable=disable,
            delay=_DELAY,
            mininterval=_INTERVAL,
            miniters=1,
            bar_format="{desc}  {elapsed}{postfix}",
            leave=False,
        )
        # Only the main thread may handle signals, and a handler that is not Python's own is somebody else's.
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        ):
            self._handler = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
            self._handler = None
        self._line.close()
        self._line = None

    def _interrupt(self, *_) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True

    def stage(self, name: str) -> None:
        """What is being done now."""
        if self._line is not None:
            self._line.set_description_str(name, refresh=False)
            self._line.set_postfix_str("", refresh=False)
            self._line.update()

    def tick(self, text: str) -> None:
        """A sign of life within a step."""
        if self._line is not None:
            self._line.set_postfix_str(text, refresh=False)
            self._line.update()

    def step(self, value: float, alpha: np.ndarray, omega: np.ndarray) -> None:
        """An outer step has ended at J = ``value``."""
        if self._line is None or (self._line.disable and not self._verbose):
            return
        edges = (np.count_nonzero(omega) - len(omega)) // 2
        text = f"J = {value:.6g}   active inputs {np.isfinite(alpha).sum()}   edges {edges}"
        self.tick(text)
        if self._verbose:
            print(text, flush=True)

    def lam(self, row: dict) -> None:
        """A value of λ has been scored."""
        text = f"λ = {row['lam']:.4g}   score {row['score']:.6g}   edges {row['n_edges']:.0f}"
        self.tick(text)
        if self._verbose:
            print(text, flush=True)


SILENT = Watch()
