"""The scikit-learn estimator :class:`NARD`: checks, units and names around the functions that do the work."""

from __future__ import annotations

import numbers
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, validate_data

from nard.algorithms import METHODS, Data, RoughPass, minimise, starting_state
from nard.algorithms.evidence import ColumnCovariance, posterior
from nard.checked import CheckedDataMixin
from nard.covariance import log_density
from nard.findings import FindingsMixin, relevance_table
from nard.kernels import make_feature_map
from nard.priors import make_alpha_prior, make_covariance_prior
from nard.progress import Watch
from nard.scaling import Scaler
from nard.selection import edge_test, find
from nard.tuning import Settings, cross_validate, ebic_path, lam_grid
from nard.validation import (
    check_same_samples,
    is_number,
    require,
)

__all__ = ["NARD"]

_N_FOLDS = 5


class NARD(CheckedDataMixin, FindingsMixin, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Network automatic relevance determination: sparse multi-output regression with a sparse residual network.

    The model is Y = WX + E, the columns of E ~ N(0, V) with Ω = V⁻¹ sparse, W ~ MN(0, V, diag(α)⁻¹). The precisions α
    and Ω minimise the penalised negative log evidence

        J(α, Ω) = m ln|C| − N ln|Ω| + Tr(Ω Y C⁻¹Yᵀ) + N λ Σ_{i≠j} sqrt(v_i v_j) |ω_ij| (+ hyperprior terms),

    C = I + Xᵀ diag(α)⁻¹ X, with v the residual variances from a first rough pass, so that λ acts on the scale of the
    residual correlations whatever the units of Y. Inputs whose α is infinite are pruned. Which inputs, which
    input → output associations and which edges between outputs are real is decided by calibrated tests at a false
    discovery rate (:meth:`relevance`, :meth:`associations`, :meth:`edges`), never by being non-zero.

    Parameters
    ----------
    method : {"sequential", "full", "surrogate", "hybrid"}, default="sequential"
        How J is minimised. All four end at a stationary point of J, as a rule the same one; they differ in the way.
    lam : float or {"cv", "ebic"}, default="cv"
        Network penalty λ, on the scale of residual correlations (0.05 to 0.3 is common). "cv": 5-fold
        cross-validated likelihood of held-out samples; "ebic": extended BIC. The path of λ is always walked by
        Sequential NARD. The tests of the findings are too optimistic where λ is nearly zero and there are not many
        more samples than outputs.
    alpha_prior : None or ("gamma", a, b), default=None
        Hyperprior on every α. Under a Gamma prior no input is ever pruned exactly.
    cov_prior : None or ("inverse-wishart", psi, nu), default=None
        Hyperprior on V, Ψ = ``psi``, with mode Ψ/ν. A number ``psi`` stands for psi times the diagonal matrix of the
        outputs' variances.
    kernel : {None, "polynomial", "rbf"}, default=None
        Feature map for Y = WΦ(X) + E. The fitted coefficients and findings are then those of Φ's features.
    kernel_params : dict, optional
        Parameters of the feature map, for instance ``{"degree": 3}`` or ``{"gamma": 0.1, "n_components": 200}``.
    update : {"mackay", "em"}, default="mackay"
        The batch update of α in ``method="full"``. EM hardly prunes and is slow.
    order : {"greedy", "random"}, default="greedy"
        In ``method="sequential"``, whether the input that lowers J most goes next, or a random one (the paper's).
    refit : {"auto", True, False}, default="auto"
        Whether ``coef_`` is the sparse refit on the selected entries (True), the posterior mean (False), or whichever
        predicts held-out samples better ("auto", 5-fold cross-validation).
    fdr : float, default=0.05
        False discovery rate at which entries enter the sparse refit.
    standardize : bool, default=True
        Scale the columns of X and Y to unit variance for the fit. They are always centred.
    tol : float, default=1e-4
        The fit has converged when an outer step lowers J by less than ``tol`` · N · m.
    max_iter : int, default=500
        Most outer steps.
    random_state : int, numpy.random.RandomState or None, default=None
        Seed of the folds, of the random order and of the RBF map. None is a fixed seed too: two fits of the same
        data agree.
    verbose : bool, default=False
        Print every outer step. Otherwise a fit that takes more than a few seconds shows its progress on standard error,
        if that is a terminal.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_features)
        Coefficients in the units of the data: ``sparse_coef_`` or ``posterior_coef_``, see ``refit``.
    intercept_ : ndarray of shape (n_targets,)
        What is added to ``coef_ @ x``.
    posterior_coef_, sparse_coef_ : ndarray of shape (n_targets, n_features)
        Posterior mean of W, and the refit on the selected entries.
    alpha_ : ndarray of shape (n_features,)
        ARD precisions for standardised inputs, inf where the input is pruned.
    active_ : ndarray of bool of shape (n_features,)
        Inputs with a finite α. This is not a selection: see :meth:`relevance`.
    precision_, covariance_ : ndarray of shape (n_targets, n_targets)
        Residual Ω and V that belong to ``coef_``, in the units of the data.
    objective_ : ndarray
        J after every outer step; it never rises. The surrogate methods first record an upper bound of J, in the first
        ``n_bound_`` entries.
    n_bound_ : int
        How many entries of ``objective_`` are values of the bound; 0 for ``full`` and ``sequential``.
    n_iter_ : int
        Outer steps.
    guarded_ : bool
        Whether the rough pass found the fit on its way to interpolation (more inputs than samples, few outputs), so
        that inputs could enter only if significant among all inputs. Many weak effects are then missed.
    converged_ : bool
        Whether the last step fell below the tolerance. It is False after an interruption: the first Ctrl-C ends a fit
        with what it has reached, the second one at once.
    lam_ : float
        The λ used.
    lam_path_ : DataFrame or None
        λ tried, with scores; None if λ was given. :func:`nard.figures.plot_lam_path` draws it.
    refit_ : bool
        Whether ``coef_`` is the sparse refit.
    refit_scores_ : dict or None
        Held-out log-likelihoods of "posterior" and "sparse", if ``refit="auto"``.
    feature_labels_, target_labels_ : list of str
        Names used in the tables: DataFrame columns, or x0, x1, … and y0, y1, …

    Notes
    -----
    The tests assume residuals that are nearly Gaussian; samples in which all residuals are large together are weighted
    in the test of edges. Rare binary or very skewed inputs together with skewed residuals give false findings:
    transform such columns (ranks to normal scores, say) or drop them first.

    References
    ----------
    Zhang, H. et al. (2025). Efficient Network Automatic Relevance Determination. ICML.

    Examples
    --------
    >>> from nard import NARD
    >>> from nard.simulate import make_regression
    >>> data = make_regression(n_samples=150, n_features=20, n_targets=6, random_state=0)
    >>> model = NARD().fit(data.X, data.Y)
    >>> model.coef_.shape, model.precision_.shape
    ((6, 20), (6, 6))
    >>> found = set(model.relevance().query("selected").feature)
    >>> found == {f"x{i}" for i in data.relevant.nonzero()[0]}
    True
    """

    def __init__(
        self,
        method="sequential",
        lam="cv",
        alpha_prior=None,
        cov_prior=None,
        kernel=None,
        kernel_params=None,
        update="mackay",
        order="greedy",
        refit="auto",
        fdr=0.05,
        standardize=True,
        tol=1e-4,
        max_iter=500,
        random_state=None,
        verbose=False,
    ):
        self.method = method
        self.lam = lam
        self.alpha_prior = alpha_prior
        self.cov_prior = cov_prior
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.update = update
        self.order = order
        self.refit = refit
        self.fdr = fdr
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, Y):
        """Fit the model.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Inputs. Constant columns are allowed; they are pruned.
        Y : array-like, DataFrame or Series of shape (n_samples, n_targets) or (n_samples,)
            Outputs. Constant columns are an error.

        Returns
        -------
        NARD
            The fitted estimator itself.

        Examples
        --------
        >>> from nard import NARD
        >>> from nard.simulate import make_regression
        >>> data = make_regression(100, 10, 4, random_state=0)
        >>> model = NARD(lam=0.1, refit=False).fit(data.X, data.Y)
        >>> model.converged_
        True
        """
        self._check_parameters()
        X, Y = self._validated(X, Y)
        seed = _seed(self.random_state)
        features = self._map_inputs(X, seed, fit=True)
        self._scaler = Scaler(features, Y, self.standardize)
        data = Data(self._scaler.inputs(features), self._scaler.outputs(Y))
        alpha_prior = make_alpha_prior(self.alpha_prior, Y.shape[1])
        cov_prior = make_covariance_prior(self.cov_prior, data.Y.var(axis=0), self._scaler.y_scale)
        self._warn_of_degenerate_prior(features, alpha_prior)

        with Watch(self.verbose) as watch:
            watch.stage("NARD: first pass")
            rough = RoughPass(data, cov_prior, watch)
            self.guarded_ = rough.entry_threshold > 0
            problem = rough.problem(data, 0.0, alpha_prior, cov_prior)
            self._tune(features, Y, problem, rough, seed, watch)
            watch.stage(f"NARD: fit at λ = {self.lam_:.3g}")
            problem = rough.problem(data, self.lam_, alpha_prior, cov_prior)
            fit = minimise(
                problem,
                starting_state(problem, rough, self.method, self.tol, watch),
                self.method,
                update=self.update,
                order=self.order,
                rng=np.random.default_rng(seed),
                fallback=self._fallback(problem, rough, watch),
                tol=self.tol,
                max_iter=self.max_iter,
                watch=watch,
            )
            watch.stage("NARD: tests and refit")
            self._keep(problem, fit)
        if not fit.converged:
            reason = "was interrupted" if watch.stopped else f"stopped after max_iter={self.max_iter} outer steps"
            remedy = "fit again to go on to the end" if watch.stopped else "raise max_iter or tol"
            warnings.warn(
                f"NARD {reason} before J settled to tol={self.tol:g}: {remedy}.", ConvergenceWarning, stacklevel=2
            )
        return self

    def predict(self, X, return_std=False):
        """Predict the outputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Also return the standard deviation of the predictive density.

        Returns
        -------
        mean : ndarray of shape (n_samples, n_targets)
            Predictions; one-dimensional if Y was.
        std : ndarray, same shape as ``mean``
            Only if ``return_std``: sqrt(V_ii (1 + xᵀΣx)) for the posterior mean, sqrt(V_ii) for the sparse refit.

        Examples
        --------
        >>> from nard import NARD
        >>> from nard.simulate import make_regression
        >>> data = make_regression(100, 10, 4, random_state=0)
        >>> mean, std = NARD(lam=0.1).fit(data.X, data.Y).predict(data.X[:2], return_std=True)
        >>> mean.shape, std.shape
        ((2, 4), (2, 4))
        """
        features = self._validated_inputs(X)
        mean = features @ self.coef_.T + self.intercept_
        if not return_std:
            return mean[:, 0] if self._one_dimensional else mean
        std = np.sqrt(np.outer(self._inflation(features), np.diag(self.covariance_)))
        return (mean[:, 0], std[:, 0]) if self._one_dimensional else (mean, std)

    def log_likelihood(self, X, Y):
        """Mean log density per sample under the predictive distribution N(prediction, V(1 + xᵀΣx)).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, as a rule held out from the fit.
        Y : array-like of shape (n_samples, n_targets) or (n_samples,)
            Outputs.

        Returns
        -------
        float
            The mean over the samples.

        Examples
        --------
        >>> from nard import NARD
        >>> from nard.simulate import make_regression
        >>> data = make_regression(200, 10, 4, random_state=0)
        >>> model = NARD(lam=0.1).fit(data.X[:150], data.Y[:150])
        >>> empty = NARD(lam=0.1).fit(0 * data.X[:150], data.Y[:150])
        >>> model.log_likelihood(data.X[150:], data.Y[150:]) > empty.log_likelihood(data.X[150:], data.Y[150:])
        True
        """
        self._check_fitted()
        check_same_samples(X, Y)
        if isinstance(Y, pd.DataFrame) and list(map(str, Y.columns)) != self.target_labels_:
            raise ValueError("The columns of Y are not those of the fit, in their order: Y[model.target_labels_].")
        features = self._validated_inputs(X)
        Y = check_array(Y, ensure_2d=False, dtype=float, input_name="Y")
        Y = Y[:, None] if Y.ndim == 1 else Y
        if Y.shape != (len(features), len(self.intercept_)):
            raise ValueError(f"Y must have shape {(len(features), len(self.intercept_))}, found {Y.shape}.")
        residuals = (Y - features @ self.coef_.T - self.intercept_) / self._scaler.y_scale
        density = log_density(residuals, self._network.precision, self._inflation(features))
        return float(density.mean() - np.log(self._scaler.y_scale).sum())

    def relevance(self, fdr=0.05) -> pd.DataFrame:
        """Inputs with the test of whether they drive any output, most significant first.

        Parameters
        ----------
        fdr : float, default=0.05
            False discovery rate among the rows with ``selected`` true (Benjamini and Hochberg).

        Returns
        -------
        DataFrame
            One row per input: ``feature``, ``alpha``, ``statistic`` (nearly χ² with n_targets degrees of freedom under
            the null), ``pvalue``, ``qvalue``, ``selected``.

        Examples
        --------
        >>> from nard import NARD
        >>> from nard.simulate import make_regression
        >>> data = make_regression(100, 10, 4, random_state=0)
        >>> NARD(lam=0.1).fit(data.X, data.Y).relevance().columns.tolist()
        ['feature', 'alpha', 'statistic', 'pvalue', 'qvalue', 'selected']
        """
        self._check_fitted()
        return relevance_table(self.feature_labels_, self.alpha_, self.input_test_, fdr)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        return tags

    # What follows is not public.

    def _check_parameters(self):
        require(self.method in METHODS, "method", self.method, f"one of {METHODS}")
        given = not isinstance(self.lam, str) and is_number(self.lam) and 0 <= self.lam < np.inf
        lam_ok = given or (isinstance(self.lam, str) and self.lam in ("cv", "ebic"))
        require(lam_ok, "lam", self.lam, 'a number ≥ 0, "cv" or "ebic"')
        require(self.kernel in (None, "polynomial", "rbf"), "kernel", self.kernel, 'None, "polynomial" or "rbf"')
        require(self.update in ("mackay", "em"), "update", self.update, '"mackay" or "em"')
        require(self.order in ("greedy", "random"), "order", self.order, '"greedy" or "random"')
        refit_ok = isinstance(self.refit, bool | np.bool_) or (isinstance(self.refit, str) and self.refit == "auto")
        require(refit_ok, "refit", self.refit, '"auto", True or False')
        require(is_number(self.fdr) and 0 < self.fdr < 1, "fdr", self.fdr, "a number strictly between 0 and 1")
        require(isinstance(self.standardize, bool | np.bool_), "standardize", self.standardize, "True or False")
        unused = self.kernel is None and self.kernel_params
        require(not unused, "kernel_params", self.kernel_params, "None while kernel is None")
        require(is_number(self.tol) and self.tol > 0, "tol", self.tol, "a positive number")
        require(
            isinstance(self.max_iter, numbers.Integral) and self.max_iter >= 1,
            "max_iter",
            self.max_iter,
            "an integer ≥ 1",
        )

    def _map_inputs(self, X, seed, fit=False):
        """X itself, or Φ of the standardised X; names follow."""
        if self.kernel is None:
            return X
        if fit:
            self._feature_map = make_feature_map(self.kernel, self.kernel_params, *X.shape, seed).fit(X)
            names = self._feature_map.get_feature_names_out(self.feature_labels_)
            self.feature_labels_ = [str(name) for name in names]
        return self._feature_map.transform(X)

    def _validated_inputs(self, X):
        self._check_fitted()
        return self._map_inputs(validate_data(self, X, dtype=float, reset=False), None)

    def _warn_of_degenerate_prior(self, features, prior):
        if prior.a < 1 and self.cov_prior is None and features.shape[1] >= features.shape[0]:
            warnings.warn(
                f"alpha_prior with shape a = {prior.a:g} < 1 and at least as many inputs ({features.shape[1]}) as "
                f"samples ({features.shape[0]}): J falls without bound as all α and V shrink together, and the fit "
                "ends at a residual variance of nearly zero. Take a ≥ 1, or set cov_prior.",
                UserWarning,
                stacklevel=3,
            )

    def _fallback(self, problem, rough, watch):
        """Where a batch algorithm goes on from if it ends above it."""
        batch = self.method in ("full", "surrogate")
        return starting_state(problem, rough, "sequential", self.tol, watch) if batch else None

    def _tune(self, features, Y, problem, rough, seed, watch):
        """Sets lam_, lam_path_, refit_ and refit_scores_; ``problem`` is the whole data's at some λ."""
        self.lam_path_, self.refit_scores_ = None, None
        lams = lam_grid(rough, self.lam) if isinstance(self.lam, str) else np.array([float(self.lam)])
        self.lam_ = float(lams[0])
        if isinstance(self.lam, str):
            watch.stage("NARD: path of λ")
        elif self.refit == "auto":
            watch.stage("NARD: cross-validation of the refit")
        if self.lam == "ebic":
            self.lam_path_, self.lam_ = ebic_path(problem, lams, rough, watch)
            lams = np.array([self.lam_])
        self.refit_ = not isinstance(self.refit, str) and bool(self.refit)
        if self.lam == "cv" or self.refit == "auto":
            settings = Settings(problem.alpha_prior, self.cov_prior, self.standardize, self.fdr)
            validation = cross_validate(features, Y, lams, settings, _N_FOLDS, seed, self.refit == "auto", watch)
            if self.lam == "cv" and validation is None:
                raise KeyboardInterrupt  # there is no λ yet to return anything for
            if self.lam == "cv":
                self.lam_path_, self.lam_ = validation.path, validation.lam
            if self.refit == "auto" and validation is not None:
                self.refit_scores_ = {"posterior": validation.posterior_score, "sparse": validation.sparse_score}
                self.refit_ = (
                    validation.sparse_score is not None and validation.sparse_score > validation.posterior_score
                )

    def _keep(self, problem, fit):
        """Everything that the fitted model shows, in the units of the data."""
        state, scaler = fit.state, self._scaler
        found = find(problem, state, self.lam_, self.fdr)
        sparse = found.sparse
        self._network = sparse.network if self.refit_ else state.network
        # Findings are tested under the model that predicts.
        if self.refit_:
            inputs, entries = sparse.tests.inputs, sparse.tests.entries
            covariance, degrees = sparse.residual_covariance, float(sparse.degrees.mean())
            residuals = sparse.residuals(problem)
        else:
            inputs, entries = found.inputs, found.entries
            covariance, degrees, residuals = found.residual_covariance, found.degrees, found.residuals
        edges = edge_test(covariance, degrees, residuals, self._network)

        # Arrays of this size are changed in place, and only where they are not zero: with tens of thousands of inputs
        # and thousands of outputs each is more than a gigabyte.
        post = posterior(problem, state.alpha)
        mean = np.zeros((problem.d, problem.m))
        mean[post.active] = post.mean
        for coefficients in (mean, sparse.coef):
            used = np.flatnonzero(coefficients.any(axis=1))
            coefficients[used] *= scaler.y_scale / scaler.x_scale[used, None]
        for part in (entries.weight, entries.sd):
            part *= scaler.y_scale
            part /= scaler.x_scale[:, None]
        self.posterior_coef_, self.sparse_coef_ = mean.T, sparse.coef.T
        self.coef_ = self.sparse_coef_ if self.refit_ else self.posterior_coef_
        self.intercept_ = scaler.y_mean - self.coef_ @ scaler.x_mean
        self.alpha_ = state.alpha
        self.active_ = np.isfinite(state.alpha)

        units = np.outer(scaler.y_scale, scaler.y_scale)
        self.precision_ = self._network.precision / units
        self.covariance_ = self._network.covariance * units
        self._column_covariance = None if self.refit_ else ColumnCovariance(problem, state.alpha)

        self.objective_ = np.array(fit.objective)
        self.n_bound_ = fit.n_bound
        self.n_iter_ = fit.n_iter
        self.converged_ = fit.converged
        self.input_test_, self.entry_test_ = inputs, entries
        self.edge_test_ = replace(edges, precision=edges.precision / units)

    def _inflation(self, features):
        """1 + xᵀΣx, the factor by which uncertainty in W widens the predictive covariance."""
        if self._column_covariance is None:
            return np.ones(len(features))
        return 1.0 + self._column_covariance.variance(self._scaler.inputs(features))


def _seed(random_state) -> int:
    return 0 if random_state is None else int(check_random_state(random_state).randint(2**31 - 1))
