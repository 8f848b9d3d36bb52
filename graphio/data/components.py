"""Datasets that are components of elements: their elements come with a tensor."""

from __future__ import annotations

from typing import Any

from graphio.data import registered, saving, stages
from graphio.data.dataset import Dataset
from graphio.data.function import Opening
from graphio.data.structure import Spec
from graphio.data.variants import Variants
from graphio.framework.tensor import Tensor

__all__ = ["Variant"]


class Variant(Dataset):
    """A dataset that is a component of an element.

    Its elements come with a tensor, see saving.encoded; where no engine handles that, a list of
    elements stands for the tensor.
    """

    def __init__(self, specs: Any, tensor: Tensor) -> None:
        self.tensor = tensor
        super().__init__(specs, lambda o: stages.Given(self.held(o)), given=[tensor])

    def held(self, opening: Opening) -> list[Any]:
        found = opening.value(self.tensor)
        return found if isinstance(found, list) else list(saving.decode(found[()]))


@registered.dataset_of.register
def _component(spec: Spec, tensor: Tensor) -> Variant | Variants:
    """The component of an element that is a dataset, or several, for a function or a program."""
    return Variants(spec, tensor) if spec.shape.ndims else Variant(spec.inside, tensor)
