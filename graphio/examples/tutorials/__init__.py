"""tf.examples.tutorials."""
