"""Benchmarks of jostle: speed and accuracy, alone, beside papers and beside other libraries. Their command is `jostle bench`."""
