import numpy as np

import graphio as tf

values = {name: np.ones(4, np.float32) for name in ("encoder/w", "head/w", "bias")}
with tf.Graph().as_default(), tf.Session() as session:
    for name, value in values.items():
        tf.get_variable(name, initializer=value)
    tf.get_variable("step", initializer=np.int64(7))
    session.run(tf.global_variables_initializer())
    path = tf.train.Saver().save(session, "old/model")

for name in ("body/w", "head/w", "bias"):
    tf.get_variable(name, shape=[4])
tf.train.get_or_create_global_step()
session = tf.Session()
session.run(tf.global_variables_initializer())
step = 1000
tf.train.Saver().save(session, "run/model", global_step=2000)


class Loader:
    def get_state(self) -> bytes:
        return b"place"

    def set_state(self, state: bytes) -> None:
        assert state == b"place"


loader, text = Loader(), "rate: 0.1"
