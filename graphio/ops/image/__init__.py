"""Operators on images: sizes, colours, boxes, sampling, with their gradients.

imaging          resizing, flips, brightness; colours: colour spaces, similarity, edges
cropping         cropping and padding; patches: patches, dilation; boxes: boxes
sampling         compositions for operators that read between pixels
onnx_gradients   gradients of ONNX's operators
"""
