"""From raw tables to the X and Y of a fit, with an account of everything that was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from scipy.special import stdtr

from nard.data.cleaning import adjusted, drop_constant, fill_missing, logged, standardised, tamed, thin_missing
from nard.data.copies import dependent_outputs
from nard.data.covariates import person, read_covariates
from nard.data.expressions import rows_where
from nard.data.features import choose_features, complementary, one_spelling, spelt, wanted_names
from nard.data.ledger import Ledger
from nard.data.names import antibody_key, antibody_name, gene_key, gene_name, nearest, split_input
from nard.data.pathways import Pathways
from nard.data.samples import match_samples
from nard.data.sheets import is_date
from nard.data.spellings import aliases, as_named, recognised
from nard.data.tables import Table, read_pair
from nard.data.words import words
from nard.errors import DataError
from nard.inputs import check_magnitudes

__all__ = ["Prepared", "prepare_aging", "prepare_omics", "read_cohort", "read_omics"]

FEWEST_SAMPLES = 20
_COMFORTABLE_SAMPLES = 60
_DATES_AS_NUMBERS = "\n  to fix: make it a number, such as days since the first date, or leave it out"
_RANGE = ("lowest", "median", "highest")
_AGE_COLUMNS = ["side", "feature", "correlation", "pvalue", "qvalue", "kept"]


@dataclass(frozen=True)
class Prepared:
    """X and Y of one cohort (samples × features), the account of their preparation, and correlations with age.

    ``age`` has no rows where there are no ages. ``labels`` maps, for each side, names of features to the spelling of
    their file, where that is another; ``parts`` are the tables of the inputs if there are several. ``ages`` are the
    range of ages of an aging cohort, and whether it was adjusted. ``dependent`` are the outputs that followed from
    others before missing values and outliers were dealt with.
    """

    X: pd.DataFrame
    Y: pd.DataFrame
    ledger: Ledger
    age: pd.DataFrame
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: {"inputs": {}, "outputs": {}})
    parts: Sequence[str] = ()
    ages: Mapping | None = None
    dependent: Mapping[str, list[str]] = field(default_factory=dict)


def read_omics(
    inputs: str, outputs: str, orientation: str, pathways: Pathways, gene_names: str | None = None
) -> tuple[Table, Table]:
    """The two tables of a cohort, with the genes of pathways under the pathways' names.

    Names of pathway members tell samples from features where barcodes do not. ``gene_names`` is a file of other names
    and symbols.
    """
    known = {"known_inputs": [*pathways.genes, *aliases()], "known_outputs": pathways.proteins}
    X, Y = read_pair(inputs, outputs, orientation=orientation, **known)
    notes = _misplaced(X, Y, pathways)
    genes, proteins = _likeness(X, pathways)
    # BIM is an older name of a gene, and today's name of its protein.
    X = recognised(X, pathways.genes if genes >= proteins else (), gene_names)
    Y = recognised(Y, ())
    return X, replace(Y, notes=(*Y.notes, *notes))


def read_cohort(files: Mapping[str, str], orientation: str, pathways: Pathways) -> tuple[dict[str, Table], Table]:
    """The tables of a cohort by the config keys that name its files: those of the inputs by part, and the outputs.

    One table of inputs, under the key ``inputs``, is the part of no name; several have keys such as ``inputs.mrna``.
    """
    parts: dict[str, Table] = {}
    for key, path in files.items():
        name, _, part = key.partition(".")
        if name == "inputs":
            parts[part], Y = read_omics(path, files["outputs"], orientation, pathways, files.get("gene_names"))
    return parts, Y


def _misplaced(X: Table, Y: Table, pathways: Pathways) -> list[dict]:
    """Whether the two tables are the same, or seem to stand in each other's place."""
    if X.values.shape == Y.values.shape and X.values.equals(Y.values):
        return [{"code": "same table"}]
    (genes_of_X, proteins_of_X), (genes_of_Y, proteins_of_Y) = (_likeness(table, pathways) for table in (X, Y))
    return [{"code": "swapped"}] if genes_of_X < proteins_of_X and genes_of_Y > proteins_of_Y else []


def _likeness(table: Table, pathways: Pathways) -> tuple[float, float]:
    """Which share of the pathways' genes and which of their proteins the features are named like."""
    names = list(map(str, table.values.columns))
    genes, proteins = {gene_key(name).upper() for name in names}, set(map(antibody_key, names))
    found = sum(gene.upper() in genes for gene in pathways.genes), sum(name in proteins for name in pathways.proteins)
    return found[0] / len(pathways.genes), found[1] / len(pathways.proteins)


def prepare_omics(
    tables: tuple[Table | Mapping[str, Table], Table],
    files: Mapping[str, str],
    pathways: Pathways,
    options: Mapping,
    cancer: str | None = None,
) -> Prepared:
    """X (genes) and Y (proteins) of the samples that have both.

    The inputs may be several tables by part; their features are then called by part and gene, ``protein:TP53``, and
    each table goes through its own choice of features and its own logarithm.
    """
    ledger = Ledger()
    X, outputs = tables
    parts = X if isinstance(X, Mapping) else {"": X}
    genes = wanted_names(options["genes"], pathways.genes, "genes"), gene_key, gene_name
    proteins = wanted_names(options["proteins"], pathways.proteins, "proteins"), antibody_key, antibody_name
    inputs, wanted, labels = _inputs(parts, files, genes, options["sample_types"], cancer, ledger)
    files = {"inputs": ", ".join(files[_key(part)] for part in parts), **files}
    ledger.read("outputs", files["outputs"], outputs)
    values = _of_cancer(outputs, cancer, "outputs", files["outputs"], ledger)
    values, wanted["outputs"], labels["outputs"] = _spelt(outputs, values, "outputs", proteins, ledger)
    sides = dict(
        zip(
            ("inputs", "outputs"),
            match_samples(inputs, values, options["sample_types"], (files["inputs"], files["outputs"]), ledger),
            strict=True,
        )
    )
    covariates = _covariates(files, options["adjust"], sides, ledger)
    of_part = {part: [name for name in inputs if split_input(name, parts)[0] == part] for part in parts}
    chosen = [
        _chosen(sides["inputs"][of_part[part]], wanted[part], "inputs", files[_key(part)], options, ledger)
        for part in parts
    ]
    sides["inputs"] = chosen[0] if len(chosen) == 1 else pd.concat(chosen, axis=1)
    sides["outputs"] = _chosen(sides["outputs"], wanted["outputs"], "outputs", files["outputs"], options, ledger)
    finished = _finished(sides, covariates, options, files, ledger)
    return replace(finished, labels=labels, parts=tuple(filter(None, parts)))


def _key(part: str) -> str:
    """The config key that names the table of a part of the inputs."""
    return f"inputs.{part}" if part else "inputs"


def _inputs(parts, files, genes, sample_types, cancer, ledger: Ledger) -> tuple[pd.DataFrame, dict, dict]:
    """The tables of the inputs side by side, what is wanted of each, and labels; several on the samples of all."""
    joined: pd.DataFrame | None = None
    wanted: dict = {}
    labels: dict[str, str] = {}
    # Of several tables the account begins with the samples that are in all of them.
    of_samples = Ledger() if len(parts) > 1 else ledger
    for part, table in parts.items():
        file = files[_key(part)]
        ledger.read("inputs", file, table)
        values = _of_cancer(table, cancer, "inputs", file, of_samples)
        values, wanted[part], spelt = _spelt(table, values, "inputs", genes, ledger)
        if part:
            values = values.add_prefix(f"{part}:")
            spelt = {f"{part}:{name}": f"{part}:{label}" for name, label in spelt.items()}
            if isinstance(wanted[part], Sequence):
                wanted[part] = [f"{part}:{name}" for name in wanted[part]]
        labels |= spelt
        if joined is None:
            joined = values
        else:
            before = ", ".join(files[_key(other)] for other in list(wanted)[:-1])
            joined = pd.concat(match_samples(joined, values, sample_types, (before, file), of_samples), axis=1)
    assert joined is not None
    if len(parts) > 1:
        counts = [f"{part} {len(table.values)}" for part, table in parts.items()]
        ledger.note("joined tables", side="inputs", count=len(joined), names=counts)
        ledger.find("inputs", len(joined), sum(table.values.shape[1] for table in parts.values()))
    return joined, wanted, {"inputs": labels}


def _spelt(table: Table, values: pd.DataFrame, side: str, how: tuple, ledger: Ledger):
    """The features under one spelling, what is wanted of them, and the labels of those that had another.

    ``values`` are those of the table, of all its samples or of some.
    """
    names, key, readable = how
    if side == "inputs" and isinstance(names, list):
        names = as_named(names, table.values.columns)
    spelling, wanted = spelt(table, names, key)
    merged = complementary(values, spelling, wanted, side, ledger)
    values, old = one_spelling(*merged, side, ledger)
    return values, wanted, {name: readable(spelt_so) for name, spelt_so in old.items() if spelt_so != name}


def _chosen(values: pd.DataFrame, wanted, side: str, file: str, options: Mapping, ledger: Ledger) -> pd.DataFrame:
    """The wanted features of a table, on the scale of the fit, without those that lack too many values."""
    # A count of the most variable genes is meant on the scale of the fit, so it comes after the logarithm.
    if not isinstance(wanted, int):
        values = choose_features(values, wanted, side, file, ledger)
    if side == "inputs":
        values = logged(values, options["log"], side, file, ledger)
    values = thin_missing(values, options["max_missing"], side, ledger)
    if isinstance(wanted, int):
        values = drop_constant(values, options["outliers"], side, ledger)
        values = choose_features(values, wanted, side, file, ledger)
    return values


def prepare_aging(table: pd.DataFrame, settings: Mapping, file: str, options: Mapping) -> Prepared:
    """X (molecular) and Y (macro phenotypes) of the people whom the filter keeps.

    Phenotypes that do not correlate with age (Pearson, Benjamini and Hochberg at ``age_fdr``) are left out.
    """
    ledger = Ledger()
    blocks = {"inputs": settings["molecular"], "outputs": settings["macro"]}
    columns = {side: [name for block in blocks[side].values() for name in block] for side in blocks}
    _require_columns(table, [settings["age"], *columns["inputs"], *columns["outputs"], *options["adjust"]], file)
    if settings["id"] is not None:
        _require_columns(table, [settings["id"]], file)
        table = table.set_index(table[settings["id"]].astype(str))
        if table.index.has_duplicates:
            twice = table.index[table.index.duplicated()][0]
            raise DataError(
                f"{file}: {twice!r} appears more than once in the column {settings['id']!r} that names people."
            )
    else:
        table = table.set_index("row " + (table.index + 2).astype(str))
    sides = {}
    for side in ("inputs", "outputs"):
        sides[side] = _numbers(table[columns[side]], file)
        ledger.find(side, *sides[side].shape)
    age = _numbers(table[[settings["age"]]], file)[settings["age"]]

    kept = np.ones(len(table), dtype=bool)
    if settings["filter"]:
        kept = rows_where(table, settings["filter"])
        _drop_samples(sides, table.index[~kept], ledger, "filter", filter=settings["filter"])
    no_age = table.index[kept & age.isna().to_numpy()]
    _drop_samples(sides, no_age, ledger, "no age", column=settings["age"])
    for side in sides:
        sides[side] = thin_missing(sides[side], options["max_missing"], side, ledger)
    covariates = table.loc[sides["inputs"].index, options["adjust"]] if options["adjust"] else None
    return _finished(sides, covariates, options, {"inputs": file, "outputs": file}, ledger, age, settings)


def _finished(sides, covariates, options, files, ledger: Ledger, age=None, settings=None) -> Prepared:
    """The steps that both kinds of cohort share: missing values, outliers, age, covariates, scale."""
    numeric = [(table, files[side]) for side, table in sides.items()]
    numeric += [] if age is None else [(age.to_frame(), files["inputs"])]
    if covariates is not None:
        numeric += [(covariates.select_dtypes("number"), files.get("covariates", files["inputs"]))]
    for table, file in numeric:
        check_magnitudes(table.to_numpy(dtype=float), list(table.columns), file)
    if options["impute"] != "none":
        empty = (sides["inputs"].isna().mean(axis=1) > 0.5) | (sides["outputs"].isna().mean(axis=1) > 0.5)
        _drop_samples(sides, empty.index[empty], ledger, "mostly missing")
    # What is filled in, and normal scores, follow from others no longer.
    dependent = dependent_outputs(sides["outputs"])
    for side in sides:
        sides[side] = fill_missing(sides[side], options["impute"], side, ledger)
    incomplete = sides["inputs"].isna().any(axis=1) | sides["outputs"].isna().any(axis=1)
    _drop_samples(sides, incomplete.index[incomplete], ledger, "incomplete")
    if covariates is not None:
        covariates = covariates.loc[sides["inputs"].index]
        _require_no_dates(covariates, files.get("covariates", files["inputs"]))
        unknown = covariates.index[covariates.isna().any(axis=1)]
        _drop_samples(sides, unknown, ledger, "no covariate", columns=list(options["adjust"]))
        covariates = covariates.drop(index=unknown)
    _require_samples(sides, files, ledger)
    for side in sides:
        sides[side] = drop_constant(sides[side], options["outliers"], side, ledger)
        sides[side] = tamed(sides[side], options["outliers"], side, ledger)
    correlations, ages = pd.DataFrame(columns=_AGE_COLUMNS), None
    if age is not None:
        age = age.loc[sides["inputs"].index]
        if (age == age.iloc[0]).all():
            raise DataError(
                f"{files['inputs']}: everybody has the same {settings['age']}, {age.iloc[0]:g}, so that nothing "
                "correlates with it.\n  to fix: another column as `age`, or another `filter`"
            )
        ages = {
            "column": settings["age"],
            **{name: float(value) for name, value in zip(_RANGE, (age.min(), age.median(), age.max()), strict=True)},
            "adjusted": settings["age"] in options["adjust"],
        }
        correlations = _age_correlations(sides, age, settings["age_fdr"])
        for side in sides:
            rows = correlations[(correlations["side"] == side) & ~correlations["kept"]]
            ledger.drop(side, "features", rows["feature"].tolist(), "unrelated to age", column=settings["age"])
            sides[side] = sides[side].drop(columns=rows["feature"])
    for side in sides:
        if covariates is not None:
            sides[side] = adjusted(sides[side], covariates, side, ledger)
        if sides[side].shape[1] == 0:
            raise DataError(
                f"{files[side]}: no feature of the {side} is left after preparation.\n"
                + "".join(
                    f"  {row['count']} dropped: {words(row)}\n"
                    for row in ledger.dropped
                    if row["side"] == side and row["what"] == "features"
                )
                + "  to fix: loosen `preprocessing` (max_missing, genes, proteins) for this cohort"
            )
        if options["standardise"]:
            sides[side] = standardised(sides[side])
    return Prepared(sides["inputs"], sides["outputs"], ledger, correlations, ages=ages, dependent=dependent)


def _of_cancer(table: Table, cancer: str | None, side: str, file: str, ledger: Ledger) -> pd.DataFrame:
    if table.cancers is None or cancer is None:
        return table.values
    mine = (table.cancers == cancer).to_numpy()
    if not mine.any():
        known = sorted(table.cancers.dropna().unique())
        raise DataError(
            f"{file}: a table of several cancers, none of its rows is {cancer!r}.\n  found: {', '.join(known)}\n"
            "  to fix: set `cancer` of the cohort to one of these"
        )
    ledger.drop(side, "samples", table.values.index[~mine], "another cancer", cancer=cancer)
    return table.values[mine]


def _covariates(files: Mapping, adjust, sides, ledger: Ledger) -> pd.DataFrame | None:
    if not adjust:
        return None
    samples = sides["inputs"].index
    table, notes = read_covariates(files["covariates"], samples)
    for note in notes:
        ledger.note(**note)
    _require_columns(table, adjust, files["covariates"])
    table = table[list(adjust)]
    different = ~table.reset_index().duplicated().to_numpy()
    several = table.index[different][table.index[different].duplicated()].unique()
    if len(several):
        ledger.note("several covariates", count=len(several))
    # Of TCGA samples the covariates are those of the patient.
    return table[~table.index.duplicated()].reindex(list(map(person, samples))).set_axis(samples)


def _drop_samples(sides: dict[str, pd.DataFrame], names, ledger: Ledger, code: str, **details) -> None:
    for side in sides:
        ledger.drop(side, "samples", names, code, **details)
        sides[side] = sides[side].drop(index=names)


def _require_samples(sides, files, ledger: Ledger) -> None:
    n = len(sides["inputs"])
    if n >= FEWEST_SAMPLES:
        if n < _COMFORTABLE_SAMPLES:
            ledger.note("few samples", count=n)
        return
    gone = [f"{row['count']} ({row['side']}): {words(row)}" for row in ledger.dropped if row["what"] == "samples"]
    raise DataError(
        f"{n} samples are left, at least {FEWEST_SAMPLES} are needed.\n"
        f"  files: {', '.join(dict.fromkeys(files.values()))}\n"
        + "".join(f"  dropped {line}\n" for line in gone)
        + "  to fix: `preprocessing.max_missing` (lower drops more features and fewer samples), `impute`, or\n"
        "  `sample_types`; otherwise take the cohort out of the config"
    )


def _require_columns(table: pd.DataFrame, columns, file: str) -> None:
    twice = [name for name in columns if list(table.columns).count(name) > 1]
    if twice:
        raise DataError(f"{file}: the column {twice[0]!r} is there more than once.\n  expected: a name for each column")
    absent = [name for name in columns if name not in table]
    if absent:
        hints = []
        for name in absent:
            closest = nearest(name, map(str, table.columns))
            hints.append(f"  {name!r}: " + (f"did you mean {closest!r}?" if closest else "nothing alike"))
        raise DataError(f"{file}: {len(absent)} columns that the config names are not there.\n" + "\n".join(hints))


def _require_no_dates(covariates: pd.DataFrame, file: str) -> None:
    for name, column in covariates.items():
        known = column.dropna()
        if column.dtype == object and len(known) and all(map(is_date, known)):
            raise DataError(
                f"{file}: the column {name!r} to adjust for holds dates, such as {known.iloc[0]!r}.\n"
                "  expected: numbers or categories" + _DATES_AS_NUMBERS
            )


def _numbers(table: pd.DataFrame, file: str) -> pd.DataFrame:
    """The table as finite numbers; also those that are written like codes, 07.5."""
    for name in table.columns:
        values = pd.to_numeric(table[name], errors="coerce")
        texts = table[name][values.isna() & table[name].notna()]
        if len(texts):
            dates = sum(map(is_date, texts))
            raise DataError(
                f"{file}: column {name!r} holds {'dates' if dates else 'text'}, such as {texts.iloc[0]!r} "
                f"(row {texts.index[0]!r}).\n"
                "  expected: numbers, or NA" + (_DATES_AS_NUMBERS if dates else "")
            )
        infinite = values.index[np.isinf(values.astype(float))]
        if len(infinite):
            raise DataError(f"{file}: column {name!r} holds an infinite value (row {infinite[0]!r}).")
        table = table.assign(**{name: values.astype(float)})
    return table


def _age_correlations(sides, age: pd.Series, fdr: float) -> pd.DataFrame:
    """Pearson's correlation r of every feature with age, tested by t = r sqrt((n − 2)/(1 − r²)) with n − 2 degrees."""
    from nard.selection import qvalues  # brings the whole of the numerics, which other cohorts do not need

    values = pd.concat([sides["inputs"], sides["outputs"]], axis=1)
    degrees = len(age) - 2
    r = standardised(values).to_numpy().T @ standardised(age).to_numpy() / len(age)
    with np.errstate(divide="ignore"):
        t = r * np.sqrt(degrees / np.maximum(1 - r**2, 0.0))
    pvalue = 2 * stdtr(degrees, -np.abs(t))
    qvalue = qvalues(pvalue)
    side = np.repeat(["inputs", "outputs"], [sides["inputs"].shape[1], sides["outputs"].shape[1]])
    kept = (qvalue <= fdr) | (fdr == 1)
    return pd.DataFrame(dict(zip(_AGE_COLUMNS, (side, values.columns, r, pvalue, qvalue, kept), strict=True)))
