"""What speaks against a fit: codes with numbers where there is something to say, words that say what to do."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from networks import CAUTION

from nard.estimator import findings
from nard.fits.trust import caution_text, cautions, unmixed


def table_with(*degrees):
    return pd.DataFrame({"degrees": degrees}, dtype=float)


def path(chosen, *lams):
    table = pd.DataFrame({"lam": lams, "score": 0.0})
    return SimpleNamespace(lam_path_=table.assign(chosen=table["lam"] == chosen))


SOUND = table_with(30, 40)


def test_a_sound_fit_has_none():
    notes = [{"code": "winsorised", "side": "inputs", "count": 3, "share": 0.001}, {"code": "logarithms"}]
    model = path(0.2, 0.4, 0.2, 0.1)
    assert cautions(model, {"converged": True, "rhat": 1.01, "ess": 800.0}, (SOUND, SOUND), notes) == []
    # One λ is no choice, and a baseline has neither λ nor degrees of freedom.
    assert cautions(path(0.2, 0.2), {}, (table_with(np.nan), table_with()), []) == []
    assert cautions(SimpleNamespace(lam_path_=None), {}, (SOUND,), []) == []


@pytest.mark.parametrize(("lam", "end", "words"), [(0.4, "largest", "without a network"), (0.1, "smallest", "smaller")])
def test_lam_at_the_end_of_what_was_tried(lam, end, words):
    [caution] = cautions(path(lam, 0.4, 0.2, 0.1), {}, (SOUND,), [])
    assert caution == {"code": "lam at end of grid", "lam": lam, "end": end}
    assert f"λ = {lam} is the {end} that was tried" in caution_text(caution)
    assert words in caution_text(caution)


def test_few_degrees_and_many_clipped_values():
    notes = [{"code": "winsorised", "side": "outputs", "count": 300, "share": 0.031}]
    model = SimpleNamespace(cautions_=[CAUTION])
    own, few, clipped = cautions(model, {}, (SOUND, table_with(7.5, np.nan)), notes)
    assert caution_text(own) == findings.caution_text(CAUTION)
    assert few == {"code": "few degrees", "degrees": 7.5}
    assert "as few as 7.5 degrees of freedom" in caution_text(few)
    assert clipped == {"code": "clipped values", "side": "outputs", "share": 0.031}
    assert "Of the values of the outputs 3.1% were pulled in" in caution_text(clipped)


@pytest.mark.parametrize(
    ("rhat", "ess", "words"),
    [
        (1.88, 1.4, "R̂ = 1.88, above 1.1 and an effective sample of 1.4"),
        (None, None, "(no R̂ that is a number)"),
    ],
)
def test_chains_that_have_not_mixed(rhat, ess, words):
    diagnostics = {"n_draws": 100, "rhat": rhat, "ess": ess}
    assert unmixed(diagnostics)
    [caution] = cautions(SimpleNamespace(), diagnostics, (SOUND,), [])
    assert caution == {"code": "R-hat", "rhat": rhat, "ess": ess}
    assert words in caution_text(caution)


def test_what_is_no_sampler_has_no_chains():
    assert not unmixed({"converged": False})
    assert not unmixed({"rhat": 1.1})
