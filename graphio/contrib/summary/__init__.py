"""tf.contrib.summary: operations that write summaries themselves, at the global step.

writers      event files; recording: when summaries are written; operations: what is written
"""

from __future__ import annotations

from graphio.framework import refusals
from graphio.support import lazy_names

#: names by the modules that have them
_NAMES: dict[str, tuple[str, ...]] = {
    "graphio.contrib.summary.operations": (
        "all_summary_ops", "audio", "eval_dir", "generic", "graph", "histogram", "image",
        "import_event", "initialize", "scalar",
    ),
    "graphio.contrib.summary.recording": (
        "always_record_summaries", "never_record_summaries",
        "record_summaries_every_n_global_steps", "should_record_summaries",
    ),
    "graphio.contrib.summary.writers": (
        "SummaryWriter", "create_file_writer", "create_summary_file_writer", "flush",
        "summary_writer_initializer_op",
    ),
}  # fmt: skip

lazy_names.install(__name__, _NAMES, refusals.getter(__name__))
