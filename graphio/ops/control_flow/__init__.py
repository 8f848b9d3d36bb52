"""Branches, loops, scans, TensorArrays and sequences, with their gradients.

The gradient of a Loop gives the forward Loop additional scan outputs; no other change is ever made
to an operation. The backward Loop is an ordinary Loop, so it has a gradient as well. A value whose
shape changes between iterations cannot be stacked: dynamic_shapes stores as many elements as the
first iteration has, a vector of the others, and the shapes. Outputs that the backward pass does
not read are removed again.

    branches         tf.cond, tf.case; branch_values: values of branches that are read outside
    loops            tf.while_loop, Scan; functional: map_fn, scan, foldl
    gradients        of If, Loop and Scan; varying: which values change their shape
    copying          the same body with other tensors
    tensor_array     TensorArray; array_cells, ragged_rows: elements of different shapes;
                     read_once: elements that are cleared after their read
"""
