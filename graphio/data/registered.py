"""Functions of higher modules that the structure of elements calls: registered here.

See graphio.support.registration; graphio/__init__.py has the module of each name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphio.support.registration import Registered

if TYPE_CHECKING:
    from graphio.data.structure import OptionalParts, Spec
    from graphio.framework.tensor import Tensor

__all__ = ["dataset_of", "input_pipeline_hook", "optional_of"]

#: makes a component that is a dataset, from its spec and tensor
dataset_of: Registered[[Spec, Tensor], Any] = Registered("dataset_of")
#: makes an Optional of tensors, from what stands for it
optional_of: Registered[[OptionalParts, Tensor, Any], Any] = Registered("optional_of")
#: the class CheckpointInputPipelineHook
input_pipeline_hook: Registered[[], type[Any]] = Registered("input_pipeline_hook")
