"""Types of elements as programs write them, and tensors that stand for datasets.

dataset_spec     the TypeSpec of datasets
type_specs       the structure of elements as TypeSpecs, types, shapes, classes
optional         tf.data.experimental.Optional
variant_tensors  to_variant, from_variant, and old names of TypeSpecs
"""
