"""The socket that a server listens at, and how it stops to."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import struct
import sys

from graphio.support import errors

__all__ = ["BACKLOG", "listening", "make_no_more"]

BACKLOG = 2048
_SO_ATTACH_FILTER = 26  # of Linux, which the module socket does not name
_RETURN = 0x06  # BPF's BPF_RET | BPF_K


def listening(host: str, port: int) -> socket.socket:
    """A socket at an address.

    Raises:
        UnavailableError: it is in use, or not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        made = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        number = getattr(error, "errno", None)
        why = str(error) if number is None or number < 0 else os.strerror(number)
        raise errors.UnavailableError(
            message=f"cannot listen at {host}, port {port}: {why}; choose another with --port "
            "(0: any that is free)"
        ) from None
    made.set_inheritable(True)
    return made


def make_no_more(listener: socket.socket) -> None:
    """Lets no new connection be made, while those that are made can be accepted.

    Closing a socket resets connections that the server has not accepted, whose clients have sent a
    request. On Linux a filter drops the packets that would make new ones; clients try again after
    a second and are then refused. Other systems have no such filter.
    """
    if sys.platform != "linux":
        return
    drop = ctypes.create_string_buffer(struct.pack("HBBI", _RETURN, 0, 0, 0))
    program = struct.pack("HL", 1, ctypes.addressof(drop))
    with contextlib.suppress(OSError):  # a sandbox may forbid it
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)
