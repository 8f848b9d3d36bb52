"""The devices of this machine: one processor."""

from __future__ import annotations

import os
import platform
from typing import Any, NamedTuple

from graphio.support import api_guard

__all__ = ["DeviceAttributes", "list_local_devices"]


class DeviceAttributes(NamedTuple):
    """One device, with the fields of TensorFlow's message.

    Attributes:
        name: /device:CPU:0.
        device_type: CPU.
        memory_limit: bytes of main memory; 0 where the system does not report them.
        physical_device_desc: the kind of processor.
    """

    name: str
    device_type: str
    memory_limit: int
    incarnation: int = 0
    physical_device_desc: str = ""


@api_guard.unguarded
def list_local_devices(session_config: Any = None) -> list[DeviceAttributes]:
    """The devices: the processor alone. session_config has no effect."""
    names = getattr(os, "sysconf_names", {})
    known = "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if known else 0
    return [DeviceAttributes("/device:CPU:0", "CPU", memory, 0, platform.machine())]
