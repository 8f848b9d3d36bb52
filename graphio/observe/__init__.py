"""Inspecting graphs and runs: debugging, watchpoints, profiles, timelines, pictures.

May import compat, io, execution, protos, model and below.

    debug            tf.debug: sessions that keep all values; debug_values: what is shown of one
    watchpoints      conditions on values; stepping: a run that stops at every operation
    profile          times by operation; timeline, chrome_trace, xplane: formats of traces
    printing         graphs as text; drawing: as SVG; notebook: as HTML
"""
