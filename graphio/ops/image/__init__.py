"""Operators on images: sizes, colours, boxes, sampling, with their gradients."""
