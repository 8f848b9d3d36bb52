"""The strings that a model holds by key, such as tags and names of assets."""

from __future__ import annotations

from graphio.schema import model_pb2

__all__ = ["metadata", "set_metadata"]


def metadata(model: model_pb2.Model) -> dict[str, str]:
    """The model's strings by key."""
    return {entry.key: entry.value for entry in model.metadata}


def set_metadata(model: model_pb2.Model, key: str, value: str) -> None:
    """Sets one of the model's strings, or removes it when it is empty."""
    strings = {**metadata(model), key: value}
    del model.metadata[:]
    for name in sorted(strings):
        if strings[name]:
            model.metadata.add(key=name, value=strings[name])
