"""tf.examples: the modules of TensorFlow's tutorials that programs import.

May import keras, layers, train and below.

    tutorials.mnist.input_data  digits as data sets with batches
    tutorials.mnist.mnist       a network of three layers for them
"""
