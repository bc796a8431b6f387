"""Names: TCGA barcodes, antibodies and genes, each in one spelling whatever file they come from."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection, Iterable

__all__ = [
    *("antibody_key", "antibody_name", "barcode", "composed", "gene_key", "gene_name", "is_barcode", "is_identifier"),
    *("is_list", "nearest", "patient", "sample_type", "split_input", "unversioned"),
]

_BARCODE = re.compile(r"TCGA-[A-Z0-9]{2}-[A-Z0-9]{4}(-\d{2}[A-Z]?(-.*)?)?$")
_IDENTIFIER = re.compile(r"(ENS[A-Z]*G\d{11})(\.\d+)?(_PAR_Y)?$", re.IGNORECASE)
_VENDOR_SUFFIX = re.compile(r"-(R|M|G)-(V|C|E|NA|QC)$")

# Spellings that no rule joins.
_ANTIBODY_ALIASES = {
    "HER3PY1298": "HER3PY1289",
    "JNKPT183PY185": "JNKPT183Y185",
    "JNKPT183PT185": "JNKPT183Y185",
    "JNKPT183T185": "JNKPT183Y185",
    "4EBP1PT37": "4EBP1PT37T46",
    "LBK1": "LKB1",
    "ANNEXINI": "ANNEXIN1",
}
# Symbols that were renamed after the TCGA files were made.
_GENE_ALIASES = {"MRE11": "MRE11A"}


def antibody_name(name: str) -> str:
    """An antibody as its file spells it, without its gene and its vendor.

    Examples
    --------
    >>> antibody_name("GSK3A GSK3B|GSK3-alpha-beta_pS21_S9-R-V")
    'GSK3-alpha-beta_pS21_S9'
    """
    return _VENDOR_SUFFIX.sub("", name.split("|")[-1].strip())


def antibody_key(name: str) -> str:
    """One key for all spellings of an antibody.

    Examples
    --------
    >>> {antibody_key(name) for name in ("4E-BP1_pS65-R-V", "EIF4EBP1|4E-BP1_pS65", "X4EBP1_pS65", "4EBP1PS65")}
    {'4EBP1PS65'}
    """
    key = re.sub(r"^X(?=\d)", "", re.sub(r"[\W_]", "", antibody_name(name)).upper())
    return _ANTIBODY_ALIASES.get(key, key)


def gene_name(name: str) -> str:
    """A gene symbol as its file spells it, without its Entrez number."""
    return name.split("|")[0].strip()


def gene_key(name: str) -> str:
    """A gene symbol without its Entrez number, in the spelling of the TCGA files.

    Examples
    --------
    >>> gene_key("TP53|7157"), gene_key("MRE11")
    ('TP53', 'MRE11A')
    """
    key = gene_name(name)
    return _GENE_ALIASES.get(key, key)


def barcode(name: str) -> str:
    """A TCGA barcode with dashes and in capitals; any other sample name without outer spaces, otherwise as it is.

    Examples
    --------
    >>> barcode("tcga.aa.3521.01A"), barcode(" patient 7 ")
    ('TCGA-AA-3521-01A', 'patient 7')
    """
    dashed = name.strip().upper().replace(".", "-")
    return dashed if _BARCODE.match(dashed) else name.strip()


def is_barcode(name: str) -> bool:
    return _BARCODE.match(name) is not None


def is_identifier(name: str) -> bool:
    """Whether a gene is named by its identifier of Ensembl, with or without version."""
    return _IDENTIFIER.match(name) is not None


def unversioned(name: str) -> str:
    """An identifier of Ensembl without its version; any other name without outer spaces, otherwise as it is.

    Examples
    --------
    >>> unversioned("ENSG00000141510.18"), unversioned("HLA-A ")
    ('ENSG00000141510', 'HLA-A')
    """
    found = _IDENTIFIER.match(name.strip())
    return found[1].upper() if found else name.strip()


def split_input(name: str, parts: Collection[str]) -> tuple[str, str]:
    """The part and the gene of an input that is called by both; of any other input no part, and its name.

    Examples
    --------
    >>> split_input("protein:TP53", ("mrna", "protein")), split_input("HLA:A", ())
    (('protein', 'TP53'), ('', 'HLA:A'))
    """
    part, colon, gene = name.partition(":")
    return (part, gene) if colon and part in parts else ("", name)


def patient(name: str) -> str:
    return name[:12]


def sample_type(name: str) -> str | None:
    """Two digits: 01 primary tumour, 06 metastasis, 11 normal tissue; None where the barcode ends at the patient."""
    return name[13:15] or None


def composed(value):
    """A text, or the texts in lists and mappings, with each accent in one character with its letter.

    Examples
    --------
    >>> composed(["e\u0301"]) == ["\u00e9"]
    True
    """
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, dict):
        return {composed(key): composed(each) for key, each in value.items()}
    return [composed(each) for each in value] if isinstance(value, list) else value


def nearest(name: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """The known name that is spelt most alike, if any is at least so much ``alike`` (1: equal but for case)."""
    by_key = {candidate.upper(): candidate for candidate in known}
    found = difflib.get_close_matches(name.upper(), by_key, n=1, cutoff=alike)
    return by_key[found[0]] if found else None


def is_list(choice) -> bool:
    """Whether an option such as `genes` names a file with the names to keep: it is neither a word nor a number.

    Examples
    --------
    >>> is_list("pathway"), is_list(2000), is_list("kinases.txt")
    (False, False, True)
    """
    return isinstance(choice, str) and choice not in ("pathway", "all")
