"""Parts of which builders are made. No family of operators may be imported here.

emit          makes nodes; primitive: one-node builders for other families
shapes        static shapes; signatures: parameters of functions made from table rows
recompute     gradients of compositions (normalisations, attention, recurrent layers): the
              backward pass computes the parts again, which spares memory and a second formula
host          HostCall: functions of the program, called by name
immediate     graphs whose tensors have values at once, for tf.py_function
fused         what fused operators may not do in a graph
"""
