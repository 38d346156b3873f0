"""How often private classifiers are wrong on public tables, and the growing of the chooser that jostle ships."""
