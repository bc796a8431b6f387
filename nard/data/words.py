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
    "merged": "another spelling of a feature that was measured in other samples; both are one now",
    "less variable": "not among the {number} most variable",
    "not asked for": "not among the features asked for",
    # What was found in a file.
    "read": "{file} read as {layout}",
    "utf-16": "the text is encoded as UTF-16",
    "latin-1": "the text is not UTF-8 and was read as Latin-1: names with accents may look odd",
    "commented header": "line {line} was taken as the header, although it begins with #",
    "numbered columns": "columns are named by numbers, such as {names}: is line {line} really a header?",
    "one sheet": "of the sheets of the workbook {sheet!r} was taken, not {others} ({file}#NAME takes another)",
    "comments": "{count} comment line(s) skipped",
    "short header": "the header has one cell less than the rows, whose first cells were taken as their names",
    "decimal commas": "numbers have decimal commas",
    "one of several": "of the columns of each sample, {column!r} was taken",
    "descriptions": "columns that describe the samples left out: {columns}",
    "date columns": "{count} column(s) of dates left out: {columns}. To use them, make them numbers, such as days "
    "since the first",
    "blank columns": "{count} blank column(s) dropped",
    "unnamed": "{count} feature(s) without a name or symbol dropped",
    "joined": "{count} repeated name(s) joined by the {how}",
    "joined tables": "{count} samples are in all of the tables of inputs ({names})",
    "symbols": "genes are named by their symbols, without the Entrez numbers of the file",
    "gene names": "{count} features renamed by {file} ({names})",
    "other case": "{count} genes of the pathways are spelt in other case and were renamed ({names})",
    "other names": "{count} genes of the pathways have older or other names and were renamed ({names})",
    "identifiers": "{count} features are named by identifiers of Ensembl ({names}): no pathway knows them. Give a "
    "table of identifiers and symbols as `gene_names`, in the config or with `nard init --gene-names`",
    "dates": "{count} features are named by dates or numbers ({names}), to which a spreadsheet turned the names of "
    "genes (SEPT2 to 2-Sep, MARCH1 to 1-Mar, 2310009E13Rik to 2.31E+13): export the table from its source again, with "
    "today's symbols (SEPTIN2, MARCHF1), or translate those of inputs by `gene_names`",
    "merged spellings": "{count} features stand under two spellings, each with values where the other has none: joined "
    "({names})",
    "same table": "the same table as the inputs, so that every feature would explain itself: name the file of the "
    "outputs as `outputs`",
    "swapped": "inputs and outputs seem to be swapped: the inputs are named like proteins, the outputs like genes. "
    "Exchange `inputs` and `outputs`, unless this is meant",
    "formulas": "{count} name(s) begin like a formula ({examples}): a spreadsheet that opens the results would run "
    "them, so rename them, or read the tables by other programs",
    "other files": "{count} other file(s) in the folder skipped: {files}",
    # What was done to samples and values.
    "patients": "barcodes end at the patient, so samples are matched by patient, whatever their type",
    "more patients": "sample type {type} was taken ({patients} patients with both measurements); {more} more patients "
    "have them under other types: `preprocessing.sample_types: patient` takes these too",
    "turned": "the samples are in its columns, so that the table was turned; it has {columns}",
    "named by": "the column {column!r} names the samples",
    "several covariates": "covariates: {count} samples have several rows that differ; the first was taken",
    "alike samples": "{count} samples of either file were not matched, whose names differ only in case or separators "
    "({names}): spell them alike if they are the same",
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
    "heavy tails": "{count} features have heavy tails ({names}, …): `preprocessing.outliers: winsorise` or "
    "rank_normal guards the tests",
    "skewed": "skewed like linear measurements, not like logarithms: half of the features have a skewness beyond "
    "{skewness:.1f}, their outliers left aside, and values reach from {smallest:.5g} to {largest:.5g}. "
    "`preprocessing.outliers: rank_normal` puts normal scores in their place, which changes the findings more than the "
    "choice of a method does",
    "pathways only": "{kept} of {found} features are in use, for `preprocessing.{option}: pathway` takes only those "
    "of the pathway table; {option}: all takes the others too",
    "sparse": "{count} features have the same value, such as zero, in at least half of the samples ({names}). Where "
    "they say present or absent rather than how much, the tests do not hold: join them or leave them out",
    "sparse left out": "{count} features ({names}) were left out since they have the same value, such as zero, in at "
    "least half of the samples: join them to sums, or keep them as ranks with ties by `preprocessing.outliers: "
    "rank_normal`",
    "age not adjusted": "nothing is adjusted for {column}, so that features are connected, too, only because both go "
    "with it: `preprocessing: {{adjust: [{column}]}}`",
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
