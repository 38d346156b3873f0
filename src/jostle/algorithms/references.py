"""The papers that the algorithms come from."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True)
class Reference:
    """A paper."""

    authors: str
    """As printed."""

    title: str
    """As printed."""

    venue: str
    """Where it appeared."""

    year: int
    """When."""

    def __str__(self) -> str:
        return f"{self.authors}: {self.title}. {self.venue}, {self.year}."


REFERENCES: Final = MappingProxyType(
    {
        "dwork2006calibrating": Reference(
            "C. Dwork, F. McSherry, K. Nissim, A. Smith",
            "Calibrating noise to sensitivity in private data analysis",
            "TCC",
            2006,
        ),
        "hay2016principled": Reference(
            "M. Hay, A. Machanavajjhala, G. Miklau, Y. Chen, D. Zhang",
            "Principled evaluation of differentially private algorithms using DPBench",
            "SIGMOD",
            2016,
        ),
        "qardaji2013understanding": Reference(
            "W. Qardaji, W. Yang, N. Li",
            "Understanding hierarchical methods for differentially private histograms",
            "PVLDB 6(14)",
            2013,
        ),
    }
)
