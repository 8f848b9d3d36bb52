"""From a graph to a model and back: export, import, sizes, costs, descriptions, C source.

May import autodiff, variables, ops, framework and below. rewrite/ has the passes that simplify a
model before its bytes are written.

    export           the model of a graph or a run; node_writer: its nodes as bytes
    run_reads        reads of variables that depend on the fetches; loop_needs: parts of loops
    importing        a graph from a model; node_order, plain_nodes, sharper_shapes help
    describing       facts of a model; costs: operations and bytes of a run
    size_reduction   smaller files: fewer signatures, frozen variables, narrower weights (casting)
    c_source         header and example in C for a model; c_makefile: its makefile
    model_strings    strings that a model holds by key
"""
