"""How results are shown: sections of tables and texts, as pages, on a terminal and as plain figures."""
