"""Choosing the algorithm: features of the input, selectors that are trained on public data, Pythia, and traces."""
