import numpy as np

import graphio as tf

with tf.Graph().as_default(), tf.Session() as session:
    x = tf.placeholder(tf.float32, [None, 3])
    logits = tf.layers.dense(x, 2)
    session.run(tf.global_variables_initializer())
    tf.onnx.export("classifier.onnx", session, {"x": x}, {"logits": logits})
    tf.onnx.export("resnet.onnx", session, {"input": x}, {"probabilities": tf.nn.softmax(logits)})
    tf.saved_model.save("digits.gio", session, {"predict": ({"x": x}, {"y": logits})})
images = np.ones((2, 3), np.float32)
