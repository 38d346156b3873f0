"""The command line: thin, and without any privacy logic of its own."""
