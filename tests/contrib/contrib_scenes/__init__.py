"""Programs of tf.contrib that build a few tensors, and their values in TensorFlow.

A scene is a function from (tf, contrib) to tensors, where contrib(name) gives a package of contrib.
recording.py runs one: every variable gets values that depend on its name and shape alone, so that
a recording of TensorFlow and one of graphio agree where names, shapes, order and values do.

    python -m contrib_scenes.tensorflow FOLDER    in tests/contrib, with TensorFlow 2.21 and tf-slim
                                                  installed; FOLDER has the files of the wheel of
                                                  TensorFlow 1.15.5. Writes NAME.json
"""
