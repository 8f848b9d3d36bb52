"""tf.config: the devices of this machine, of which there is one, and settings of the process.

Settings that TensorFlow keeps for its eager contexts have no effect on sessions, there as here:
give a Session a ConfigProto.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from graphio.support import api_guard

__all__ = [
    "LogicalDevice",
    "PhysicalDevice",
    "VirtualDeviceConfiguration",
    "experimental_list_devices",
    "experimental_run_functions_eagerly",
    "get_device_policy",
    "get_inter_op_parallelism_threads",
    "get_intra_op_parallelism_threads",
    "get_log_device_placement",
    "get_memory_growth",
    "get_soft_device_placement",
    "get_synchronous_execution",
    "get_virtual_device_configuration",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "set_device_policy",
    "set_inter_op_parallelism_threads",
    "set_intra_op_parallelism_threads",
    "set_log_device_placement",
    "set_memory_growth",
    "set_soft_device_placement",
    "set_synchronous_execution",
    "set_virtual_device_configuration",
    "set_visible_devices",
]


class PhysicalDevice(NamedTuple):
    """A device of the machine.

    Attributes:
        name: /physical_device:CPU:0.
        device_type: CPU.
    """

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device that operations are placed on.

    Attributes:
        name: /device:CPU:0.
        device_type: CPU.
    """

    name: str
    device_type: str


class VirtualDeviceConfiguration(NamedTuple):
    """A part of a physical device.

    Attributes:
        memory_limit: megabytes.
    """

    memory_limit: int | None = None


_PHYSICAL = PhysicalDevice("/physical_device:CPU:0", "CPU")
_LOGICAL = LogicalDevice("/device:CPU:0", "CPU")
#: the policies for tensors on another device
_POLICIES = ("silent", "silent_for_int32", "warn", "explicit")


class _Settings:
    """The settings of the process that have a getter."""

    intra = 0
    inter = 0
    soft_placement = False
    log_placement = False
    device_policy = "silent"


@api_guard.unguarded
def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of the machine: the processor.

    Args:
        device_type: "CPU", or another, of which there are none; None: all.
    """
    return [_PHYSICAL] if device_type in (None, "CPU") else []


@api_guard.unguarded
def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices that operations are placed on; device_type: as list_physical_devices's."""
    return [_LOGICAL] if device_type in (None, "CPU") else []


@api_guard.unguarded
def experimental_list_devices() -> list[str]:
    """The full names of the devices."""
    return ["/job:localhost/replica:0/task:0/device:CPU:0"]


@api_guard.unguarded
def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices that are used: all."""
    return list_physical_devices(device_type)


@api_guard.unguarded
def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Chooses the devices that are used.

    Args:
        devices: a device, or a list of them.
        device_type: of the devices that are chosen from; None: all.

    Raises:
        ValueError: there is no such device, or the processor would not be used.
    """
    chosen = devices if isinstance(devices, list) else [devices]
    for device in chosen:
        _check(device)
        if device_type not in (None, device.device_type):
            raise ValueError(f"Unrecognized device: {device!r}")
    if device_type in (None, "CPU") and not chosen:
        raise ValueError("set_visible_devices: the processor has to be visible: nothing else runs")


@api_guard.unguarded
def get_memory_growth(device: Any) -> bool | None:
    """Whether a GPU's memory grows: None for the processor. ValueError for an unknown device."""
    _check(device)
    return None


@api_guard.unguarded
def set_memory_growth(device: Any, enable: bool) -> None:
    """For GPUs, of which there are none.

    Raises:
        ValueError: for every device.
    """
    _check(device)
    raise ValueError("Cannot set memory growth on non-GPU devices")


@api_guard.unguarded
def get_virtual_device_configuration(device: Any) -> None:
    """The parts of a device: None, not divided. ValueError for an unknown device."""
    _check(device)


@api_guard.unguarded
def set_virtual_device_configuration(device: Any, virtual_devices: Sequence[Any]) -> None:
    """Divides a device.

    Raises:
        ValueError: there is no such device, or it would have several parts or a limit.
    """
    _check(device)
    if any(part.memory_limit is not None for part in virtual_devices):
        raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
    if len(virtual_devices) > 1:
        raise ValueError("set_virtual_device_configuration: the processor is not divided")


@api_guard.unguarded
def get_synchronous_execution() -> bool:
    """True."""
    return True


@api_guard.unguarded
def set_synchronous_execution(enable: bool) -> None:
    """Has no effect on sessions.

    Raises:
        ValueError: enable is False: nothing runs asynchronously.
    """
    if not enable:
        raise ValueError("set_synchronous_execution: a run is over when Session.run returns")


@api_guard.unguarded
def get_soft_device_placement() -> bool:
    """The value of set_soft_device_placement, at first False."""
    return _Settings.soft_placement


@api_guard.unguarded
def set_soft_device_placement(enabled: bool) -> None:
    """Keeps a value; it has no effect on sessions: see allow_soft_placement of ConfigProto."""
    _Settings.soft_placement = bool(enabled)


@api_guard.unguarded
def get_intra_op_parallelism_threads() -> int:
    """The value of set_intra_op_parallelism_threads, at first 0."""
    return _Settings.intra


@api_guard.unguarded
def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Keeps a number; it has no effect on sessions, see intra_op_parallelism_threads of
    ConfigProto."""
    _Settings.intra = int(num_threads)


@api_guard.unguarded
def get_inter_op_parallelism_threads() -> int:
    """The value of set_inter_op_parallelism_threads, at first 0."""
    return _Settings.inter


@api_guard.unguarded
def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Keeps a number; it has no effect on sessions, see inter_op_parallelism_threads of
    ConfigProto."""
    _Settings.inter = int(num_threads)


@api_guard.unguarded
def get_log_device_placement() -> bool:
    """The value of set_log_device_placement, at first False."""
    return _Settings.log_placement


@api_guard.unguarded
def set_log_device_placement(enabled: bool) -> None:
    """Keeps a value; it has no effect on sessions: see log_device_placement of ConfigProto."""
    _Settings.log_placement = bool(enabled)


@api_guard.unguarded
def get_device_policy() -> str:
    """The value of set_device_policy, at first "silent"."""
    return _Settings.device_policy


@api_guard.unguarded
def set_device_policy(device_policy: str | None) -> None:
    """Keeps what is done about tensors on another device; it has no effect: there is one device.

    Args:
        device_policy: "silent", "silent_for_int32", "warn" or "explicit"; None: "silent".

    Raises:
        ValueError: another one.
    """
    if device_policy not in (*_POLICIES, None):
        raise ValueError(
            f"Not a valid device policy: {device_policy!r}; give one of {list(_POLICIES)}"
        )
    _Settings.device_policy = device_policy or "silent"


@api_guard.unguarded
def experimental_run_functions_eagerly(run_eagerly: bool) -> None:
    """Accepted without effect: there is no tf.function, and every graph is run by a session."""


def _check(device: Any) -> None:
    if device != _PHYSICAL:
        raise ValueError(f"Unrecognized device: {device!r}")
