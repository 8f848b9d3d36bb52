"""Operators of ai.onnx.ml: classic machine learning and ensembles of trees."""
