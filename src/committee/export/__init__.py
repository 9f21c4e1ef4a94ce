"""SHIP: committees as models that other tools read."""

from committee.export.native import to_sklearn
from committee.export.onnx import to_onnx

__all__ = ["to_onnx", "to_sklearn"]
