"""The tests. A package, so that another one of this name in the environment does not take its place."""
