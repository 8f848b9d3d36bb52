"""The interface of engines, and code that both engines share.

May import schema, storage and support.

    interface        protocols: the module of an engine, Model, Signature, State
    calls            arguments of a run: names, dtypes and shapes; array_likes: other libraries
    host             Python functions that a model calls by name
    custom           custom operators
    images           decoding of pictures, by Pillow
    run_lock         the lock of a state
    pickling         models in other processes: recipes from which `rebuild` makes them again
    reprs            `repr` of models; tensor_text: tensors as text, as TensorFlow prints them
"""
