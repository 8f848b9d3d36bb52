"""Operators on images: sizes, colours, boxes, sampling, with their gradients.

imaging          resizing, flips, brightness; colours: colour spaces, edges; similarity: of images
cropping         cropping and padding; patches: patches, dilation; glimpses: windows
boxes            boxes; suppression: the best of many; drawing, distortion: boxes drawn, random ones
sampling         compositions for operators that read between pixels
onnx_gradients   gradients of ONNX's operators
"""
