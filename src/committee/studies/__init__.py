"""The papers' experiments, and the data that they are run on."""

from committee.studies.datasets import Dataset, load, names

__all__ = ["Dataset", "load", "names"]
