"""The domain ai.onnx.ml: features, linear models, support vectors, trees."""
