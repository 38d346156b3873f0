"""Benchmarks of jostle: speed and accuracy, alone, beside papers and beside other libraries. The command: `jostle bench`."""
