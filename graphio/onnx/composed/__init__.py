"""Operators of the domain graphio as compositions of ONNX's operators, for export."""
