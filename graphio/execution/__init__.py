"""Running a graph: Session, feeds, fetches, placement, options, the registry of engines.

May import protos and below.

A run behaves as if its nodes ran one after another in the order of their creation; a value that
was read never changes. Nodes run at the same time only with `inter_op_parallelism_threads` > 1 in
the Python runtime, where each waits for all that could change its result. The Python runtime
trusts a session's bytes, which the builder has just written; cinfer verifies them, as both verify
files. The environment variable GRAPHIO_TARGET names the engine where a program names none; else it
is cinfer.

    session          Session.run; feeding, fetching: its arguments
    engines          the engines, a row each, and the choice of one
    placement        which device runs which node; Send and Recv
    config           ConfigProto, RunOptions; run_metadata: times of a run
"""
