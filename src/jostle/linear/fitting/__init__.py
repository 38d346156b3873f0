"""Least squares and projections: post-processing that makes noisy answers consistent."""
