"""Several datasets as one component of an element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graphio.data import variables
from graphio.data.structure import Spec
from graphio.framework.graph import Tensor

if TYPE_CHECKING:
    from graphio.data.function import Opening

__all__ = ["Variants"]

Array = np.ndarray[Any, Any]


class Variants:
    """Several datasets as one component of an element, of which from_tensor_slices makes elements.

    Attributes:
        tensor: their elements, as saving.encoded gives them.
    """

    def __init__(self, spec: Spec, tensor: Tensor) -> None:
        self.dataset_spec, self.tensor = spec, tensor
        self.captures = {tensor: None}
        self.touched: variables.Touched = {}

    def held(self, opening: Opening) -> Array:
        """The value of the tensor."""
        found: Array = opening.value(self.tensor)
        return found
