"""The experiments of the documents that jostle is built on, beside their own figures."""
