"""The domain ai.onnx.ml: features, linear models, support vectors, trees.

nodes            attributes and inputs; maps: maps as vectors; class_scores: post_transform
trees            ensembles; tree_reading, tree_writing: their attributes
"""
