"""The Open Inference Protocol, version 2, by HTTP: /v2; with Triton's binary tensors.

Only `routes` knows of HTTP.

    datatypes    names of types, tensors as bytes
    requests     inputs and options of a request
    responses    outputs, in JSON and after it
    inference    a body to a body
    routes       paths
"""
