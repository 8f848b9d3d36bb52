"""Operators that make, reshape, join, index and sort tensors, with their gradients.

surface             collects the family under one name
filling             zeros, range, eye; joining: concat, split, tile, pad; repeating: repeat
reshaping           reshape, transpose, where; shaping: static and run-time shapes
index, slicing      gather, one_hot, x[1:3]; scattering: scatter_nd, segments, partitions
arranging           sequence_mask, meshgrid, roll; order: sort, top_k, unique
permuting, run_axis, run_blocks    axes and block sizes that only the run knows
static_values       tf.get_static_value
"""
