"""SHIP: committees as models that other tools read."""

from committee.export.c_code import to_c
from committee.export.compiled import Compiled, compiled
from committee.export.merge import merge, to_native
from committee.export.native import to_sklearn
from committee.export.onnx import to_onnx

__all__ = [
    "Compiled",
    "compiled",
    "merge",
    "to_c",
    "to_native",
    "to_onnx",
    "to_sklearn",
]
