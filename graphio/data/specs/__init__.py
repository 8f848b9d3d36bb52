"""Descriptions of elements: their structures without values, and tensors that stand for datasets.

dataset_spec, optional_spec   the TypeSpecs of datasets and Optionals
type_specs                    the structure of elements as TypeSpecs, types, shapes, classes
optional                      tf.data.experimental.Optional
variant_tensors               to_variant, from_variant, and old names of TypeSpecs
"""
