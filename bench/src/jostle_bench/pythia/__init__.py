"""The Pythia paper's experiments: what choosing costs on data that a selector was not trained on."""
