"""Feature maps Φ of the standardised inputs for the nonlinear model Y = WΦ(X) + E, from scikit-learn's transformers.

* ``"polynomial"``: all monomials up to a degree (default 2), named after their inputs. With ``n_components`` in the
  parameters, a Nyström approximation of the polynomial kernel instead, for when the monomials are too many.
* ``"rbf"``: a Nyström map of the Gaussian kernel exp(−γ‖x − x'‖²), γ = 1/d by default, from ``n_components`` of the
  samples (default: half of them, at most 300).

A Nyström map is followed by its principal components, as many as hold 99.9 % of its variance. In the landmarks' own
basis every feature is a bump around one sample, and where these are about as many as the samples, relevance
determination explains each sample by its own bump and predicts nothing.
"""

from __future__ import annotations

import math

import numpy as np
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

__all__ = ["make_feature_map"]

_RBF_COMPONENTS = 300
_MOST_MONOMIALS = 100_000
_VARIANCE = 0.999  # of the Nyström features, in the principal components that are kept


def make_feature_map(kernel: str, params: dict | None, n: int, d: int, seed: int) -> Pipeline:
    """An unfitted transformer of n samples of d inputs."""
    params = dict(params or {})
    if kernel == "polynomial" and "n_components" not in params:
        params = {"degree": 2, "include_bias": False, **params}
        monomials = math.comb(d + params["degree"], params["degree"])
        if monomials > _MOST_MONOMIALS:
            raise ValueError(
                f"kernel='polynomial': {d} inputs have {monomials:,} monomials of degree ≤ {params['degree']}. "
                "Pass kernel_params={'n_components': 500} for a Nyström approximation with 500 features."
            )
        return _build(PolynomialFeatures, params)
    defaults = {"gamma": 1.0 / d, "n_components": min(_RBF_COMPONENTS, max(1, n // 2)), "random_state": seed}
    if kernel == "polynomial":
        params = {"degree": 2, "coef0": 1.0} | params
    params = defaults | params | {"kernel": "poly" if kernel == "polynomial" else "rbf"}
    params["n_components"] = int(np.minimum(params["n_components"], n))
    return _build(Nystroem, params, PCA(_VARIANCE, svd_solver="full"))


def _build(transformer, params, *after):
    try:
        return make_pipeline(StandardScaler(), transformer(**params), *after)
    except TypeError as error:
        known = sorted(transformer().get_params())
        raise ValueError(f"kernel_params: {error}. Known parameters: {', '.join(known)}.") from None
