import os

import graphio as tf

w = tf.get_variable("w", initializer=1.0)
loss = tf.square(w)
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
os.mkdir("run")
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    tf.saved_model.save("net.gio", session, {"train": ({}, {"loss": loss}, [train])})
