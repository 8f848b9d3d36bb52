"""tf.user_ops: TensorFlow's example of an operator that a user adds."""

from __future__ import annotations

from graphio.framework.constants import constant
from graphio.framework.graph import Tensor
from graphio.support import api_guard

__all__ = ["my_fact"]


@api_guard.guarded
def my_fact() -> Tensor:
    """The fact about the factorial of 0: a string scalar."""
    return constant(b"0! == 1", name="Fact")
