"""The file formats in Python: messages, models, checkpoints, operators, element types.

May import storage and support. schema/README.md describes the formats; `*_pb2.py` and
`operators.json` are generated from the files of schema/.

    container            a model file: header, graph section, data section
    tensors              arrays to bytes and back; packed_weights: as kernels of cinfer read them
    filling              how large a file must be for cinfer's limit of memory
    packed               limits for what packed parts of a file may expand to
    foreign, versions    files of other programs or of later versions: descriptions and remedies
    wire                 messages put together from pieces of bytes
    verify               checks of a model; verify_graph: of its nodes
    operators            the operator table; functions: bodies in place of nodes
    fused                programs of fused operators, and the nodes that they replace
    dtypes, small_types  element types, and those that numpy lacks
    checkpoint_writer    a save; checkpoint_cleaner: files that no checkpoint needs
    checkpoint           reading; checkpoint_index: the file `P.index`; checkpoint_files: names
    shards               data files; shard_reader reads each byte once, into its array
    restore              whether stored values fit the variables
"""
