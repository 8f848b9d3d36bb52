"""tf.config: the devices of this machine, and settings of the process.

May import execution and below.

    experimental, optimizer, threading  the namespaces of these names
    devices                             the functions
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphio.config import experimental, optimizer, threading
from graphio.config.devices import (
    PhysicalDevice,
    experimental_list_devices,
    experimental_run_functions_eagerly,
    get_soft_device_placement,
    get_visible_devices,
    list_logical_devices,
    list_physical_devices,
    set_soft_device_placement,
    set_visible_devices,
)
from graphio.support.old_paths import names_of

__all__ = [
    "PhysicalDevice",
    "experimental",
    "experimental_list_devices",
    "experimental_run_functions_eagerly",
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "optimizer",
    "set_soft_device_placement",
    "set_visible_devices",
    "threading",
]

if not TYPE_CHECKING:  # the module graphio.config of version 0.1
    __getattr__ = names_of("graphio.config", "graphio.execution.config")
