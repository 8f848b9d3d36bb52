"""A run of a block one node at a time, between which the caller does what it likes."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime import failure
from graphio.runtime.plan import Block
from graphio.runtime.program import NodeInfo
from graphio.runtime.state import State
from graphio.runtime.steps import Values
from graphio.support import errors


class Stepping:
    """One run; its steps hold the state's lock, what is between them does not.

    Args:
        block: compiled with `separate`.
        state: of the model.
        values: slots that hold the template and the inputs.

    Attributes:
        nodes: all that will run, in order; a branch or a loop is one of them.
        position: how many have run.
    """

    def __init__(self, block: Block, state: State, values: Values) -> None:
        self._block, self._state, self._values = block, state, values
        self._assigned: list[str] = []
        self.nodes = block.nodes
        self.position = 0
        with state.lock:
            block.check_initialized()

    def step(self) -> NodeInfo:
        """Runs the next node and gives it; there must be one."""
        state = self._state
        with state.lock, np.errstate(all="ignore"):
            state.journal.clear()
            try:
                self._block.run_node(self.position, self._values)
            except errors.OpError as error:
                raise failure.after_assign(error, self._assigned) from error.__cause__
            finally:
                self._assigned += state.journal
        self.position += 1
        return self.nodes[self.position - 1]

    def inputs(self, index: int) -> list[Any]:
        """The inputs of a node that have values already; None for the others."""
        return [self._values[i] for i in self._block.slots_of(index)[0]]

    def outputs(self, index: int) -> list[Any]:
        """The outputs of a node that has run."""
        return [self._values[i] for i in self._block.slots_of(index)[1]]
