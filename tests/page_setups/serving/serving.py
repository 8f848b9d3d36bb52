import graphio as tf

x = tf.placeholder(tf.float32, [None, 4])
y = tf.nn.softmax(tf.layers.dense(x, 2, kernel_initializer=tf.zeros_initializer()))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    tf.saved_model.save("iris.gio", session, {"predict": ({"x": x}, {"y": y})})
