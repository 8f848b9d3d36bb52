"""Ranks of torch.distributed, which torchrun or Ray Train started: its engine gloo."""

from __future__ import annotations

import atexit
import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.distribute.communicators.base import Bytes, Communicator
from graphio.support import errors

__all__ = ["Gloo"]


class Gloo(Communicator):
    """A process group of gloo.

    Args:
        timeout: seconds that a call waits for the other ranks.
    """

    def __init__(self, timeout: float) -> None:
        import torch
        import torch.distributed as distributed

        self._torch, self._distributed = torch, distributed
        limit = datetime.timedelta(seconds=timeout)
        if not distributed.is_initialized():
            distributed.init_process_group("gloo", timeout=limit)
            # Threads of gloo that still run when the interpreter ends would abort the process.
            atexit.register(distributed.destroy_process_group)
        self._group = distributed.new_group(backend="gloo", timeout=limit)
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()

    def exchange(
        self, send: Bytes, send_counts: Sequence[int], receive: Bytes, counts: Sequence[int]
    ) -> None:
        """all_to_all_single."""
        self._call(
            self._distributed.all_to_all_single,
            self._tensor(receive),
            self._tensor(send),
            list(counts),
            list(send_counts),
        )

    def gather(self, part: Bytes, receive: Bytes, counts: Sequence[int]) -> None:
        """all_gather of parts of one length, the greatest, which is what gloo has."""
        length = max(counts)
        mine = self._torch.zeros(length, dtype=self._torch.uint8)
        mine.numpy()[: len(part)] = part
        found = [self._torch.empty(length, dtype=self._torch.uint8) for _ in counts]
        self._call(self._distributed.all_gather, found, mine)
        at = 0
        for each, count in zip(found, counts, strict=True):
            receive[at : at + count] = each.numpy()[:count]
            at += count

    def _tensor(self, values: Bytes) -> Any:
        return self._torch.from_numpy(np.ascontiguousarray(values))

    def _call(self, function: Any, *arguments: Any) -> None:
        try:
            function(*arguments, group=self._group)
        except RuntimeError as error:
            raise errors.AbortedError(
                message=f"rank {self.rank} lost another rank, or waited too long for it: {error}"
            ) from error
