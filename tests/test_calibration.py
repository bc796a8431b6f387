"""Realised error rates over seeds: a smaller version of benchmarks/calibration.py."""

import pytest
from calibration import DESIGNS, NULL, calibrate

# The larger a data set, the fewer of them are needed, and the longer each takes.
SEEDS = {"TCGA-like": 8, "N>d": 4, "d>N": 2}


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_error_rates_are_as_stated(name):
    """The limits are the documentation's; they hold on average over 40 seeds with room to spare for a few.

    The findings are those of the defaults, which are tested under the entry-wise model whatever predicts.
    """
    mean = calibrate(DESIGNS[name], range(SEEDS[name]), {"relevance": "entries"}).mean(numeric_only=True)
    assert mean["relevance TPR"] >= 0.99
    assert mean["relevance FDR"] <= 0.06
    assert mean["associations TPR"] >= 0.90
    assert mean["associations FDR"] <= 0.06
    (_, m, n) = DESIGNS[name][0]
    if n >= 2 * m:
        assert mean["edges FDR"] <= 0.08
    assert mean["Tr(V)/m"] == pytest.approx(1.0, abs=0.15)


@pytest.mark.slow
def test_null_data_give_few_findings():
    """At most 8 % in the long run; 30 data sets with that rate exceed 6 hits with probability 0.02."""
    runs = calibrate(NULL, range(30), {"lam": 0.1})
    hits = runs[["any relevance", "any association", "any edge"]].sum()
    assert (hits <= 6).all()
