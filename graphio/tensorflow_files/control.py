"""Calls, branches and loops: nodes that run functions, and TensorFlow 1's frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import graphio as tf
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.tensorflow_files.bodies import Body, Key, Node, behind
from graphio.tensorflow_files.calls import Handle
from graphio.tensorflow_files.names import valid_name
from graphio.tensorflow_files.regions import Broken, Region

if TYPE_CHECKING:
    from graphio.tensorflow_files.frames import Loop
    from graphio.tensorflow_files.importing import Importer

__all__ = ["CALLING", "ROWS"]

Builder = Callable[["Importer", Node, "Region"], Any]


def _values(node: Node, region: Region) -> list[Any]:
    found = [region.find(key) for key in node.inputs]
    if any(value is None for value in found):
        raise Broken
    return found


def _function(importer: Importer, node: Node, key: str) -> Body:
    if key not in node.attr or not node.attr[key].func.name:
        raise ValueError(f"has no function '{key}'")
    return importer.body(node.attr[key].func.name)


def _call(importer: Importer, node: Node, region: Region) -> Any:
    values = _values(node, region)
    return importer.call(
        _function(importer, node, "f"), values, valid_name(node.name), node, region
    )


# ---- branches ----


def _truth(value: Any) -> Tensor:
    """A predicate: numbers that are not zero hold, too."""
    tensor: Tensor = tf.convert_to_tensor(value)
    if tensor.dtype == tf.bool:
        return tensor
    made: Tensor = tf.not_equal(tensor, tf.zeros_like(tensor))
    return made


def _if(importer: Importer, node: Node, region: Region) -> Any:
    predicate, *values = _values(node, region)
    if isinstance(predicate, Handle):
        predicate = predicate.variable.value()
    then, otherwise = (
        _branch(importer, _function(importer, node, k), values)
        for k in ("then_branch", "else_branch")
    )
    made = tf.cond(_truth(predicate), then, otherwise, strict=True, name=valid_name(node.name))
    return list(made)


def _branch(importer: Importer, body: Body, values: Sequence[Any]) -> Callable[[], Any]:
    def build() -> Any:
        results, effects = importer.inside(body, values)
        with tf.control_dependencies(effects):
            return [tf.identity(t) if effects and isinstance(t, Tensor) else t for t in results]

    return build


def _case(importer: Importer, node: Node, region: Region) -> Any:
    index, *values = _values(node, region)
    names = [f.name for f in node.attr["branches"].list.func]
    if not names:
        raise ValueError("has no branches")
    bodies = [_branch(importer, importer.body(name), values) for name in names]
    made = tf.switch_case(index, bodies, default=bodies[-1], name=valid_name(node.name))
    return list(made) if isinstance(made, (list, tuple)) else [made]


# ---- loops ----


def _while(importer: Importer, node: Node, region: Region) -> Any:
    values = _values(node, region)
    test, body = (_function(importer, node, k) for k in ("cond", "body"))
    if not len(values) == len(body.args) == len(body.results) == len(test.args):
        raise ValueError(
            f"has {len(values)} loop variables, its body {len(body.args)} and gives "
            f"{len(body.results)}"
        )
    changing = [i for i in range(len(values)) if not _unchanged(body, i)]
    return _loop(
        [values[i] for i in changing],
        lambda now: importer.inside(test, _merged(values, changing, now))[0][0],
        lambda now: _picked(importer.inside(body, _merged(values, changing, now))[0], changing),
        valid_name(node.name),
        lambda final: _merged(values, changing, final),
    )


def _unchanged(body: Body, i: int) -> bool:
    """Whether a loop variable leaves an iteration as it came."""
    return behind(body, body.results[i], ("Identity",))[0] == body.args[i]


def _merged(values: Sequence[Any], positions: Sequence[int], found: Sequence[Any]) -> list[Any]:
    made = list(values)
    for position, value in zip(positions, found, strict=True):
        made[position] = value
    return made


def _picked(values: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    return [values[i] for i in positions]


def _loop(
    entering: Sequence[Any],
    test: Callable[[Sequence[Any]], Any],
    body: Callable[[Sequence[Any]], list[Any]],
    name: str,
    whole: Callable[[Sequence[Any]], list[Any]],
) -> list[Any]:
    """A while_loop whose shapes are loosened until they hold in every iteration."""
    if not entering:
        raise ValueError("its iterations change nothing")
    first = [v.variable.value() if hasattr(v, "variable") else v for v in entering]
    for loosen in (_as_they_are, _unknown_sizes, _unknown_rank):
        try:
            made = tf.while_loop(
                lambda *now: _truth(test(now)),
                lambda *now: body(now),
                first,
                shape_invariants=[loosen(v) for v in first],
                name=name,
                return_same_structure=True,
            )
            return whole(list(made))
        except ValueError as error:
            if loosen is _unknown_rank or isinstance(error, TypeError):
                raise
    raise AssertionError


def _as_they_are(value: Any) -> Any:
    return value.shape if isinstance(value, Tensor) else None


def _unknown_sizes(value: Any) -> Any:
    if not isinstance(value, Tensor) or value.shape.ndims is None:
        return _as_they_are(value)
    return TensorShape([None] * value.shape.ndims)


def _unknown_rank(value: Any) -> Any:
    return TensorShape(None) if isinstance(value, Tensor) else None


# ---- frames of TensorFlow 1 ----


def _exit(importer: Importer, node: Node, region: Region) -> Any:
    """The first Exit of a loop builds it, for all of them."""
    loop = region.frames.of[node.name]
    if loop.frame not in region.values:
        with importer.building(loop.frame, region.body):
            region.values[loop.frame] = _frame(importer, loop, region)
    return [region.values[loop.frame][loop.exits[node.name]]]


def _frame(importer: Importer, loop: Loop, region: Region) -> list[Any]:
    entering = [region.find(key) for key in loop.entering]
    constants = {name: region.find(key) for name, key in loop.constants.items()}
    if any(v is None for v in (*entering, *constants.values())) or loop.test is None:
        raise Broken

    changing = region.frames.changing(loop)

    def run(keys: Sequence[Key], now: Sequence[Any]) -> list[Any]:
        inner = Region(region.body, region.frames)
        inner.values = {name: [value] for name, value in constants.items()}
        values = _merged(entering, changing, now)
        for merge, switches, value in zip(loop.merges, loop.switches, values, strict=True):
            inner.values[merge] = [value]
            inner.values.update({name: [value, value] for name in switches})
        importer.build([k[0] for k in keys], inner)
        found = [inner.find(key) for key in keys]
        if any(value is None for value in found):
            raise Broken
        return found

    return _loop(
        _picked(entering, changing),
        lambda now: run([loop.test], now)[0] if loop.test else None,
        lambda now: run(_picked(loop.following, changing), now),
        valid_name(loop.frame),
        lambda final: _merged(entering, changing, final),
    )


def _merge(importer: Importer, node: Node, region: Region) -> Any:
    """The Merge of a branch: a cond of what its two inputs need."""
    predicate, truths = region.frames.decided(node)
    condition = region.find(predicate)
    if condition is None:
        raise Broken

    def branch(key: Key) -> Callable[[], Any]:
        def build() -> Any:
            inner = Region(region.body, region.frames, region, predicate)
            importer.build([key[0]], inner)
            found = inner.find(key)
            if found is None:
                raise Broken
            return tf.identity(found)

        return build

    keys = dict(zip(truths, node.inputs, strict=True))
    y = tf.cond(
        _truth(condition), branch(keys[True]), branch(keys[False]), name=valid_name(node.name)
    )
    first = tf.cast(_truth(condition), tf.int32)
    return [y, 1 - first if truths[0] else first]


def _switch(importer: Importer, node: Node, region: Region) -> Any:
    """Inside a branch the value itself."""
    predicate = region.predicate
    if predicate is None or not region.frames.switches(node, predicate):
        raise ValueError("is read outside its branch")
    value = region.find(node.inputs[0])
    return [value, value]


def _inside_only(importer: Importer, node: Node, region: Region) -> Any:
    raise ValueError("is read outside its loop")


#: operators that run functions
CALLING = (
    "Case", "If", "PartitionedCall", "StatefulPartitionedCall", "StatelessCase", "StatelessIf",
    "StatelessWhile", "While",
)  # fmt: skip

ROWS: dict[str, Builder] = {
    "Case": _case,
    "Enter": _inside_only,
    "Exit": _exit,
    "If": _if,
    "LoopCond": _inside_only,
    "Merge": _merge,
    "NextIteration": _inside_only,
    "PartitionedCall": _call,
    "RefEnter": _inside_only,
    "RefExit": _exit,
    "RefMerge": _merge,
    "RefNextIteration": _inside_only,
    "RefSwitch": _switch,
    "StatefulPartitionedCall": _call,
    "StatelessCase": _case,
    "StatelessIf": _if,
    "StatelessWhile": _while,
    "Switch": _switch,
    "While": _while,
}
