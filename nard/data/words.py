"""What a preparation did, in words: a clause or a sentence for every code of a fact.

Facts travel as codes with numbers and names (:mod:`nard.data.ledger`); words are made last, and nobody reads them back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["dropped_lines", "told", "with_words", "words"]

_WORDS = {
    # Why samples or features were left out.
    "another cancer": "another cancer than {cancer}",
    "filter": "filter: {filter}",
    "no age": "no {column}",
    "no covariate": "no value of {columns}",
    "mostly missing": "more than half of the values missing",
    "incomplete": "a missing value among the features kept",
    "empty": "no value in any sample",
    "few values": "more than {limit:.0%} of the values missing",
    "constant": "constant",
    "mostly one value": "the same value in at least half of the samples (`outliers: rank_normal` or none keeps such "
    "features)",
    "unrelated to age": "not correlated with {column}",
    "explained": "explained entirely by {columns}",
    "unmatched": "not measured among the {other}",
    "no barcode": "not a TCGA barcode",
    "no sample type": "a barcode without sample type",
    "sample type": "sample type {type}, kept: {kept} (`preprocessing.sample_types`)",
    "aliquot": "another aliquot of the same sample; first one kept",
    "second sample type": "a second sample type of the same patient; first one kept",
    "repeated sample": "the same sample twice with equal values",
    "repeated feature": "the same feature twice; the most complete, then the most variable, is kept",
    "less variable": "not among the {number} most variable",
    "not asked for": "not among the features asked for",
    # What was found in a file.
    "read": "{file} read as {layout}",
    "utf-16": "the text is encoded as UTF-16",
    "latin-1": "the text is not UTF-8 and was read as Latin-1: names with accents may look odd",
    "commented header": "line {line} was taken as the header, although it begins with #",
    "comments": "{count} comment line(s) skipped",
    "short header": "the header has one cell less than the rows, whose first cells were taken as their names",
    "decimal commas": "numbers have decimal commas",
    "one of several": "of the columns of each sample, {column!r} was taken",
    "descriptions": "columns that describe the samples left out: {columns}",
    "blank columns": "{count} blank column(s) dropped",
    "unnamed": "{count} feature(s) without a name or symbol dropped",
    "joined": "{count} repeated name(s) joined by the {how}",
    "symbols": "genes are named by their symbols, without the Entrez numbers of the file",
    "formulas": "{count} name(s) begin like a formula ({examples}): a spreadsheet that opens the results would run "
    "them, so rename them, or read the tables by other programs",
    "other files": "{count} other file(s) in the folder skipped: {files}",
    # What was done to samples and values.
    "patients": "barcodes end at the patient, so samples are matched by patient, whatever their type",
    "more patients": "sample type {type} was taken ({patients} patients with both measurements); {more} more patients "
    "have them under other types: `preprocessing.sample_types: patient` takes these too",
    "several covariates": "covariates: {count} samples have several rows that differ; the first was taken",
    "few samples": "only {count} samples: few findings can be expected, and their error rates are less certain",
    "absent": "{count} asked for but not in the file: {names}",
    "looks raw": "values up to {largest:.4g} look like raw counts, but `log: false` leaves them as they are",
    "logarithms": "log2(x + 1) taken of values between {smallest:.4g} and {largest:.4g}",
    "filled in": "{count} missing values ({share:.2%}) filled in ({how})",
    "normal scores": "normal scores in place of the values",
    "winsorised": "{count} outliers ({share:.2%}) pulled in to five robust standard deviations",
    "adjusted": "adjusted for {columns}",
    # What a user may want to change.
    "many outputs": "{samples} samples for {outputs} outputs: edges between outputs will hardly be found; fewer "
    "outputs (`preprocessing.proteins`) or more samples help",
    "many incomplete": "{count} samples were lost to single missing values: `preprocessing.max_missing` below "
    "{limit:g} drops features instead, `impute: knn` fills them in",
    "heavy tails": "{count} of the {side} have heavy tails ({names}, …): `preprocessing.outliers: winsorise` or "
    "rank_normal guards the tests",
    "copies": "{one} and {other} are copies of each other: leave one out",
    "combination": "{one} is a combination of others ({names}): leave it or one of these out",
}


def words(fact: Mapping) -> str:
    """The fact, without the side that it is about; of names that were cut short, how many more there are."""
    details = dict(fact)
    if fact["code"] == "absent":
        listed = [f"{name} (nearest: {hint})" if hint else name for name, hint in fact["nearest"].items()]
        details |= {"names": [*listed, f"and {more} more"] if (more := fact["count"] - len(listed)) else listed}
    elif fact["code"] == "other files":
        more = f" and {fact['count'] - len(fact['files'])} more" if fact["count"] > len(fact["files"]) else ""
        details |= {"files": ", ".join(map(repr, fact["files"])) + more}
    details |= {key: ", ".join(value) for key, value in details.items() if isinstance(value, list)}
    return _WORDS[fact["code"]].format(**details)


def with_words(facts: Sequence[Mapping]) -> list[dict]:
    """The facts for a file that people open: each with its words beside it, as ``text``."""
    return [{**fact, "text": words(fact)} for fact in facts]


def told(note: Mapping) -> str:
    """A note in words, after the side that it is about if it is about one."""
    return f"{note['side']}: {words(note)}" if "side" in note else words(note)


def dropped_lines(dropped: Sequence[Mapping], n_names: int = 0) -> list[str]:
    """What was left out; what went on both sides for one reason takes one line."""
    lines: dict[tuple[str, str], list[str]] = {}
    for row in dropped:
        noun = row["what"] if row["count"] != 1 else row["what"].removesuffix("s")
        shown = ", ".join(row["names"][:n_names]) + (", …" if row["count"] > n_names else "")
        after = f"left out: {words(row)}" + (f" ({shown})" if n_names else "")
        lines.setdefault((f"{row['count']} {noun}", after), []).append(row["side"])
    return [f"{count} ({' and '.join(sides)}) {after}" for (count, after), sides in lines.items()]
