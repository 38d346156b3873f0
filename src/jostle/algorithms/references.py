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
        "acs2012differentially": Reference(
            "G. Ács, C. Castelluccia, R. Chen",
            "Differentially private histogram publishing through lossy compression",
            "ICDM",
            2012,
        ),
        "chaudhuri2011differentially": Reference(
            "K. Chaudhuri, C. Monteleoni, A. D. Sarwate",
            "Differentially private empirical risk minimization",
            "Journal of Machine Learning Research 12",
            2011,
        ),
        "blum2005practical": Reference(
            "A. Blum, C. Dwork, F. McSherry, K. Nissim", "Practical privacy: the SuLQ framework", "PODS", 2005
        ),
        "fletcher2015differentially": Reference(
            "S. Fletcher, M. Z. Islam", "A differentially private decision forest", "AusDM", 2015
        ),
        "friedman2010data": Reference("A. Friedman, A. Schuster", "Data mining with differential privacy", "KDD", 2010),
        "jagannathan2009practical": Reference(
            "G. Jagannathan, K. Pillaipakkamnatt, R. N. Wright",
            "A practical differentially private random decision tree classifier",
            "ICDM Workshops",
            2009,
        ),
        "mohammed2011differentially": Reference(
            "N. Mohammed, R. Chen, B. C. M. Fung, P. S. Yu",
            "Differentially private data release for data mining",
            "KDD",
            2011,
        ),
        "patil2014differential": Reference("A. Patil, S. Singh", "Differential private random forest", "ICACCI", 2014),
        "cormode2012differentially": Reference(
            "G. Cormode, C. Procopiuc, D. Srivastava, E. Shen, T. Yu",
            "Differentially private spatial decompositions",
            "ICDE",
            2012,
        ),
        "dwork2006calibrating": Reference(
            "C. Dwork, F. McSherry, K. Nissim, A. Smith",
            "Calibrating noise to sensitivity in private data analysis",
            "TCC",
            2006,
        ),
        "hardt2012simple": Reference(
            "M. Hardt, K. Ligett, F. McSherry",
            "A simple and practical algorithm for differentially private data release",
            "NIPS",
            2012,
        ),
        "hay2010boosting": Reference(
            "M. Hay, V. Rastogi, G. Miklau, D. Suciu",
            "Boosting the accuracy of differentially private histograms through consistency",
            "PVLDB 3(1)",
            2010,
        ),
        "hay2016principled": Reference(
            "M. Hay, A. Machanavajjhala, G. Miklau, Y. Chen, D. Zhang",
            "Principled evaluation of differentially private algorithms using DPBench",
            "SIGMOD",
            2016,
        ),
        "kotsogiannis2017pythia": Reference(
            "I. Kotsogiannis, A. Machanavajjhala, M. Hay, G. Miklau",
            "Pythia: data dependent differentially private algorithm selection",
            "SIGMOD",
            2017,
        ),
        "li2014data": Reference(
            "C. Li, M. Hay, G. Miklau, Y. Wang",
            "A data- and workload-aware algorithm for range queries under differential privacy",
            "PVLDB 7(5)",
            2014,
        ),
        "mckenna2018optimizing": Reference(
            "R. McKenna, G. Miklau, M. Hay, A. Machanavajjhala",
            "Optimizing error of high-dimensional statistical queries under differential privacy",
            "PVLDB 11(10)",
            2018,
        ),
        "robbins1956empirical": Reference(
            "H. Robbins",
            "An empirical Bayes approach to statistics",
            "Third Berkeley Symposium on Mathematical Statistics",
            1956,
        ),
        "qardaji2013differentially": Reference(
            "W. Qardaji, W. Yang, N. Li", "Differentially private grids for geospatial data", "ICDE", 2013
        ),
        "qardaji2013understanding": Reference(
            "W. Qardaji, W. Yang, N. Li",
            "Understanding hierarchical methods for differentially private histograms",
            "PVLDB 6(14)",
            2013,
        ),
        "xiao2010wavelet": Reference(
            "X. Xiao, G. Wang, J. Gehrke",
            "Differential privacy via wavelet transforms",
            "ICDE",
            2010,
        ),
        "xiao2014dpcube": Reference(
            "Y. Xiao, L. Xiong, L. Fan, S. Goryczka, H. Li",
            "DPCube: differentially private histogram release through multidimensional partitioning",
            "Transactions on Data Privacy 7(3)",
            2014,
        ),
        "xu2012differentially": Reference(
            "J. Xu, Z. Zhang, X. Xiao, Y. Yang, G. Yu",
            "Differentially private histogram publication",
            "ICDE",
            2012,
        ),
        "zhang2014towards": Reference(
            "X. Zhang, R. Chen, J. Xu, X. Meng, Y. Xie",
            "Towards accurate histogram publication under differential privacy",
            "SDM",
            2014,
        ),
    }
)
