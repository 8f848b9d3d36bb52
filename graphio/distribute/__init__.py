"""tf.distribute: training on several ranks, on the engines that started them.

May import train and below.

    data_parallel    DataParallel; facts: what its checkpoints say
    step_graph       a step as two parts of a graph; shards: the work of a rank on the first
    tree, reduction  sums whose order depends on the number of shards alone
    draws            random draws by step and shard
    folder_lock      one training at a time in a folder
    agreement        that the ranks run one program and have the same variables
    communicators/   MPI, torch.distributed, none: who moves bytes
"""

from __future__ import annotations

from graphio.framework import refusals
from graphio.support import lazy_names

#: names by the modules that have them
_NAMES: dict[str, tuple[str, ...]] = {
    "graphio.distribute.communicators.base": ("Communicator",),
    "graphio.distribute.data_parallel": ("DataParallel",),
}

lazy_names.install(__name__, _NAMES, refusals.getter(__name__))
