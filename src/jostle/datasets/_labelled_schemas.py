"""What the documentation of public tables says about their columns. Nothing here was read from the records."""

from __future__ import annotations

from typing import Final

from jostle.schema import Category, Column, Integer, Real, Schema


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_EDUCATION = _words(
    "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college Assoc-voc Assoc-acdm "
    "Bachelors Masters Prof-school Doctorate"
)

_COUNTRIES = _words(
    "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan "
    "Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal "
    "Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua "
    "Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands"
)

ADULT: Final = Schema(
    {
        "age": Integer(17, 90),
        "workclass": Category(
            _words("Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked")
        ),
        "fnlwgt": Real(10_000, 1_500_000, bins=32, spacing="log"),
        "education": Category(_EDUCATION),
        "education-num": Integer(1, 16),
        "marital-status": Category(
            _words("Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse")
        ),
        "occupation": Category(
            _words(
                "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
                "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv "
                "Armed-Forces"
            )
        ),
        "relationship": Category(_words("Wife Own-child Husband Not-in-family Other-relative Unmarried")),
        "race": Category(_words("White Asian-Pac-Islander Amer-Indian-Eskimo Other Black")),
        "sex": Category(["Female", "Male"]),
        "capital-gain": Real(0, 99_999, bins=32, spacing="log"),
        "capital-loss": Real(0, 5_000, bins=32, spacing="log"),
        "hours-per-week": Integer(1, 99),
        "native-country": Category(_COUNTRIES),
        "income": Category(["<=50K", ">50K"]),
    }
)
"""Census income of 1994 (R. Kohavi, B. Becker). Incomes and weights are spread over orders of magnitude: log bins."""

NURSERY: Final = Schema(
    {
        "parents": Category(["usual", "pretentious", "great_pret"]),
        "has_nurs": Category(_words("proper less_proper improper critical very_crit")),
        "form": Category(["complete", "completed", "incomplete", "foster"]),
        "children": Category(["1", "2", "3", "more"]),
        "housing": Category(["convenient", "less_conv", "critical"]),
        "finance": Category(["convenient", "inconv"]),
        "social": Category(["nonprob", "slightly_prob", "problematic"]),
        "health": Category(["recommended", "priority", "not_recom"]),
        "class": Category(_words("not_recom recommend very_recom priority spec_prior")),
    }
)
"""Applications for nursery schools (V. Rajkovic)."""

CONTRACEPTIVE: Final = Schema(
    {
        "wife_age": Integer(15, 49),
        "wife_education": Integer(1, 4),
        "husband_education": Integer(1, 4),
        "children": Integer(0, 15),
        "wife_religion": Category([0, 1]),
        "wife_working": Category([0, 1]),
        "husband_occupation": Category([1, 2, 3, 4]),
        "standard_of_living": Integer(1, 4),
        "media_exposure": Category([0, 1]),
        "method": Category([1, 2, 3]),
    }
)
"""A survey among married women of 1987 (T.-S. Lim). Such surveys ask women from 15 to 49."""

HIV: Final = Schema(
    {f"p{place}": Category(list("ACDEFGHIKLMNPQRSTVWY")) for place in range(1, 9)} | {"cleaved": Category([-1, 1])}
)
"""Octamers of amino acids and whether the HIV-1 protease cleaves them (T. Rögnvaldsson)."""

SKIN: Final = Schema({"r": Integer(0, 255), "g": Integer(0, 255), "b": Integer(0, 255), "skin": Category([1, 2])})
"""Colours of pixels, and whether they show skin (R. Bhatt, A. Dhall)."""


def _credit() -> dict[str, Column]:
    columns: dict[str, Column] = {
        "limit": Real(0, 1_000_000, bins=64, spacing="log"),
        "sex": Category([1, 2]),
        "education": Category([1, 2, 3, 4]),
        "marriage": Category([1, 2, 3]),
        "age": Integer(18, 80),
    }
    months = (1, 2, 3, 4, 5, 6)
    columns |= {f"status_{month}": Integer(-2, 9) for month in months}  # months of delay; 0 and below: none
    columns |= {f"bill_{month}": Real(0, 1_000_000, bins=64, spacing="log") for month in months}
    columns |= {f"paid_{month}": Real(0, 1_000_000, bins=64, spacing="log") for month in months}
    return columns | {"default": Category([0, 1])}


CREDIT: Final = Schema(_credit())
"""Credit card clients and whether they default (I.-C. Yeh). Amounts are in dollars of Taiwan; negative bills count as 0."""
