"""Times of the baselines and of NARD at N = 300, d = 73, m = 76, as multiples of ARD per output; prints a table.

10 % of the entries of W are non-zero, with weights between 0.5 and 1.5 in size. The first fit of each, which compiles,
is not timed.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd
from calibration import rates, selected_matrix
from sklearn.linear_model import ARDRegression

from nard import NARD
from nard.baselines import CAPME, HSGHS, JRNS, MRCE, MSSL
from nard.simulate import make_regression


def methods():
    return {
        "NARD, everything at its default": NARD(),
        "MRCE, 5-fold cross-validation on 5 × 5": MRCE(),
        "CAPME, one fit": CAPME(lam=0.1, tau=0.2),
        "CAPME, cross-validated": CAPME(),
        "mSSL": MSSL(),
        "JRNS, 3,000 draws": JRNS(n_burnin=2000, n_draws=1000),
        "HS-GHS, 1,000 draws": HSGHS(n_burnin=200, n_draws=800),
    }


def seconds(function) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def main():
    warnings.simplefilter("ignore")
    data = make_regression(300, 73, 76, relevant=1.0, density=0.1, weight_range=(0.5, 1.5), random_state=0)
    small = make_regression(60, 8, 6, random_state=0)
    floor = min(seconds(lambda: [ARDRegression().fit(data.X, y) for y in data.Y.T]) for _ in range(3))
    rows = {}
    for name, model in methods().items():
        model.fit(small.X, small.Y)
        times = [seconds(lambda model=model: model.fit(data.X, data.Y)) for _ in range(2)]
        found = selected_matrix(model.associations(), "target", "feature", data.coef.shape)
        edges = selected_matrix(model.edges(), "source", "target", data.edges.shape)
        rows[name] = {
            "time / ARD": min(times) / floor,
            "relF(W)": np.linalg.norm(model.coef_ - data.coef) / np.linalg.norm(data.coef),
            **dict(zip(("W TPR", "W FDR"), rates(found, data.coef != 0), strict=True)),
            **dict(zip(("edges TPR", "edges FDR"), rates(edges, np.triu(data.edges, 1)), strict=True)),
        }
        print(name, {key: round(float(value), 3) for key, value in rows[name].items()}, flush=True)
    print(pd.DataFrame(rows).T.round(3).to_string())


if __name__ == "__main__":
    main()
