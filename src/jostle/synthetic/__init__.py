"""Synthetic tables: all columns at once, from a few noisy histograms that are chosen privately.

Only `synthesizer` asks private records for something, through the kernel's operators. All else is post-processing.
"""
