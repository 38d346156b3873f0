"""From a value in an engine to the cell that it falls into."""
