"""Operators of ai.onnx.ml: classical machine learning (ml) and ensembles of trees (trees)."""
