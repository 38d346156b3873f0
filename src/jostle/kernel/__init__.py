"""The trusted part of jostle: everything that privacy rests on, and nothing else.

It imports no other part of jostle. Each operator, strategy and statistic has its proof in `docs/proofs/`.
"""
