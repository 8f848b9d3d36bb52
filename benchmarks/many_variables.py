"""Costs of a variable, in us, in graphs of 10,000, 50,000 and 200,000 of them.

    python benchmarks/many_variables.py [COUNT ...] [--profile STEP]

Every step is done once on variables of one float32, after a run with few of them that imports what
is needed; the times are the processor's. A step that is linear has the same figure in every column.
The last rows are not steps: Python's time to read, and to set, each field of a variable's nodes
once, which is the minimum for a step that looks at all of them one by one. --profile shows in which
functions a step spends its time.
"""

from __future__ import annotations

import argparse
import cProfile
import itertools
import os
import pstats
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import graphio as tf
from graphio.model.export import graph_message
from graphio.support.collecting import without_collector

COUNTS = (10_000, 50_000, 200_000)
Step = tuple[str, Callable[[], Any]]


def build(count: int) -> tf.Graph:
    """A graph with variables in scopes of ten."""
    graph = tf.Graph()
    with graph.as_default():
        for i in range(count // 10):
            with tf.variable_scope(f"layer{i}"):
                for j in range(10):
                    tf.get_variable(f"v{j}", [1], initializer=tf.zeros_initializer())
    return graph


class Steps:
    """All that a program does with its variables, in an order that works."""

    def __init__(self, count: int, folder: str) -> None:
        self._count, self._folder = count, folder

    def __iter__(self) -> Iterator[Step]:
        yield "build", self._build
        with self._graph.as_default():
            yield "Saver()", self._saver
            yield "global_variables_initializer()", self._initializer
            yield "Session()", self._session
            yield "first run of the initializer", self._initialize
            yield "second run of the initializer", self._initialize
            yield "save, without a graph file", lambda: self._save(write_meta_graph=False)
            yield "save, with its first graph file", lambda: self._save()
            yield "save again", lambda: self._save()
            yield "restore", lambda: self.saver.restore(self.session, self.prefix)
            yield "list_variables", lambda: tf.train.list_variables(self.prefix)
            yield "verify", lambda: tf.train.verify(self.prefix)
            yield "saved_model.save", self._export
            self.session.close()
        with tf.Graph().as_default():
            yield "import_meta_graph", self._import
            with tf.Session() as session:
                yield "restore after it", lambda: self._imported.restore(session, self.prefix)
        yield "load in Python", lambda: tf.saved_model.load(self._model)
        yield "load in C", self._load_in_c
        state = self._loaded.state
        yield "restore in C", lambda: state.restore(self.prefix)
        yield "save in C", lambda: state.save(os.path.join(self._folder, "c"))

    def _build(self) -> None:
        self._graph = build(self._count)

    def _saver(self) -> None:
        self.saver = tf.train.Saver()

    def _initializer(self) -> None:
        self._first = tf.global_variables_initializer()

    def _session(self) -> None:
        self.session = tf.Session()

    def _initialize(self) -> None:
        self.session.run(self._first)

    def _save(self, **options: Any) -> None:
        self.prefix = self.saver.save(self.session, os.path.join(self._folder, "m"), **options)

    def _export(self) -> None:
        self._model = os.path.join(self._folder, "m.gio")
        signatures = {"init": ({}, {}, [self._first])}
        tf.saved_model.save(self._model, self.session, signatures)

    def _import(self) -> None:
        self._imported = tf.train.import_meta_graph(f"{self.prefix}.meta")

    def _load_in_c(self) -> None:
        self._loaded = tf.saved_model.load(self._model, "cinfer")


class Bare:
    """The fields of all nodes of a graph, without anything that is done with them."""

    def __init__(self, count: int) -> None:
        self._message = graph_message(build(count))
        self._fields: list[tuple[Any, ...]] = []

    def __iter__(self) -> Iterator[Step]:
        yield "bare: reading each field", self._read
        yield "bare: setting each field", self._set

    @without_collector
    def _read(self) -> None:
        for node in self._message.node:
            attrs = []
            for attr in node.attr:
                value = attr.value
                kind = value.WhichOneof("value")
                attrs.append((attr.key, kind, getattr(value, kind)))
            at = node.source
            self._fields.append((
                node.name, node.op, node.domain, node.version, node.tf_type, list(node.input),
                attrs, list(node.output_type), at.file, at.line, at.function,
            ))  # fmt: skip

    def _set(self) -> None:
        made = type(self._message)()
        for name, op, domain, version, tf_type, inputs, attrs, types, *at in self._fields:
            node = made.node.add()
            node.name, node.op, node.domain, node.version = name, op, domain, version
            node.tf_type = tf_type
            node.input.extend(inputs)
            node.output_type.extend(types)
            node.source.file, node.source.line, node.source.function = at
            for key, kind, value in attrs:
                held = node.attr.add(key=key).value
                if kind in ("t", "type"):
                    getattr(held, kind).CopyFrom(value)
                else:
                    setattr(held, kind, value)


def measured(count: int, profiled: str | None) -> dict[str, float]:
    """us a variable of every step."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, step in itertools.chain(Steps(count, folder), Bare(count)):
            profile = cProfile.Profile() if name == profiled else None
            start = time.process_time()
            if profile is None:
                step()
            else:
                profile.runcall(step)
                pstats.Stats(profile).sort_stats("tottime").print_stats(40)
            found[name] = 1e6 * (time.process_time() - start) / count
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("counts", nargs="*", type=int, default=COUNTS)
    parser.add_argument("--profile", metavar="STEP", help="profile this step")
    options = parser.parse_args()
    measured(100, None)
    columns = [measured(count, options.profile) for count in options.counts]
    print(f"{'us a variable':34}" + "".join(f"{count:>10,}" for count in options.counts))
    for name in columns[0]:
        print(f"{name:34}" + "".join(f"{column[name]:>10.1f}" for column in columns))


if __name__ == "__main__":
    main()
