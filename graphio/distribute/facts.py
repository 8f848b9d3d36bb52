"""The facts of a training that its checkpoints keep."""

from __future__ import annotations

import json
import secrets

from graphio.support import errors

__all__ = ["Facts"]


class Facts:
    """Shards and seed: another number of either gives other bits. A Saver keeps them as an object.

    Args:
        shards: of a step.
        seed: as the program gives it; None: any.

    Attributes:
        seed: the training's; None before it is decided.
    """

    def __init__(self, shards: int, seed: int | None) -> None:
        self._shards, self.given = shards, seed
        self.seed: int | None = None

    def decide(self) -> int:
        """The seed: the checkpoint's, else the program's, else a new one."""
        if self.seed is None:
            self.seed = secrets.randbits(63) if self.given is None else self.given
        return self.seed

    def get_state(self) -> bytes:
        """For a checkpoint."""
        return json.dumps({"seed": self.decide(), "shards": self._shards}).encode()

    def set_state(self, state: bytes) -> None:
        """From a checkpoint.

        Raises:
            FailedPreconditionError: it has other shards or another seed.
        """
        found = json.loads(state)
        for name, mine in (("shards", self._shards), ("seed", self.given)):
            if mine is not None and found[name] != mine:
                raise errors.FailedPreconditionError(
                    message=f"the checkpoint is of a training with {name}={found[name]}, this one "
                    f"has {name}={mine}, which would give other bits from here on: give "
                    f"DataParallel {name}={found[name]}, or begin in another folder (with "
                    "tf.train.init_from_checkpoint to take the variables)"
                )
        self.seed = found["seed"]
