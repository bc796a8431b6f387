"""Chains that are stopped, killed or whose files are damaged end as if nothing had happened."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from nard.baselines.chains import fit_resuming
from nard.baselines.hsghs import HSGHS
from nard.baselines.jrns import JRNS
from nard.fits.results import _diagnostics
from nard.progress import Watch
from nard.simulate import make_regression

SAMPLERS = {
    "hsghs": lambda: HSGHS(25, 32, random_state=3),
    "hsghs, two chains": lambda: HSGHS(25, 32, n_chains=2, random_state=3),
    "jrns": lambda: JRNS(25, 32, random_state=3),
    "jrns, two chains": lambda: JRNS(25, 32, n_chains=2, random_state=3),
    "jrns, stepwise": lambda: JRNS(25, 32, variant="stepwise", random_state=3),
}


@pytest.fixture(scope="module")
def data():
    return make_regression(60, 6, 4, random_state=0)


def stop_after(patch, blocks):
    """Ctrl-C comes after so many blocks of draws."""
    left = iter(range(blocks - 1))

    def tick(self, text):
        self.stopped = next(left, None) is None

    patch.setattr(Watch, "tick", tick)


@pytest.mark.parametrize("blocks", [1, 2, 4])
@pytest.mark.parametrize("name", SAMPLERS)
def test_a_chain_that_is_stopped_again_and_again_ends_the_same(data, tmp_path, monkeypatch, name, blocks):
    path, make = tmp_path / "chain.npz", SAMPLERS[name]
    whole, within_burnin, stops = make().fit(data.X, data.Y), 0, 0
    while True:
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            stop_after(patch, blocks)
            try:
                resumed = fit_resuming(make(), data.X, data.Y, path)
            except KeyboardInterrupt:
                within_burnin += 1
                continue
            stops += resumed.interrupted_
            if not resumed.interrupted_:
                break
            assert resumed.n_draws_ <= whole.n_draws_
    assert within_burnin > 0 or blocks > 3
    assert stops > 0
    for attribute in ("coef_", "precision_"):
        assert getattr(resumed, attribute).tobytes() == getattr(whole, attribute).tobytes()
    assert resumed.rhat_ == whole.rhat_
    assert _diagnostics(resumed) == _diagnostics(whole)
    assert not list(tmp_path.iterdir())


def test_an_interrupted_fit_tells_its_draws_as_they_were(data, tmp_path, monkeypatch):
    stop_after(monkeypatch, 5)
    with pytest.warns(ConvergenceWarning, match="after 20 of 32 draws: fit again"):
        found = fit_resuming(HSGHS(25, 32, random_state=3), data.X, data.Y, tmp_path / "chain.npz")
    told = _diagnostics(found)
    assert (told["n_burnin"], told["n_draws"]) == (25, 20)


def cut_off(content):
    return content[: len(content) // 2]


def overwritten(content):
    middle = len(content) // 2
    return content[:middle] + bytes(64) + content[middle + 64 :]


@pytest.mark.parametrize("damage", [cut_off, overwritten, lambda content: b"", lambda content: b"no archive"])
@pytest.mark.parametrize("name", ["hsghs", "jrns"])
def test_a_damaged_checkpoint_is_discarded_with_a_word(data, tmp_path, monkeypatch, name, damage):
    path, make = tmp_path / "chain.npz", SAMPLERS[name]
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        with pytest.raises(KeyboardInterrupt, match="within its burn-in: fit again"):
            fit_resuming(make(), data.X, data.Y, path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(UserWarning, match="chain.npz is damaged: the chain starts anew"):
        found = fit_resuming(make(), data.X, data.Y, path)
    np.testing.assert_array_equal(found.coef_, make().fit(data.X, data.Y).coef_)
    assert not path.exists()
