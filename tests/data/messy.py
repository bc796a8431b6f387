"""Random cohorts with all that real ones have: missing values, duplicates, one-sided samples, several sample types."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from nard.data.cohort import prepare_omics
from nard.data.pathways import Pathways
from nard.data.tables import Table
from nard.project.config import validated

PATHWAYS = Pathways(
    pd.DataFrame(
        [
            ("A", "P1", "G1"),
            ("A", "P2", "G2;G3"),
            ("A", "P3", "G4"),
            ("B", "P4", "G5"),
            ("B", "P1", "G1"),
            ("B", "P5PS6", "G6"),
            ("C", "P6", "G7"),
            ("C", "P7", "G8;G2"),
            ("C", "P8", "G9"),
        ],
        columns=["pathway", "protein", "gene"],
    )
)
_DEFAULTS = validated({"cohorts": {"A": {"source": "simulated"}}})["preprocessing"]
FILES = {"inputs": "mrna.tsv", "outputs": "rppa.tsv"}
STYLES = ("aliquot", "sample", "patient", "dotted", "plain")


def options(**changed):
    """The options of a preparation: the defaults of the config but for ``changed``."""
    return {**_DEFAULTS, **changed}


@dataclass
class Cohort:
    inputs: Table
    outputs: Table
    styles: tuple[str, str]

    def prepare(self, files=None, **changed):
        cancer = "LUAD" if self.outputs.cancers is not None else None
        return prepare_omics(
            (self.inputs, self.outputs), {**FILES, **(files or {})}, PATHWAYS, options(**changed), cancer
        )


def messy_cohort(seed, n_patients=70, styles=None, gaps=None):
    """Two tables (samples × features) of one cohort. Values are all different, but for constant features."""
    rng = np.random.default_rng([17, seed])
    if styles is None:
        styles = tuple(rng.choice(STYLES[:4], 2)) if rng.random() < 0.8 else ("plain", "plain")
    common = rng.choice(["01", "06"])
    cancers = rng.random() < 0.3
    tables = []
    for style, features in zip(styles, (_genes(rng), _proteins(rng)), strict=True):
        samples = _samples(rng, n_patients, style, common)
        values = pd.DataFrame(8 + rng.standard_normal((len(samples), len(features))), samples, features)
        values = _spoilt(values, rng, gaps)
        if style == "plain":
            # The same sample twice, with equal values.
            values = pd.concat([values, values.iloc[:2]])
        tables.append(Table(values.iloc[rng.permutation(len(values))], "made up", ({"code": "decimal commas"},)))
    if cancers:
        values = tables[1].values
        mine = rng.random(len(values)) < 0.85
        if styles[1] == "plain":
            mine[:] = True
        of_sample = pd.Series(np.where(mine, "LUAD", "LUSC"), values.index, dtype=object)
        tables[1] = Table(values, "TCPA level 4", (), of_sample)
    return Cohort(*tables, styles)


def _genes(rng):
    names = [*PATHWAYS.genes, *(f"OTHER{i}" for i in range(6))]
    names = [f"{name}|{rng.integers(1, 10**5)}" if rng.random() < 0.3 else name for name in names]
    # Some a second time under another spelling, and one that is absent.
    again = [f"{name.split('|')[0]}|{10**6 + i}" for i, name in enumerate(names) if rng.random() < 0.15]
    absent = names[rng.integers(len(PATHWAYS.genes))]
    return rng.permutation([name for name in [*names, *again] if name != absent])


def _proteins(rng):
    names = [*PATHWAYS.proteins, *(f"EXTRA{i}" for i in range(5))]
    again = [f"{name.lower()[:1]}-{name[1:]}-R-V" for name in names if rng.random() < 0.15]
    absent = names[rng.integers(len(PATHWAYS.proteins))]
    return rng.permutation([name for name in [*names, *again] if name != absent])


def _samples(rng, n_patients, style, common):
    names = []
    for i in range(n_patients):
        if rng.random() < 0.08:
            continue
        if style == "plain":
            names.append(f" patient {i}" if rng.random() < 0.2 else f"patient {i}")
            continue
        patient = f"TCGA-AB-{1000 + i}"
        if style == "patient":
            names.append(patient)
            continue
        types = {common} if rng.random() < 0.9 else {str(rng.choice(["01", "06", "11", "20"]))}
        if rng.random() < 0.15:
            types.add(str(rng.choice(["01", "06", "11"])))
        for code in sorted(types):
            names += [f"{patient}-{code}"] if style == "sample" else _aliquots(rng, f"{patient}-{code}")
    return [name.replace("-", ".").lower() for name in names] if style == "dotted" else names


def _aliquots(rng, sample):
    vials = "AB" if rng.random() < 0.15 else "A"
    return [f"{sample}{vial}-{rng.integers(11, 99)}R-A0{rng.integers(10, 99)}-07" for vial in vials]


def _spoilt(values, rng, gaps):
    share = rng.choice([0.0, 0.003, 0.02]) if gaps is None else gaps
    values = values.mask(rng.random(values.shape) < share)
    # How a feature is spoilt: by which value, in what share of the samples, with which chance.
    kinds = ((None, 0.0, 0.75), (np.nan, 1.0, 0.06), (np.nan, 0.5, 0.07), (3.0, 1.0, 0.06), (3.0, 0.7, 0.06))
    for i, kind in enumerate(rng.choice(len(kinds), values.shape[1], p=[chance for _, _, chance in kinds])):
        value, affected, _ = kinds[kind]
        rows = rng.random(len(values)) < affected
        if value is not None:
            values.iloc[rows, i] = value
    return values
