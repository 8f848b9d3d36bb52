"""The base of optimizers around another one."""

from __future__ import annotations

from typing import Any

from graphio.train.optimizers.optimizer import Optimizer

__all__ = ["DelegatingOptimizer"]


class DelegatingOptimizer(Optimizer):
    """An optimizer whose gradients and slots are another one's.

    Args:
        opt: the other optimizer.
        use_locking, name: as Optimizer's.
    """

    def __init__(self, opt: Optimizer, use_locking: bool, name: str) -> None:
        super().__init__(use_locking, name)
        self._opt = opt

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """The other optimizer's."""
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """The other optimizer's."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """The other optimizer's."""
        return self._opt.get_slot_names(*args, **kwargs)
