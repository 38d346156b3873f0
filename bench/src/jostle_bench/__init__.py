"""Benchmarks of jostle: speed and accuracy, also beside papers and other libraries. The command: `jostle bench`."""
