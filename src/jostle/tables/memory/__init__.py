"""What was released of a table, kept beside the ledger's events, so that nothing is paid for twice."""
