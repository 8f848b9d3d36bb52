"""The ONNX standard's own cases in both engines."""
