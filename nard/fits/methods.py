"""The methods that the workflow can fit, by the name that the config uses. A new one is one entry.

Whatever distinguishes a method is said here, and nowhere else. A method from outside the package has no entry: the
config gives its class, or an entry point of the group ``nard.methods`` does, and it has the defaults of
:class:`Method`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points

from nard.errors import DataError
from nard.fits.classes import load_class
from nard.fits.doubles import nard, nard_from_all
from nard.fits.publications import Publication
from nard.palette import MUTED

__all__ = [
    "FLOORS",
    "METHODS",
    "SKLEARN",
    "Method",
    "announced",
    "find_method",
    "make_model",
    "minimise_j",
    "settings_of_tests",
    "tuned_settings",
]


def _dense(n: int, d: int, m: int, folds: int) -> int:
    """A guess, of a method that nobody has measured: copies of the data, of W and Ω, and of the smaller Gram matrix."""
    return 4 * min(n, d) ** 2 + 6 * n * (d + m) + 12 * d * m + 12 * m * m


@dataclass(frozen=True)
class Method:
    """A way to fit X and Y, and all that distinguishes it from others."""

    name: str  # in the config, in tables and as a folder
    title: str  # in figures and texts
    path: str  # of its class, package.module:Class or file.py:Class
    publication: Publication | None = None
    # From N, d, m and the number of folds (0 if nothing is cross-validated) to what a fit holds at its peak.
    doubles: Callable[[int, int, int, int], int] = _dense
    colour: str = MUTED  # in figures that compare methods
    marker: str = "d"
    minimises_j: bool = False  # NARD's J; such a method tests its findings
    takes_gaps: bool = False  # outputs may hold NaN; for other methods their values are imputed
    arguments: Mapping = field(default_factory=dict)  # of the constructor, which make the class this method
    takes: tuple[str, ...] = ()  # which settings of the config's section `fit`
    # Constructor argument → fitted attribute, for what a fit chooses itself: with these a refit chooses nothing.
    tuned: Mapping[str, str] = field(default_factory=dict)
    # Constructor arguments of fits that are only to predict: a posterior mean needs fewer draws than an interval.
    predicting: Mapping = field(default_factory=dict)


def _nard(variant: str, doubles: Callable[[int, int, int, int], int], colour: str, marker: str) -> Method:
    return Method(
        variant,
        f"NARD {variant}",
        "nard.estimator.model:NARD",
        (
            Publication(
                "Zhang H, Ye Z, Wang X, Guo X, Xu Z, Cheng Y, Hu Z, Qi Y",
                2025,
                "Efficient network automatic relevance determination. Proceedings of the 42nd International "
                "Conference on Machine Learning.",
            )
        ),
        doubles,
        colour,
        marker,
        minimises_j=True,
        takes_gaps=True,
        arguments={"method": variant},
        takes=("lam", "relevance", "hidden"),
        tuned={"lam": "lam_", "relevance": "relevance_", "hidden": "n_hidden_", "tails": "tails_"},
    )


_SEPARATE = "nard.baselines.separate:SeparateRegression"
SKLEARN = Publication(
    "Pedregosa F et al.",
    2011,
    "Scikit-learn: machine learning in Python. Journal of Machine Learning Research 12, 2825–2830.",
)
# For priors and penalties with a scale of their own: findings must not depend on the units of a table.
_SCALED = {"standardize": True}
# On the paths of CAPME and of the multi-task lasso.
_VALUES = 30

# Okabe and Ito's colours, which colour-blind people can tell apart, for the four NARDs; the baselines have others of
# the same kind, and every method its own marker.
_ALL = (
    _nard("sequential", nard, "#0072B2", "o"),
    _nard("full", nard_from_all, "#D55E00", "^"),
    _nard("surrogate", nard_from_all, "#CC79A7", "D"),
    _nard("hybrid", nard, "#009E73", "s"),
    Method(
        "mrce",
        "MRCE",
        "nard.baselines.mrce:MRCE",
        (
            Publication(
                "Rothman AJ, Levina E, Zhu J",
                2010,
                "Sparse multivariate regression with covariance estimation. Journal of Computational and "
                "Graphical Statistics 19, 947–962.",
            )
        ),
        # Moments of all samples and of a fold, the ridge's matrices; coefficients by start, and along a path of λ.
        lambda n, d, m, folds: 8 * d * d + 20 * d * m + 20 * m * m + 3 * n * (d + m),
        "#332288",
        "v",
        arguments=_SCALED,
        tuned={"lam1": "lam1_", "lam2": "lam2_"},
    ),
    Method(
        "capme",
        "CAPME",
        "nard.baselines.capme:CAPME",
        (
            Publication(
                "Cai TT, Li H, Liu W, Xie J",
                2013,
                "Covariate-adjusted precision matrix estimation with an application in genetical genomics. "
                "Biometrika 100, 139–156.",
            )
        ),
        # Every output's linear program at all values of λ: solutions, duals and their products; then those of Ω.
        lambda n, d, m, folds: 5 * d * d + 8 * (_VALUES if folds else 1) * max(d, m) * m + (folds + 3) * n * (d + m),
        "#E69F00",
        "P",
        arguments=_SCALED,
        tuned={"lam": "lam_", "tau": "tau_"},
    ),
    Method(
        "mssl",
        "mSSL",
        "nard.baselines.mssl:MSSL",
        (
            Publication(
                "Deshpande SK, Ročková V, George EI",
                2019,
                "Simultaneous variable and covariance selection with the multivariate spike-and-slab lasso. "
                "Journal of Computational and Graphical Statistics 28, 921–931.",
            )
        ),
        lambda n, d, m, folds: 3 * d * d + 12 * d * m + 12 * m * m + 2 * n * (d + m),
        "#56B4E9",
        "X",
        arguments=_SCALED,
    ),
    Method(
        "ard",
        "ARD per output",
        _SEPARATE,
        SKLEARN,
        # One regression per output, each with the covariance of its coefficients in use.
        lambda n, d, m, folds: m * min(n, d) ** 2 + 10 * d * d + 3 * n * (d + m) + 6 * d * m,
        "#882255",
        "p",
        arguments={"regression": "ard", **_SCALED},
    ),
    Method(
        "multitask_lasso",
        "multi-task lasso",
        _SEPARATE,
        SKLEARN,
        # A path of coefficients; predictions for every input alone.
        lambda n, d, m, folds: 2 * _VALUES * d * m + 4 * d * d + 6 * n * (d + m) + 10 * m * m,
        "#999933",
        "h",
        arguments={"regression": "multitask_lasso", **_SCALED},
    ),
    Method(
        "jrns",
        "JRNS",
        "nard.baselines.jrns:JRNS",
        (
            Publication(
                "Samanta S, Khare K, Michailidis G",
                2022,
                "A generalized likelihood-based Bayesian approach for scalable joint regression and covariance "
                "selection in high dimensions. Statistics and Computing 32, 47.",
            )
        ),
        # XᵀX and its copies; the chain's state and sums.
        lambda n, d, m, folds: 4 * d * d + 14 * d * m + 14 * m * m + 2 * n * (d + m),
        "#44AA99",
        "*",
        arguments=_SCALED,
        takes=("time_budget",),
    ),
    Method(
        "hsghs",
        "HS-GHS",
        "nard.baselines.hsghs:HSGHS",
        (
            Publication(
                "Li Y, Datta J, Craig BA, Bhadra A",
                2021,
                "Joint mean–covariance estimation via the horseshoe. Journal of Multivariate Analysis 183, 104716.",
            )
        ),
        # A factor of the smaller size; coefficients with their scales, sums and random numbers.
        lambda n, d, m, folds: 4 * min(d, 3 * n) ** 2 + 3 * n * (d + m) + 18 * d * m + 18 * m * m,
        "#661100",
        "<",
        arguments=_SCALED,
        takes=("time_budget",),
        predicting={"n_burnin": 250, "n_draws": 750},
    ),
)
METHODS: dict[str, Method] = {method.name: method for method in _ALL}


# What every method has to predict better than, without being asked for: they find nothing that one would look at, so
# they have no folders and are compared by their predictions alone.
FLOORS: dict[str, Method] = {
    name: Method(
        name,
        title,
        _SEPARATE,
        SKLEARN,
        # Every output's coefficients on a thousand unit vectors at a time; ridge has a factor of the samples.
        lambda n, d, m, folds: 4 * n * (n + d + m) + 3000 * d + 6 * d * m + 10 * m * m,
        arguments={"regression": regression},
    )
    for name, title, regression in (
        ("ridge", "ridge per output", "ridge"),
        ("no_regression", "no regression", "none"),
    )
}


@cache
def announced() -> dict[str, str]:
    """Methods of other packages: the name and path of every entry point of the group ``nard.methods``."""
    return {point.name: point.value for point in entry_points(group="nard.methods") if point.name not in METHODS}


def find_method(entry: str) -> Method:
    """The method that an entry of the config's `methods` means.

    That is a name, of the registry or of an entry point; or the path of a class, which goes by its name in lower case
    unless one is given as ``name=path``. The name alone is enough to speak of a finished fit.

    Examples
    --------
    >>> from nard.fits.methods import find_method
    >>> find_method("mrce").title, find_method("own.py:LeastSquares").name, find_method("OLS=own.py:LeastSquares").name
    ('MRCE', 'leastsquares', 'OLS')
    """
    if known := METHODS.get(entry) or FLOORS.get(entry):
        return known
    given, _, path = entry.rpartition("=")
    name = given or (path.rpartition(":")[2].lower() if ":" in path else path)
    return Method(name, name, announced().get(path, path))


def minimise_j(names: Iterable[str]) -> list[str]:
    """Those of the methods that minimise NARD's J, whose values compare."""
    return [name for name in names if find_method(name).minimises_j]


def make_model(entry: str, fit: Mapping, seed: int, **fixed):
    """An unfitted model of a method with the settings of the config's section `fit`, and what is fixed."""
    method = find_method(entry)
    if ":" not in method.path:
        raise DataError(f"{entry}: there is no such method; there are {', '.join([*METHODS, *announced()])}.")
    estimator = load_class(method.path)
    arguments = {**method.arguments, **{key: fit[key] for key in method.takes}, **fixed}
    if "random_state" in estimator().get_params():
        arguments["random_state"] = seed
    return estimator(**arguments)


def tuned_settings(name: str, model) -> dict:
    """What a fitted model chose, as constructor arguments."""
    return {argument: _plain(getattr(model, attribute)) for argument, attribute in find_method(name).tuned.items()}


def settings_of_tests(name: str, model) -> dict:
    """The parts of the model under which NARD tested its findings, which need not be those that predict."""
    if not find_method(name).minimises_j:
        return {}
    # Only the entry-wise model has learnt a prior of the entries.
    relevance = "inputs" if model.entry_test_.prior is None else "entries"
    return {"relevance": relevance, "hidden": model.hidden_.shape[1]}


def _plain(value):
    return value if value is None or isinstance(value, str | int) else float(value)
