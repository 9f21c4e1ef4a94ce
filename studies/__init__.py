"""The papers' experiments, and the data that they are run on."""
