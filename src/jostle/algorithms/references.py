"""The papers that algorithms and learners come from, by the key under which a registration cites them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

_PAPERS: Final = """
acs2012differentially
    G. Ács, C. Castelluccia, R. Chen: Differentially private histogram publishing through lossy compression. ICDM, 2012.
blum2005practical
    A. Blum, C. Dwork, F. McSherry, K. Nissim: Practical privacy: the SuLQ framework. PODS, 2005.
chaudhuri2011differentially
    K. Chaudhuri, C. Monteleoni, A. D. Sarwate: Differentially private empirical risk minimization. Journal of Machine
    Learning Research 12, 2011.
cormode2012differentially
    G. Cormode, C. Procopiuc, D. Srivastava, E. Shen, T. Yu: Differentially private spatial decompositions. ICDE, 2012.
dwork2006calibrating
    C. Dwork, F. McSherry, K. Nissim, A. Smith: Calibrating noise to sensitivity in private data analysis. TCC, 2006.
fletcher2015differentially
    S. Fletcher, M. Z. Islam: A differentially private decision forest. AusDM, 2015.
friedman2010data
    A. Friedman, A. Schuster: Data mining with differential privacy. KDD, 2010.
hardt2012simple
    M. Hardt, K. Ligett, F. McSherry: A simple and practical algorithm for differentially private data release. NIPS,
    2012.
hay2010boosting
    M. Hay, V. Rastogi, G. Miklau, D. Suciu: Boosting the accuracy of differentially private histograms through
    consistency. PVLDB 3(1), 2010.
hay2016principled
    M. Hay, A. Machanavajjhala, G. Miklau, Y. Chen, D. Zhang: Principled evaluation of differentially private algorithms
    using DPBench. SIGMOD, 2016.
jagannathan2009practical
    G. Jagannathan, K. Pillaipakkamnatt, R. N. Wright: A practical differentially private random decision tree
    classifier. ICDM Workshops, 2009.
kotsogiannis2017pythia
    I. Kotsogiannis, A. Machanavajjhala, M. Hay, G. Miklau: Pythia: data dependent differentially private algorithm
    selection. SIGMOD, 2017.
li2014data
    C. Li, M. Hay, G. Miklau, Y. Wang: A data- and workload-aware algorithm for range queries under differential privacy.
    PVLDB 7(5), 2014.
mckenna2018optimizing
    R. McKenna, G. Miklau, M. Hay, A. Machanavajjhala: Optimizing error of high-dimensional statistical queries under
    differential privacy. PVLDB 11(10), 2018.
mohammed2011differentially
    N. Mohammed, R. Chen, B. C. M. Fung, P. S. Yu: Differentially private data release for data mining. KDD, 2011.
patil2014differential
    A. Patil, S. Singh: Differential private random forest. ICACCI, 2014.
qardaji2013differentially
    W. Qardaji, W. Yang, N. Li: Differentially private grids for geospatial data. ICDE, 2013.
qardaji2013understanding
    W. Qardaji, W. Yang, N. Li: Understanding hierarchical methods for differentially private histograms. PVLDB 6(14),
    2013.
robbins1956empirical
    H. Robbins: An empirical Bayes approach to statistics. Third Berkeley Symposium on Mathematical Statistics, 1956.
xiao2010wavelet
    X. Xiao, G. Wang, J. Gehrke: Differential privacy via wavelet transforms. ICDE, 2010.
xiao2014dpcube
    Y. Xiao, L. Xiong, L. Fan, S. Goryczka, H. Li: DPCube: differentially private histogram release through
    multidimensional partitioning. Transactions on Data Privacy 7(3), 2014.
wang2018revisiting
    Y.-X. Wang: Revisiting differentially private linear regression: optimal and adaptive prediction & estimation in
    unbounded domain. UAI, 2018.
xu2012differentially
    J. Xu, Z. Zhang, X. Xiao, Y. Yang, G. Yu: Differentially private histogram publication. ICDE, 2012.
zhang2014towards
    X. Zhang, R. Chen, J. Xu, X. Meng, Y. Xie: Towards accurate histogram publication under differential privacy. SDM,
    2014.
"""


@dataclass(frozen=True)
class Reference:
    """A paper."""

    authors: str
    title: str
    venue: str
    year: int

    @classmethod
    def parse(cls, text: str) -> Reference:
        """Read a citation as it is printed.

        >>> Reference.parse("S. Fletcher, M. Z. Islam: A differentially private decision forest. AusDM, 2015.").venue
        'AusDM'
        """
        found = re.fullmatch(r"(.+?): (.+)\. (.+), (\d{4})\.", " ".join(text.split()))
        if found is None:
            raise ValueError(f"{text!r} is no citation: write Authors: Title. Venue, year.")
        authors, title, venue, year = found.groups()
        return cls(authors, title, venue, int(year))

    def __str__(self) -> str:
        return f"{self.authors}: {self.title}. {self.venue}, {self.year}."


REFERENCES: Final = MappingProxyType(
    {key: Reference.parse(text) for key, text in re.findall(r"^(\w+)\n((?: {4}.+\n)+)", _PAPERS, re.MULTILINE)}
)
