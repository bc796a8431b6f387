"""How publications are cited: in a text by authors and year, in a list of references in full."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Publication"]


@dataclass(frozen=True)
class Publication:
    """What is cited; ``authors`` are separated by commas, surnames first, ``rest`` is title and place.

    Examples
    --------
    >>> from nard.fits.publications import Publication
    >>> Publication("Owen AB, Wang J", 2016, "Bi-cross-validation.").cited
    'Owen and Wang 2016'
    """

    authors: str
    year: int
    rest: str

    @property
    def cited(self) -> str:
        first, *others = (author.split()[0] for author in self.authors.split(", "))
        if len(others) > 1 or self.authors.endswith("et al."):
            return f"{first} et al. {self.year}"
        return f"{' and '.join([first, *others])} {self.year}"

    @property
    def reference(self) -> str:
        return f"{self.authors} ({self.year}). {self.rest}"
