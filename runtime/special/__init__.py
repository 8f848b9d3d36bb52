"""Special functions of float64 arrays, with the bits of cinfer's.

Each module is the twin of a file of `cinfer/src/math/`: the same operations in the same order, of
+ - * / and sqrt alone. All loops have a fixed end, so the cost is linear in the elements. Arguments
are float64 arrays of one axis and one length.
"""
