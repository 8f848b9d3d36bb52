"""The numbers of a training by name and step: recorded while it runs, or read from a log."""

from __future__ import annotations

import csv
import glob
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from graphio.summary.writer import summary_iterator
from graphio.support import errors, html, logging
from graphio.train.loops.curves import plot_curves, svg_of

__all__ = ["Curve", "History"]

Array = np.ndarray[Any, Any]
Rows = Iterator[tuple[int, Mapping[str, Any]]]
_EVENTS = "events.out.tfevents"


class Curve(NamedTuple):
    """A number over the steps at which it is known, ascending."""

    steps: Array
    values: Array


class History:
    """Numbers of a training by name: `history["loss"]` is a Curve.

        history = tf.train.History("run/history.jsonl")
        history.add(step, loss=loss, accuracy=accuracy)
        history.plot("run/history.png")

    A step that is added again replaces what was known of it, so that a training which goes on from
    a checkpoint goes on in its history, too.

    Args:
        log: a .jsonl file: its rows are read, and each add is written to it at once; None: the
            numbers stay in memory.

    Raises:
        ValueError: log is not a .jsonl file, or holds something else.
    """

    def __init__(self, log: str | os.PathLike[str] | None = None) -> None:
        self._known: dict[str, dict[int, float]] = {}
        self._log: Any = None
        if log is None:
            return
        path = os.fspath(log)
        if not path.endswith(".jsonl"):
            raise ValueError(f"History: log is {path!r}, expected the name of a .jsonl file")
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        if os.path.exists(path):
            _drop_cut_line(path)
            self._take(_json_lines(path, "step"))
        self._log = open(path, "a", encoding="utf-8", buffering=1)

    @classmethod
    def read(cls, path: str | os.PathLike[str], step: str = "step") -> History:
        """The numbers of a log; values other than numbers are left out.

        Args:
            path: a .csv or .jsonl file, an event file of TensorBoard's, or a folder of those.
            step: the column or key of the step.

        Raises:
            NotFoundError: there is no such file, or no event file in the folder.
            ImportError: for event files, the package tensorboard is not installed.
            ValueError: another kind of file; there is no step, or it is not a number.
        """
        made, name = cls(), os.fspath(path)
        if not os.path.exists(name):
            raise errors.NotFoundError(message=f"{name}: there is no such file")
        if name.endswith(".csv"):
            made._take(_csv_rows(name, step))
        elif name.endswith(".jsonl"):
            made._take(_json_lines(name, step))
        elif not os.path.isdir(name) and _EVENTS not in os.path.basename(name):
            raise ValueError(
                f"'{name}' cannot be read as a log: expected a .csv or .jsonl file, an event "
                f"file of TensorBoard's ({_EVENTS}...), or a folder of those"
            )
        else:
            made._take(_events(name))
        return made

    def add(self, step: int, values: Mapping[str, Any] | None = None, **more: Any) -> None:
        """Adds numbers of a step.

        Args:
            step: the global step.
            values, more: numbers by name.

        Raises:
            TypeError: one of them is not a number.
        """
        numbers = {name: _number(name, v) for name, v in {**(values or {}), **more}.items()}
        self._take(iter([(int(step), numbers)]))
        if self._log is not None:
            self._log.write(json.dumps({"step": int(step), **numbers}) + "\n")

    def _take(self, rows: Rows) -> None:
        for step, values in rows:
            for name, value in values.items():
                self._known.setdefault(name, {})[step] = value

    def close(self) -> None:
        """Closes the log."""
        if self._log is not None:
            self._log.close()

    # ---- reading ----

    @property
    def names(self) -> list[str]:
        """The names that have numbers, in order of arrival."""
        return list(self._known)

    def at(self, step: int) -> dict[str, float]:
        """The numbers of a step by name; {} if there are none."""
        return {name: known[step] for name, known in self._known.items() if step in known}

    def __contains__(self, name: object) -> bool:
        """Whether there are numbers of a name."""
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        """The names, in the order in which they came."""
        return iter(self._known)

    def __len__(self) -> int:
        """The number of names."""
        return len(self._known)

    def __getitem__(self, name: str) -> Curve:
        """The numbers of a name. Raises KeyError: there are none; the message lists the names."""
        if name not in self._known:
            raise KeyError(f"there is no {name!r} in the history; there are {self.names}")
        pairs = sorted(self._known[name].items())
        steps, values = zip(*pairs, strict=True)
        return Curve(np.array(steps, np.int64), np.array(values, np.float64))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a .csv or .jsonl file with a line a step.

        Raises:
            ValueError: the name ends otherwise.
        """
        name = os.fspath(path)
        steps = sorted({step for known in self._known.values() for step in known})
        rows = [{n: k[step] for n, k in self._known.items() if step in k} for step in steps]
        if not name.endswith((".csv", ".jsonl")):
            raise ValueError(f"History.save: {name} is neither .csv nor .jsonl")
        with open(name, "w", encoding="utf-8", newline="") as file:
            if name.endswith(".jsonl"):
                file.writelines(
                    json.dumps({"step": step, **row}) + "\n"
                    for step, row in zip(steps, rows, strict=True)
                )
                return
            writer = csv.DictWriter(file, ["step", *self.names])
            writer.writeheader()
            writer.writerows({"step": step, **row} for step, row in zip(steps, rows, strict=True))

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """The curves as a picture; see tf.train.plot_curves."""
        return plot_curves(self, path, **options)

    def _repr_html_(self) -> str:
        rows = []
        for name in self.names:
            steps, values = self[name]
            least = int(np.argmin(np.where(np.isnan(values), np.inf, values)))
            shown = (f"{values[-1]:.6g}", f"{values[least]:.6g}", steps[least])
            rows.append((name, len(steps), steps[-1], *shown))
        head = ("name", "steps", "last step", "last", "least", "at step")
        return html.table("History", head, rows, svg_of(self) if rows else "")

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {len(known)}" for name, known in self._known.items())
        return f"<tf.train.History {{{shown}}}>"


def _number(name: str, value: Any) -> float:
    if np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biuf":
        return float(value)
    raise TypeError(f"History.add: {name!r} is {value!r}, expected a number")


# ---- logs ----


def _numbers(row: Mapping[Any, Any], step: str, path: str, line: int) -> tuple[int, dict[str, Any]]:
    """A row's step and all of it that is a number."""
    if step not in row:
        raise ValueError(
            f"{path}, line {line}: there is no {step!r}; there are {sorted(map(str, row))}: say "
            "which is the step, History.read(path, step=...)"
        )
    known: dict[str, float] = {}
    for name, value in row.items():
        try:
            known[str(name)] = float(value)
        except (TypeError, ValueError):
            continue
    if step not in known or not known[step].is_integer():
        raise ValueError(f"{path}, line {line}: the step is {row[step]!r}, expected a number")
    return int(known.pop(step)), known


def _csv_rows(path: str, step: str) -> Rows:
    with open(path, encoding="utf-8", newline="") as file:
        for line, row in enumerate(csv.DictReader(file), 2):
            yield _numbers(row, step, path, line)


def _json_lines(path: str, step: str) -> Rows:
    """An object a line; a last one that is cut short, as a kill leaves it, is left out."""
    with open(path, encoding="utf-8") as file:
        for line, text in enumerate(file, 1):
            try:
                row = json.loads(text)
            except ValueError as error:
                if not text.endswith("\n") or not text.strip():
                    continue
                raise ValueError(f"{path}, line {line} is not JSON: {error}") from None
            if not isinstance(row, dict):
                raise ValueError(f"{path}, line {line} is {text.strip()[:60]}, expected an object")
            yield _numbers(row, step, path, line)


def _drop_cut_line(path: str) -> None:
    """Takes off what a kill left of a last line."""
    with open(path, "rb+") as file:
        content = file.read()
        if content and not content.endswith(b"\n"):
            file.truncate(content.rfind(b"\n") + 1)


def _events(path: str) -> Rows:
    """The scalars of event files, the older file first."""
    paths = [path]
    if os.path.isdir(path):
        paths = sorted(glob.glob(os.path.join(glob.escape(path), f"*{_EVENTS}*")))
        if not paths:
            raise errors.NotFoundError(message=f"{path} holds no event file ({_EVENTS}...)")
    for name in paths:
        try:
            for event in summary_iterator(name):
                yield event.step, dict(_scalars(event.summary))
        except errors.DataLossError as error:  # as a training that runs, or was killed, leaves it
            logging.warning("%s: the events before this are read: %s", name, error.message)


def _scalars(summary: Any) -> Iterator[tuple[str, float]]:
    """Numbers as TensorFlow 1 writes them, and as 2 does."""
    for value in summary.value:
        kind = value.WhichOneof("value")
        if kind == "simple_value":
            yield value.tag, value.simple_value
        elif kind == "tensor" and value.metadata.plugin_data.plugin_name == "scalars":
            from tensorboard.util import tensor_util

            yield value.tag, float(tensor_util.make_ndarray(value.tensor))
