"""The graph: operations, tensors, static shapes, dtypes, scopes, collections, devices.

May import engine, schema, storage and support. Functions of higher packages that its classes
call, such as the session for Tensor.eval, are declared in registered.py; those packages register
them there. Every table of a graph is a `Table` (undo), so that a failed call is rolled back at a
cost that grows with its changes, not with the graph.

    graph, operation, tensor, variable
                                the classes; constants: constants, placeholders, conversion
    graph_state                 names, contexts, collections, seeds and other state of a graph;
                                attachments: typed keys of objects that other modules keep with it
    variable_reads              which read a use of a variable gets; handle_reads: for scatters;
                                save_slice_info: parts of variables in checkpoints
    tensor_shape, tensor_spec   static shapes; folding: values that are known while building
    scopes, devices             names, control dependencies and devices of new operations
    gradient_registry           which function differentiates an operator
    composite, carrying         values of several tensors: SparseTensor, IndexedSlices
    api_boundary                wraps public functions: rolls back, names the call in the error
    source, tracebacks          the program's line in errors, and short tracebacks
    refusals                    names of TensorFlow that graphio lacks, with a replacement for each
    behavior, modes             switches of TensorFlow 1 that have one setting here
"""
