"""tf.contrib.summary: operations that write summaries themselves, at the global step.

writers      event files; recording: when summaries are written; operations: what is written
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphio.contrib.summary.operations import (
    all_summary_ops,
    audio,
    eval_dir,
    generic,
    graph,
    histogram,
    image,
    import_event,
    initialize,
    scalar,
)
from graphio.contrib.summary.recording import (
    always_record_summaries,
    never_record_summaries,
    record_summaries_every_n_global_steps,
    should_record_summaries,
)
from graphio.contrib.summary.writers import (
    SummaryWriter,
    create_file_writer,
    create_summary_file_writer,
    flush,
    summary_writer_initializer_op,
)
from graphio.framework import api_boundary, refusals

__all__ = [
    "SummaryWriter",
    "all_summary_ops",
    "always_record_summaries",
    "audio",
    "create_file_writer",
    "create_summary_file_writer",
    "eval_dir",
    "flush",
    "generic",
    "graph",
    "histogram",
    "image",
    "import_event",
    "initialize",
    "never_record_summaries",
    "record_summaries_every_n_global_steps",
    "scalar",
    "should_record_summaries",
    "summary_writer_initializer_op",
]

api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
