"""The Saver: saving, restoring, retention, inspection and comparison of checkpoints.

saver, saving        Saver.save: gathers values, then commits; background: in a thread
saver_messages       a Saver in a file; saver_arguments, saver_operators
retention            which checkpoints are kept; ranking: the best; keeping: protected ones
checkpoint_state     the list in the file `checkpoint`, a hint; checkpoint_text: its format;
                     folder_indexes: checkpoints without it
restoring, latest    finding, checking and assigning values; renaming, hints; warm_starting
slices, user_state   parts of variables; objects of the program
pairing, comparing   equal tensors under other names; differences
checkpoint_reader    values without a graph; meta_graphs: graphs; inspecting: all bytes
"""
