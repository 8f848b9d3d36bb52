"""TensorFlow Serving's REST API: /v1/models.

Only `routes` knows of HTTP.

    predict      tensors of a request, in rows or columns, and the answer's
    examples     features of classify and regress, and their answers
    methods      predict, classify and regress: a body to a body
    status       states of versions, signatures as SignatureDef
    routes       paths
"""
