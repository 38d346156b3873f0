"""Functions of the data that are not linear, each with a proven bound on how far one record moves it."""
