"""Progress lines and Ctrl-C: a fit returns what it has, and leaves the signal handler as it was."""

import io
import signal
import threading

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from nard import NARD
from nard.algorithms import VARIANTS
from nard.progress import Watch
from nard.simulate import make_regression


@pytest.fixture
def data():
    return make_regression(80, 30, 10, random_state=0)


def interrupt_at(monkeypatch, method, times=1):
    """Presses Ctrl-C ``times`` times when a method of Watch is called first."""
    original, left = getattr(Watch, method), [times]

    def press(self, *args):
        original(self, *args)
        while left[0] > 0:
            left[0] -= 1
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Watch, method, press)


@pytest.mark.parametrize("name", VARIANTS)
def test_first_interrupt_returns_what_there_is(name, data, monkeypatch):
    interrupt_at(monkeypatch, "step")
    before = signal.getsignal(signal.SIGINT)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = NARD(method=name, lam=0.1).fit(data.X, data.Y)
    assert signal.getsignal(signal.SIGINT) is before
    assert not model.converged_
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.objective_).all()
    assert (np.diff(model.objective_) <= 1e-8 * np.abs(model.objective_[:-1])).all()
    assert model.relevance().selected.any()


def test_interrupt_on_the_path_keeps_the_best_lam_so_far(data, monkeypatch):
    interrupt_at(monkeypatch, "lam")
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = NARD().fit(data.X, data.Y)
    assert len(model.lam_path_) == 1
    assert model.lam_ == model.lam_path_["lam"][0]


def test_interrupt_before_there_is_anything_is_an_interrupt(data, monkeypatch):
    interrupt_at(monkeypatch, "stage")
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        NARD().fit(data.X, data.Y)
    assert signal.getsignal(signal.SIGINT) is before


def test_second_interrupt_ends_at_once(data, monkeypatch):
    interrupt_at(monkeypatch, "step", times=2)
    with pytest.raises(KeyboardInterrupt):
        NARD(lam=0.1).fit(data.X, data.Y)


def test_fits_in_a_thread_leave_signals_alone(data):
    fitted = []
    thread = threading.Thread(target=lambda: fitted.append(NARD(lam=0.1).fit(data.X, data.Y)))
    thread.start()
    thread.join()
    assert fitted[0].converged_


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "shown"), [(Terminal, True), (io.StringIO, False)])
def test_progress_shows_on_a_terminal_only(stream, shown, data, monkeypatch):
    written = stream()
    monkeypatch.setattr("sys.stderr", written)
    monkeypatch.setattr("nard.progress._DELAY", 0)
    monkeypatch.setattr("nard.progress._INTERVAL", 0)
    NARD(lam=0.1).fit(data.X, data.Y)
    assert ("J = " in written.getvalue()) == shown
    assert ("active inputs" in written.getvalue()) == shown


def test_verbose_prints_every_step(data, capsys):
    model = NARD(lam=0.1, relevance="inputs", hidden=0, verbose=True).fit(data.X, data.Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= model.n_iter_
    assert all("edges" in line for line in lines)
