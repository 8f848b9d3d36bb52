"""Operators of the domain graphio as compositions of ONNX's, for export."""
