"""SHIP: committees as models that other tools read."""

from committee.export.c_code import to_c
from committee.export.native import to_sklearn
from committee.export.onnx import to_onnx

__all__ = ["to_c", "to_onnx", "to_sklearn"]
