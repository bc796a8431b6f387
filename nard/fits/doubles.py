"""How many doubles a fit of NARD holds at its peak; for baselines the registry tells (nard/fits/methods.py)."""

from __future__ import annotations

__all__ = ["nard", "nard_by_entries", "nard_entries", "nard_from_all", "nard_of_thousands"]

# Of the entry-wise model: effects per output, and inputs that an effect keeps.
_EFFECTS, _KEPT = 32, 64


def nard(n: int, d: int, m: int, folds: int) -> int:
    """J's statistics at the rough pass, the best λ and the current one; the folds walk the path of λ together.

    There are two models, with hidden inputs and without, each with its rough pass.
    """
    points = 3 * (folds + 1) + 1
    # C⁻¹ with what it was made of, and C⁻¹Y. The few columns of X in use are there once more.
    by_samples = points * (2 * n * n + n * m)
    # XᵀC⁻¹X and Q; XᵀX and XᵀY once per fold, and three of their size on the way.
    by_inputs = (points + folds + 1 + 3) * (d * d + d * m)
    # R, Ω, its dual and inverse, penalties and the hyperprior's matrix.
    networks = points * 8 * m * m
    # Training and held-out samples of every fold, and two scaled copies; the samples without hidden inputs.
    samples = 2 * (folds + 2) * n * (d + m)
    # Both parts of the coefficients, their sum, in the units of the data and of the fit; estimates and deviations.
    return (by_samples if n < d else by_inputs) + networks + samples + 9 * d * m


def nard_entries(n: int, d: int, m: int, folds: int) -> int:
    """What the entry-wise part adds: up to three models to choose from, or one that predicts and one that tests."""
    models = 3 if folds else 2
    # Inputs, probabilities, means and variances of the effects of every model, of the folds or of two fits, and four
    # copies on the way.
    effects = (models + max(folds, 2) + 4) * 4 * m * _EFFECTS * min(_KEPT, d)
    statistics = (2 * n * n + n * m) if n < d else (3 * d * d + d * m)
    # Two of the models have samples without hidden inputs; two whitenings hold three copies of the inputs each.
    samples = 2 * n * (d + m) + 6 * n * d
    return effects + models * (statistics + 8 * m * m) + samples + 3 * d * m


def nard_by_entries(n: int, d: int, m: int, folds: int) -> int:
    """Where the column-wise part is not tried: the folds keep the inputs that their effects use."""
    effects = (folds + 4) * 4 * m * _EFFECTS * min(_KEPT, d)
    # Inputs as they are, scaled and without hidden inputs, those of one fold likewise, and products with all of them.
    samples = 6 * n * (d + m) + 2**24
    return effects + samples + (3 * (folds + 1) + 1) * 8 * m * m + 5 * d * m


def nard_of_thousands(n: int, d: int, m: int) -> int:
    """With so many outputs that coefficients and results are sparse, once the choice is made."""
    # R, Ψ, S and the penalties of up to three problems at a time, Ω with its dual of three points, what the graphical
    # lasso, the tests of edges and their weights hold, and expectations of missing values: 45 measured.
    networks = 55 * m * m
    effects = 8 * 4 * m * 8 * min(_KEPT, d)
    # Inputs as they are, scaled and without hidden inputs; squared lengths by output where values are missing.
    return networks + effects + 4 * n * (d + m) + 4 * d * m


def nard_from_all(n: int, d: int, m: int, folds: int) -> int:
    """Full and surrogate begin with every input: scaled copies of X (or of XᵀX), and W with its gradients."""
    return nard(n, d, m, folds) + 4 * min(n, d) * d + 8 * d * m
