"""SHIP: committees in files that cannot run code."""

from committee.persistence.file_format import ModelFileError, read_metadata
from committee.persistence.save_load import load, save

__all__ = ["ModelFileError", "load", "read_metadata", "save"]
