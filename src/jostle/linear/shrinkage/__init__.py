"""Empirical Bayes and its relatives: post-processing that shrinks noisy counts."""
