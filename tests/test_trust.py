"""What speaks against a fit: codes with numbers where there is something to say, words that say what to do."""

import numpy as np
import pandas as pd
import pytest
from networks import CAUTION

from nard.estimator import cautions as of_fits
from nard.fits.trust import caution_text, cautions, trust, unmixed


def table_with(*degrees):
    return pd.DataFrame({"degrees": degrees}, dtype=float)


def path(chosen, *lams):
    table = pd.DataFrame({"lam": lams, "score": 0.0})
    return table.assign(chosen=table["lam"] == chosen)


def facts(lams=None, degrees=(30, 40), notes=()):
    tables = {"associations": table_with(*degrees), "edges": table_with(50)}
    return trust(lams, tables, notes)


def test_a_sound_fit_has_none():
    notes = [{"code": "winsorised", "side": "inputs", "count": 3, "share": 0.001}, {"code": "logarithms"}]
    found = facts(path(0.2, 0.4, 0.2, 0.1), notes=notes)
    assert found == {
        "lam": {"chosen": 0.2, "smallest": 0.1, "largest": 0.4},
        "degrees": {"associations": 30, "edges": 50},
        "clipped": {"inputs": 0.001},
        "advice": [],
    }
    assert cautions([], found, {"converged": True, "rhat": 1.01, "ess": 800.0}) == []


def test_a_baseline_has_nothing_to_check():
    """One λ is no choice, and there are no degrees of freedom without tests, or rows."""
    found = trust(path(0.2, 0.2), {"associations": table_with(np.nan), "edges": table_with()}, [])
    assert found == {"lam": None, "degrees": {"associations": None, "edges": None}, "clipped": {}, "advice": []}
    assert cautions([], found, {}) == []


@pytest.mark.parametrize(("lam", "end", "words"), [(0.4, "largest", "without a network"), (0.1, "smallest", "smaller")])
def test_lam_at_the_end_of_what_was_tried(lam, end, words):
    [caution] = cautions([], facts(path(lam, 0.4, 0.2, 0.1)), {})
    assert caution == {"code": "lam at end of grid", "lam": lam, "end": end}
    assert f"λ = {lam} is the {end} that was tried" in caution_text(caution)
    assert words in caution_text(caution)


def test_few_degrees_and_many_clipped_values():
    notes = [{"code": "winsorised", "side": "outputs", "count": 300, "share": 0.031}]
    own, few, clipped = cautions([CAUTION], facts(degrees=(7.5, np.nan), notes=notes), {})
    assert caution_text(own) == of_fits.caution_text(CAUTION)
    assert few == {"code": "few degrees", "degrees": 7.5}
    assert "as few as 7.5 degrees of freedom" in caution_text(few)
    assert clipped == {"code": "clipped values", "side": "outputs", "share": 0.031}
    assert "Of the values of the outputs 3.10% were pulled in" in caution_text(clipped)


@pytest.mark.parametrize(
    ("rhat", "ess", "words"),
    [
        (1.88, 1.4, "R̂ = 1.88, above 1.1, and an effective sample of 1.4"),
        (None, None, "(no R̂ that is a number)"),
    ],
)
def test_chains_that_have_not_mixed(rhat, ess, words):
    diagnostics = {"n_draws": 100, "rhat": rhat, "ess": ess}
    assert unmixed(diagnostics)
    [caution] = cautions([], facts(), diagnostics)
    assert caution == {"code": "R-hat", "rhat": rhat, "ess": ess}
    assert words in caution_text(caution)


def test_what_is_no_sampler_has_no_chains():
    assert not unmixed({"converged": False})
    assert not unmixed({"rhat": 1.1})
