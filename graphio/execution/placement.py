"""Placement: which device of a session runs which node, and what is sent from one to another.

There are CPUs alone, as many as a session's config says. What asks for another device is an error
of the runs that need it, or, with soft placement, runs on the first CPU.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from graphio.execution.config import ConfigProto
from graphio.framework.devices import DeviceSpec
from graphio.framework.gradient_registry import not_differentiable
from graphio.schema.functions import all_graphs, subgraphs
from graphio.schema.model_pb2 import Graph, Model, Node, Type
from graphio.support import errors

not_differentiable("Send", "Recv", domain="graphio")


@dataclass(frozen=True)
class DeviceAttributes:
    """A device of a session, as list_devices reports it.

    Attributes:
        name: "/job:localhost/replica:0/task:0/device:CPU:0".
        device_type: "CPU".
        memory_limit_bytes: nominal; a run may use what the machine has.
        incarnation: a number that differs between devices.
    """

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int

    @property
    def memory_limit(self) -> int:
        """memory_limit_bytes."""
        return self.memory_limit_bytes

    def __repr__(self) -> str:
        return (
            f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, "
            f"{self.incarnation})"
        )


@dataclass
class Devices:
    """The devices of a session.

    Attributes:
        names: full names; the first one runs what has no wish.
        soft: whether a wish for another device is for the first one.
        log: whether placements are written to stderr.
        job, task: of the devices.
    """

    names: list[str]
    soft: bool = False
    log: bool = False
    job: str = "localhost"
    task: int = 0
    _known: dict[str, str | None] = field(default_factory=dict)

    @classmethod
    def of(cls, config: ConfigProto | None, job: str = "localhost", task: int = 0) -> Devices:
        """Those that a config asks for, of a task.

        Raises:
            InvalidArgumentError: a number of devices that is none.
        """
        count = 1 if config is None else config.device_count.get("CPU", 1)
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= 1024:
            raise errors.InvalidArgumentError(
                message=f"device_count['CPU'] is {count!r}, expected a number up to 1024"
            )
        names = [_name(job, task, i) for i in range(max(count, 1))]
        if config is None:
            return cls(names)
        return cls(names, config.allow_soft_placement, config.log_device_placement, job, task)

    def attributes(self) -> list[DeviceAttributes]:
        """The devices in the form of list_devices."""
        return [DeviceAttributes(n, "CPU", 1 << 28, zlib.crc32(n.encode()) + 1) for n in self.names]

    def find(self, wish: str) -> str | None:
        """The device for a request; None if there is none."""
        if wish not in self._known:
            self._known[wish] = self._search(wish)
        return self._known[wish]

    def _search(self, wish: str) -> str | None:
        try:
            spec = DeviceSpec.from_string(wish)
        except ValueError:
            spec = DeviceSpec(device_type="?")
        here = spec.job in (None, self.job) and spec.task in (None, self.task)
        if here and not spec.replica and spec.device_type in (None, "CPU"):
            name = _name(self.job, self.task, spec.device_index or 0)
            if name in self.names:
                return name
        return self.names[0] if self.soft else None


def _name(job: str, task: int, index: int) -> str:
    return f"/job:{job}/replica:0/task:{task}/device:CPU:{index}"


def assign_devices(model: Model, devices: Devices) -> None:
    """Gives every node of a model the full name of its device, and puts a Send and a Recv where a
    value goes from one to another. What is inside a branch or a loop runs where that does.

    Raises:
        InvalidArgumentError: a node asks for a device that is not there.
    """
    for graph in all_graphs(model.graph):
        for node in graph.node:
            node.device = _checked(node.name, node.device, devices)
    if len(devices.names) > 1:
        _Sender(model.graph).run()
    if devices.log:
        for node in model.graph.node:
            print(f"{node.name}: ({node.tf_type or node.op}): {node.device}", file=sys.stderr)


def _checked(name: str, wish: str, devices: Devices) -> str:
    """The device that a node gets.

    Raises:
        InvalidArgumentError: it asks for one that is not there.
    """
    found = devices.find(wish)
    if found is not None:
        return found
    listed = ", ".join(devices.names)
    error = errors.InvalidArgumentError(
        message=f"Cannot assign a device for operation {name}: {{{{node {name}}}}} was "
        f"explicitly assigned to {wish} but available devices are [ {listed} ]. Make sure "
        "the device specification refers to a valid device, or let the session assign it to the "
        "CPU: tf.ConfigProto(allow_soft_placement=True)"
    )
    error.node_name = name
    raise error


class _Sender:
    """Puts in what goes between devices: one Send and Recv for a value and a device."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._made: dict[tuple[str, str], str] = {}
        self._names = {node.name for inner in all_graphs(graph) for node in inner.node}
        self._device: dict[str, str] = {}
        self._types: dict[str, Sequence[Type]] = {}

    def run(self) -> None:
        """Rewrites the graph's nodes."""
        nodes: list[Node] = []
        for node in self._graph.node:
            renamed: dict[str, str] = {}
            for value in _read(node):
                producer = value.partition(":")[0]
                if self._device.get(producer, node.device) != node.device:
                    if (value, node.device) not in self._made:
                        nodes += self._transfer(value, producer, node.device)
                    renamed[value] = self._made[value, node.device]
            if renamed:
                _rename(node, renamed)
            nodes.append(node)
            self._device[node.name] = node.device
            self._types[node.name] = node.output_type
        made = Graph(node=nodes)
        del self._graph.node[:]
        self._graph.node.extend(made.node)

    def _transfer(self, value: str, producer: str, device: str) -> Iterator[Node]:
        index = int(value.partition(":")[2] or 0)
        source = self._device[producer]
        sent = self._name(producer)
        self._made[value, device] = received = self._name(producer)
        for op, name, read, where in (
            ("Send", sent, value, source),
            ("Recv", received, sent, device),
        ):
            node = Node(name=name, op=op, domain="graphio", version=1, input=[read], device=where)
            node.tf_type = f"_{op}"
            node.output_type.append(self._types[producer][index])
            for key, text in (
                ("recv_device", device),
                ("send_device", source),
                ("tensor_name", value),
            ):
                node.attr.add(key=key).value.s = text.encode()
            yield node

    def _name(self, producer: str) -> str:
        number = 0
        while f"{producer}/_{number}" in self._names:
            number += 1
        self._names.add(f"{producer}/_{number}")
        return f"{producer}/_{number}"


def _read(node: Node) -> Iterator[str]:
    """The values from outside that a node and its bodies read, each once."""
    found = dict.fromkeys(v for v in node.input if v)
    for body in subgraphs(node):
        found.update(dict.fromkeys(body.capture))
    return iter(list(found))


def _rename(node: Node, renamed: dict[str, str]) -> None:
    """Makes a node and its bodies read values under other names."""
    node.input[:] = [renamed.get(v, v) for v in node.input]
    for body in subgraphs(node):
        for inner in body.node:
            _rename(inner, renamed)
        body.output[:] = [renamed.get(v, v) for v in body.output]
        body.capture[:] = sorted(renamed.get(v, v) for v in body.capture)


def partitions(model: Model) -> list[Graph]:
    """For each device that a placed model uses, its nodes: a Send's partner is on another device,
    so a Recv there has no input; control inputs are written "^node" and stay on their device."""
    found: dict[str, Graph] = {}
    for node in model.graph.node:
        found.setdefault(node.device, Graph()).node.append(_part(node))
    for graph in found.values():
        names = {node.name for node in graph.node}
        for node in graph.node:
            node.input[:] = list(_local(node.input, names))
    return [found[name] for name in sorted(found)]


def _part(node: Node) -> Node:
    made = Node()
    made.CopyFrom(node)
    if node.domain == "graphio" and node.op in ("Send", "Recv"):
        made.op = node.tf_type
        if node.op == "Recv":
            del made.input[:]
    made.input.extend(f"^{name}" for name in node.control_input)
    return made


def _local(inputs: Iterable[str], names: set[str]) -> Iterator[str]:
    return (v for v in inputs if v.lstrip("^").partition(":")[0] in names)
