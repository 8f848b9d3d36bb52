"""tensorflow.core...: TensorFlow's messages by the modules that its .proto files are compiled to.

    from graphio.core.protobuf import config_pb2

The modules have no files: table.py says which class each message is. May import everything but
command_line.
"""

from __future__ import annotations

from graphio.core import messages as _messages

_messages.install()
