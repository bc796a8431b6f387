"""The scikit-learn estimator :class:`NARD`: checks, units and names around the functions that do the work."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, validate_data

from nard.algorithms import VARIANTS, Data
from nard.algorithms.hidden import count_hidden
from nard.algorithms.joint import JointFit, Prediction, Preparation, fit_joint, prediction
from nard.algorithms.priors import make_alpha_prior, make_covariance_prior
from nard.compiled import one_thread
from nard.estimator.cautions import caution_text
from nard.estimator.choice import RELEVANCE, choose
from nard.estimator.findings import FindingsMixin, relevance_table
from nard.estimator.kernels import make_feature_map
from nard.estimator.scaling import Scaler, measured_variances
from nard.estimator.tuning import Settings, fixed_rng
from nard.inputs import check_same_samples, dependent_columns, is_number, require
from nard.progress import Watch
from nard.selection import association_tests, network_test

__all__ = ["NARD"]

_FDR = 0.05
# From so many outputs on factors of m×m matrices take all cores.
_MANY_OUTPUTS = 2000
# Copies among the outputs that a warning names.
_MOST_COPIES = 5


class _Choice(str):
    """The parameter ``relevance``, which is also the name of a method: called, it gives the fitted model's table."""

    model: NARD

    def __call__(self, fdr=0.05) -> pd.DataFrame:
        return self.model.relevance_table(fdr)

    # A copy belongs to no model until that model is asked for it.
    def __deepcopy__(self, memo):
        return _Choice(str(self))

    def __reduce__(self):
        return _Choice, (str(self),)


class NARD(FindingsMixin, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Network automatic relevance determination: sparse multi-output regression with a sparse residual network.

    The model is Y = (U + B)X + LF + E, the columns of E ~ N(0, V) with Ω = V⁻¹ sparse. U ~ MN(0, V, diag(α)⁻¹) is the
    paper's part, for inputs that drive many outputs; B has few entries per output; F are inputs that nobody measured
    (see ``relevance``, ``hidden``). For U alone the precisions α and Ω minimise the penalised negative log evidence

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
    relevance : {"auto", "inputs", "entries", "both"}, default="auto"
        Which parts W = U + B has. "inputs": the paper's column-wise U, for inputs that drive many outputs. "entries":
        the entry-wise B, every output a sum of few single effects. "both": U and B. "auto": whichever predicts held-out
        samples best (5-fold cross-validation); U is not tried where samples × inputs × outputs exceed 5·10⁸. With more
        than 1,000 outputs the choice, of λ too, is made on 500 of them. Findings are tested under the entry-wise model,
        except for "inputs".
    hidden : int or "auto", default="auto"
        Number of hidden inputs, which nobody measured and which act on many outputs (purity, batch). "auto":
        bi-cross-validation. They are covariates in the tests.
    own : mapping or None, default=None
        Output → inputs that belong to it, as genes do to their protein; such pairs are a family of findings of
        their own. None: inputs of the same name as the output.
    tails : float, None or "auto", default="auto"
        Degrees of freedom, above 2, of the multivariate t that is the predictive density; None: it is normal. "auto":
        those that held-out samples want, if they clearly want any; normal in the paper's model (``relevance="inputs",
        hidden=0``) and where nothing else is cross-validated.
    standardize : bool, default=True
        Scale the columns of X and Y to unit variance for the fit. They are always centred.
    tol : float, default=1e-4
        The fit has converged when an outer step lowers J by less than ``tol`` · N · m; with more than 1,000 outputs
        entries and network take one turn.
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
        Coefficients that predict, in the units of the data: ``input_coef_`` + ``entry_coef_``.
    intercept_ : ndarray of shape (n_targets,)
        What is added to ``coef_ @ x``.
    input_coef_, entry_coef_ : ndarray of shape (n_targets, n_features)
        Posterior means of U and B.
    hidden_, hidden_loadings_ : ndarray of shape (n_samples, k) and (k, n_targets)
        Hidden inputs F of unit variance that the findings are adjusted for, and their effects L on the outputs.
    alpha_ : ndarray of shape (n_features,)
        ARD precisions for standardised inputs, inf where the input is pruned.
    active_ : ndarray of bool of shape (n_features,)
        Inputs with a finite α. This is not a selection: see :meth:`relevance`.
    precision_, covariance_ : ndarray of shape (n_targets, n_targets)
        Residual Ω and V that belong to ``coef_``, in the units of the data.
    objective_ : ndarray
        J after every outer step; it never rises. The surrogate methods first record an upper bound of J, in the first
        ``n_bound_`` entries. With an entry-wise part it is the bound J(α, Ω, B), after every turn.
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
    relevance_ : {"inputs", "entries", "both"}
        The parts that predict.
    n_hidden_ : int
        Hidden inputs of the model that predicts; it may do without those that the findings are adjusted for.
    tails_ : float or None
        Degrees of freedom of the predictive density, None if it is normal.
    scores_ : DataFrame or None
        Held-out log-likelihood, R² and tails of the models tried, if there was a choice or λ was cross-validated.
    cautions_ : list of dict
        What speaks against trusting the findings, as codes with numbers; each was a warning of the fit, too.
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

    _takes_gaps = True

    @property
    def _keeps_short(self):
        return self.kernel is None

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
        relevance="auto",
        hidden="auto",
        own=None,
        tails="auto",
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
        self.relevance = relevance
        self.hidden = hidden
        self.own = own
        self.tails = tails
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
            Outputs. Constant columns are an error. NaN stands for a value that is missing: every sample tells what
            was measured of it, as long as whether a value is missing depends on X and on the rest of Y only.

        Returns
        -------
        NARD
            The fitted estimator itself.

        Examples
        --------
        >>> from nard import NARD
        >>> from nard.simulate import make_regression
        >>> data = make_regression(100, 10, 4, random_state=0)
        >>> model = NARD(lam=0.1, relevance="inputs").fit(data.X, data.Y)
        >>> model.converged_
        True
        """
        self._check_parameters()
        X, Y = self._validated(X, Y)
        seed = _seed(self.random_state)
        features = self._map_inputs(X, seed, fit=True)
        self._scaler = Scaler(features, Y, self.standardize)
        scaled = self._scaler.outputs(Y)
        data = Data.of(self._scaler.inputs(features), scaled)
        alpha_prior = make_alpha_prior(self.alpha_prior, Y.shape[1])
        cov_prior = make_covariance_prior(self.cov_prior, measured_variances(scaled), self._scaler.y_scale)
        self._warn_of_degenerate_prior(features, alpha_prior)
        dependent = dict(dependent_columns(scaled))
        self.cautions_ = self._copies(dependent)

        settings = Settings(alpha_prior, self.cov_prior, self.standardize, self._own_inputs(), self._given_tails())
        options = {"update": self.update, "order": self.order, "tol": self.tol, "max_iter": self.max_iter}
        with Watch(self.verbose) as watch, _linear_algebra(Y.shape[1]):
            watch.stage("NARD: first pass")
            # The likelihood of outputs that follow from others grows without end as λ falls.
            scored = np.setdiff1d(np.arange(Y.shape[1]), list(dependent))
            choice = choose(
                features, Y, data, cov_prior, settings, self.relevance, self.hidden, self.lam, scored, seed, watch
            )
            parts, tested = choice.parts, choice.tested
            self.lam_, self.lam_path_, self.scores_ = choice.lams[parts], choice.path, choice.scores
            watch.stage(f"NARD: fit at λ = {self.lam_:.3g}")

            def fitted(preparation: Preparation, lam: float) -> tuple[Prediction, JointFit]:
                joint = fit_joint(
                    preparation,
                    lam,
                    alpha_prior,
                    cov_prior,
                    self.method,
                    rng=np.random.default_rng(seed),
                    watch=watch,
                    **options,
                )
                return prediction(joint.preparation, joint.problem, joint.state, joint.entries), joint

            predicts = fitted(choice.models[parts], choice.lams[parts])
            tests = predicts if tested == parts else fitted(choice.models[tested], choice.lams[tested])
            watch.stage("NARD: tests")
            self._keep_model(*predicts, parts, choice.tails)
            self._keep_findings(*tests, tested)
            # Where U predicts clearly better, it takes from the residuals what the effects miss.
            self._keep_network(*(predicts if parts.inputs and parts.hidden == tested.hidden else tests))
            fit = predicts[1].fit
        if not fit.converged:
            reason = "was interrupted" if watch.stopped else f"stopped after max_iter={self.max_iter} outer steps"
            remedy = "fit again to go on to the end" if watch.stopped else "raise max_iter or tol"
            warnings.warn(
                f"NARD {reason} before J settled to tol={self.tol:g}: {remedy}.", ConvergenceWarning, stacklevel=2
            )
        return self

    # With thousands of inputs and outputs these are large arrays of zeros: they are made when asked for.
    @property
    def coef_(self):
        return np.ascontiguousarray(self._coefficients.toarray().T)

    @property
    def input_coef_(self):
        return np.ascontiguousarray(self._coefficients.inputs().T)

    @property
    def entry_coef_(self):
        return np.ascontiguousarray(self._coefficients.entries.toarray().T)

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
            Only if ``return_std``: sqrt(V_ii (1 + xᵀΣx) + (LᵀL)_ii).

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
        mean = self._coefficients.fitted(features) + self.intercept_
        if not return_std:
            return mean[:, 0] if self._one_dimensional else mean
        shared = ((self._prediction.loadings * self._scaler.y_scale) ** 2).sum(axis=0)
        inflation = self._prediction.inflation(self._scaler.inputs(features))
        std = np.sqrt(np.outer(inflation, np.diag(self.covariance_)) + shared)
        return (mean[:, 0], std[:, 0]) if self._one_dimensional else (mean, std)

    def log_likelihood(self, X, Y):
        """Mean log density per sample under the predictive density.

        It is normal, or a multivariate t with ``tails_`` degrees of freedom, with the prediction for its mean and the
        covariance V(1 + xᵀΣx) + LᵀL. Where outputs are missing it is the density of those that are not; samples
        without any do not count.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, as a rule held out from the fit.
        Y : array-like of shape (n_samples, n_targets) or (n_samples,)
            Outputs, NaN where missing.

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
        Y = check_array(Y, ensure_2d=False, dtype=float, input_name="Y", ensure_all_finite="allow-nan")
        Y = Y[:, None] if Y.ndim == 1 else Y
        if Y.shape != (len(features), len(self.intercept_)):
            raise ValueError(f"Y must have shape {(len(features), len(self.intercept_))}, found {Y.shape}.")
        measured = ~np.isnan(Y)
        some = measured.any(axis=1)
        if not some.any():
            raise ValueError("Y has no value: the density of nothing tells nothing.")
        density = self._prediction.log_density(self._scaler.inputs(features[some]), self._scaler.outputs(Y[some]))
        units = np.where(measured[some], np.log(self._scaler.y_scale), 0.0).sum(axis=1)
        return float((density - units).mean())

    @property
    def relevance(self):
        """The parameter; called, the table of inputs: :meth:`relevance_table`."""
        choice = self.__dict__["relevance"]
        if isinstance(choice, _Choice):
            choice.model = self
        return choice

    @relevance.setter
    def relevance(self, value):
        self.__dict__["relevance"] = _Choice(value) if type(value) is str else value

    def relevance_table(self, fdr=0.05) -> pd.DataFrame:
        """Inputs with the test of whether they drive any output, most significant first; also ``relevance(fdr)``.

        Parameters
        ----------
        fdr : float, default=0.05
            False discovery rate among the rows with ``selected`` true (Benjamini and Hochberg).

        Returns
        -------
        DataFrame
            One row per input: ``feature``, ``alpha``, ``statistic`` (nearly χ² with n_targets degrees of freedom under
            the null), ``pvalue`` (under the entry-wise model of that statistic or of the surest entry, whichever is
            clearer), ``qvalue``, ``selected``.

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
        require(self.method in tuple(VARIANTS), "method", self.method, f"one of {tuple(VARIANTS)}")
        given = not isinstance(self.lam, str) and is_number(self.lam) and 0 <= self.lam < np.inf
        lam_ok = given or (isinstance(self.lam, str) and self.lam in ("cv", "ebic"))
        require(lam_ok, "lam", self.lam, 'a number ≥ 0, "cv" or "ebic"')
        require(self.kernel in (None, "polynomial", "rbf"), "kernel", self.kernel, 'None, "polynomial" or "rbf"')
        require(self.update in ("mackay", "em"), "update", self.update, '"mackay" or "em"')
        require(self.order in ("greedy", "random"), "order", self.order, '"greedy" or "random"')
        known = (*RELEVANCE, "auto")
        require(
            isinstance(self.relevance, str) and self.relevance in known, "relevance", self.relevance, f"one of {known}"
        )
        number = (
            isinstance(self.hidden, numbers.Integral) and not isinstance(self.hidden, bool) and int(self.hidden) >= 0
        )
        automatic = isinstance(self.hidden, str) and self.hidden == "auto"
        require(number or automatic, "hidden", self.hidden, 'an integer ≥ 0 or "auto"')
        require(self.own is None or isinstance(self.own, Mapping), "own", self.own, "None or a mapping output → inputs")
        degrees = not isinstance(self.tails, str) and is_number(self.tails) and self.tails > 2
        named = self.tails is None or (isinstance(self.tails, str) and self.tails == "auto")
        require(degrees or named, "tails", self.tails, 'a number > 2, None or "auto"')
        require(isinstance(self.standardize, bool | np.bool_), "standardize", self.standardize, "True or False")
        unused = self.kernel is None and self.kernel_params
        require(not unused, "kernel_params", self.kernel_params, "None while kernel is None")
        require(is_number(self.tol) and self.tol > 0, "tol", self.tol, "a positive number")
        require(
            isinstance(self.max_iter, numbers.Integral) and int(self.max_iter) >= 1,
            "max_iter",
            self.max_iter,
            "an integer ≥ 1",
        )

    def _map_inputs(self, X, seed, fit=False):
        """X itself, or Φ of the standardised X; names follow."""
        if self.kernel is None:
            return X
        if fit:
            self._feature_map = make_feature_map(self.kernel, self.kernel_params, len(X), X.shape[1], seed).fit(X)
            names = self._feature_map.get_feature_names_out(self.feature_labels_)
            self.feature_labels_ = [str(name) for name in names]
        return self._feature_map.transform(X)

    def _validated_inputs(self, X):
        self._check_fitted()
        return self._map_inputs(
            validate_data(self, X, dtype=None if self._takes_short(X) else float, reset=False), None
        )

    def _warn_of_degenerate_prior(self, features, prior):
        if prior.a < 1 and self.cov_prior is None and features.shape[1] >= features.shape[0]:
            warnings.warn(
                f"alpha_prior with shape a = {prior.a:g} < 1 and at least as many inputs ({features.shape[1]}) as "
                f"samples ({features.shape[0]}): J falls without bound as all α and V shrink together, and the fit "
                "ends at a residual variance of nearly zero. Take a ≥ 1, or set cov_prior.",
                UserWarning,
                stacklevel=3,
            )

    def _own_inputs(self) -> np.ndarray:
        """The inputs that belong to every output, by number: m × most of them, −1 where there are fewer."""
        place = {label: j for j, label in enumerate(self.feature_labels_)}
        own = {label: [label] for label in self.target_labels_} if self.own is None else self.own
        listed = [
            [place[str(name)] for name in own.get(label, ()) if str(name) in place] for label in self.target_labels_
        ]
        table = np.full((len(listed), max(map(len, listed), default=0)), -1)
        for row, inputs in zip(table, listed, strict=True):
            row[: len(inputs)] = sorted(set(inputs)) + [-1] * (len(inputs) - len(set(inputs)))
        return table

    def _given_tails(self) -> float | None:
        """As :class:`nard.estimator.tuning.Settings` has them."""
        if not isinstance(self.tails, str):
            return np.inf if self.tails is None else float(self.tails)
        paper = self.relevance == "inputs" and not isinstance(self.hidden, str) and self.hidden == 0
        return np.inf if paper else None

    def _keep_model(self, shown, joint, parts, tails):
        """What predicts, in the units of the data."""
        state, rough, scaler = joint.state, joint.preparation.rough, self._scaler
        self._prediction = replace(shown, tails=tails)
        self._coefficients = shown.coef.scaled(scaler.x_scale, scaler.y_scale)
        means = scaler.y_mean + scaler.y_scale * shown.offset
        self.intercept_ = means - self._coefficients.fitted(scaler.x_mean[None])[0]
        self.relevance_ = parts.name
        self.n_hidden_ = parts.hidden
        self.tails_ = float(tails) if np.isfinite(tails) else None
        self.alpha_ = state.alpha if parts.inputs else np.full(len(scaler.x_scale), np.inf)
        self.active_ = np.isfinite(self.alpha_)
        self.guarded_ = bool(np.isfinite(rough.entry_threshold) and rough.entry_threshold > 0)
        pairs = np.outer(scaler.y_scale, scaler.y_scale)
        self.precision_ = self._prediction.precision / pairs
        self.covariance_ = state.network.covariance * pairs
        self.objective_ = np.array(joint.fit.objective)
        self.n_bound_ = joint.fit.n_bound
        self.n_iter_ = joint.fit.n_iter
        self.converged_ = joint.fit.converged

    def _keep_findings(self, shown, joint, parts):
        """The tests, the hidden inputs that were covariates in them, and what speaks against trusting them."""
        scaler, preparation = self._scaler, joint.preparation
        self.input_test_, self.entry_test_ = association_tests(joint)
        # Arrays of this size are changed in place: with tens of thousands of inputs each is more than a gigabyte.
        for part in (self.entry_test_.weight, self.entry_test_.sd):
            part *= scaler.y_scale
            part /= scaler.x_scale[:, None]
        self.hidden_ = preparation.hidden * np.sqrt(len(preparation.hidden))
        self.hidden_loadings_ = shown.loadings * scaler.y_scale
        found = self._cautions(shown, parts, joint)
        for caution in found:
            warnings.warn(caution_text(caution), UserWarning, stacklevel=3)
        self.cautions_ += found

    def _keep_network(self, shown, joint):
        """The tests of edges, in the units of the data."""
        found = network_test(joint, shown.loadings)
        self.edge_test_ = replace(
            found, precision=found.precision / np.outer(self._scaler.y_scale, self._scaler.y_scale)
        )

    def _copies(self, dependent: Mapping[int, list[int]]) -> list[dict]:
        """The caution of outputs that follow from others, told before the long work."""
        names = self.target_labels_
        outputs = {names[j]: [names[k] for k in others] for j, others in dependent.items()}
        if not outputs:
            return []
        caution = {"code": "copies", "count": len(outputs), "outputs": dict(islice(outputs.items(), _MOST_COPIES))}
        warnings.warn(caution_text(caution), UserWarning, stacklevel=3)
        return [caution]

    def _cautions(self, shown, parts, joint) -> list[dict]:
        """Codes and numbers of what the tests cannot promise; ``findings.caution_text`` has the words."""
        cautions = []
        if not parts.entries and not np.isfinite(joint.state.alpha).any():
            called = len(self.entry_test_.selected(_FDR)[0])
            if called:
                cautions.append({"code": "marginal tests", "associations": called})
        if not isinstance(self.hidden, str):
            data = joint.preparation.filled.data
            evident = count_hidden(data.Y - shown.coef.fitted(data.X), fixed_rng(), data.gaps)
            if evident > parts.hidden:
                cautions.append({"code": "hidden inputs off", "evident": evident, "used": parts.hidden})
        return cautions


def _linear_algebra(m: int):
    """Several threads for matrices that are worth it, else one: the fit has threads of its own."""
    return nullcontext() if m >= _MANY_OUTPUTS else one_thread()


def _seed(random_state) -> int:
    return 0 if random_state is None else int(check_random_state(random_state).randint(2**31 - 1))
