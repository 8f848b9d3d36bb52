"""Switches between TensorFlow 1 and 2: there is the former alone."""

from __future__ import annotations

from graphio.support import api_guard

__all__ = [
    "control_flow_v2_enabled", "disable_control_flow_v2", "disable_eager_execution",
    "disable_resource_variables", "disable_tensor_equality", "disable_v2_behavior",
    "disable_v2_tensorshape", "enable_control_flow_v2", "enable_resource_variables",
    "executing_eagerly", "executing_eagerly_outside_functions", "resource_variables_enabled",
]  # fmt: skip


@api_guard.guarded
def disable_v2_behavior() -> None:
    """Nothing: this is TensorFlow 1's behaviour."""


@api_guard.guarded
def disable_eager_execution() -> None:
    """Nothing: there is none."""


@api_guard.guarded
def disable_v2_tensorshape() -> None:
    """Nothing: a shape consists of Dimensions."""


@api_guard.guarded
def disable_tensor_equality() -> None:
    """Nothing: tensors compare by identity."""


class _Defaults:
    """Settings of the process that a program may switch."""

    use_resource = False
    control_flow_v2 = False


@api_guard.guarded
def disable_resource_variables() -> None:
    """Variables that are made from now on have use_resource=False unless they say otherwise."""
    _Defaults.use_resource = False


@api_guard.guarded
def enable_resource_variables() -> None:
    """Variables that are made from now on have use_resource=True unless they say otherwise."""
    _Defaults.use_resource = True


@api_guard.guarded
def resource_variables_enabled() -> bool:
    """Whether variables have use_resource=True where nothing says otherwise."""
    return _Defaults.use_resource


@api_guard.guarded
def enable_control_flow_v2() -> None:
    """Sets what control_flow_v2_enabled gives; a branch or a loop is one operation anyway."""
    _Defaults.control_flow_v2 = True


@api_guard.guarded
def disable_control_flow_v2() -> None:
    """Sets what control_flow_v2_enabled gives; a branch or a loop is one operation anyway."""
    _Defaults.control_flow_v2 = False


@api_guard.guarded
def control_flow_v2_enabled() -> bool:
    """Whether the program has called enable_control_flow_v2; False at first, as in TensorFlow."""
    return _Defaults.control_flow_v2


@api_guard.guarded
def executing_eagerly() -> bool:
    """False: graphs are built first and run by a Session."""
    return False


@api_guard.guarded
def executing_eagerly_outside_functions() -> bool:
    """False: graphs are built first and run by a Session."""
    return False
