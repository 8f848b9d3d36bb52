"""tf.examples.tutorials.mnist: input_data and mnist."""

from graphio.examples.tutorials.mnist import input_data, mnist

__all__ = ["input_data", "mnist"]
