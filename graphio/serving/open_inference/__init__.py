"""The Open Inference Protocol, version 2, by HTTP: /v2; with Triton's binary tensors.

datatypes    names of types, tensors as bytes
requests     inputs and options of a request
responses    outputs, in JSON and after it
routes       paths and methods
"""
