"""TensorFlow Serving's REST API: /v1/models.

predict      tensors of a request, in rows or columns, and the answer's
examples     features of classify and regress as tf.Example, and their answers
status       states of versions, signatures as SignatureDef
routes       paths and methods
"""
