"""One row for each operator that rearranges, reads or chooses elements."""

from __future__ import annotations

import numpy as np
from differential_maker import (
    ANY,
    FLOATS,
    NUMBERS,
    Call,
    Maker,
    dtype_number,
    row,
)


@row("Reshape")
def _reshape(m: Maker, op: str) -> Call:
    x = m.tensor(ANY)
    size, shape = m[x].size, [1] * m.int(0, 2)
    if size == 0:
        return Call(op, [x, m.ints(*m[x].shape, 1)], {"allowzero": 1})
    for n in (2, 3, 5):
        while size % n == 0:
            shape, size = [*shape, n], size // n
            if len(shape) > 1 and m.bool():
                shape[-2:] = [shape[-1] * shape[-2]]
    shape = [*shape, size] if size > 1 else shape
    if shape and m.bool():
        shape[m.int(0, len(shape) - 1)] = -1
    return Call(op, [x, m.ints(*shape)])


@row("Flatten")
def _flatten(m: Maker, op: str) -> Call:
    x = m.tensor(ANY)
    return Call(op, [x], {"axis": m.int(-m[x].ndim, m[x].ndim)})


@row("Squeeze")
def _squeeze(m: Maker, op: str) -> Call:
    x = m.tensor(ANY)
    ones = [a for a, n in enumerate(m[x].shape) if n == 1 and m.bool()]
    return Call(op, [x, m.ints(*ones)] if ones or m.bool() else [x])


@row("Unsqueeze")
def _unsqueeze(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(0, 3))
    count = m.int(1, 2)
    rank = m[x].ndim + count
    axes = m.permutation(rank)[:count]
    return Call(op, [x, m.ints(*(a - rank if m.bool() else a for a in axes))])


@row("Transpose")
def _transpose(m: Maker, op: str) -> Call:
    x = m.tensor(ANY)
    return Call(op, [x], {"perm": m.permutation(m[x].ndim)} if m[x].ndim and m.bool() else {})


@row("Expand")
def _expand(m: Maker, op: str) -> Call:
    x = m.tensor(ANY)
    shape = [m.int(0, 3) if n == 1 else m.pick([n, 1]) for n in m[x].shape]
    shape = [m.int(1, 3), *shape] if len(shape) < 4 and m.bool() else shape[m.int(0, len(shape)) :]
    return Call(op, [x, m.ints(*shape)])


@row("Tile")
def _tile(m: Maker, op: str) -> Call:
    x = m.tensor(ANY)
    return Call(op, [x, m.ints(*(m.pick([1, 2, 3, 0]) for _ in range(m[x].ndim)))])


@row("Concat")
def _concat(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4))
    axis, parts = m.axis(x), [x]
    for _ in range(m.int(0, 3)):
        shape = list(m[x].shape)
        shape[axis] = m.int(0, 3)
        parts.insert(m.int(0, len(parts)), m.like(x, shape))
    return Call(op, parts, {"axis": axis})


@row("Split")
def _split(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4), least=1)
    axis = m.axis(x)
    size, count = m[x].shape[axis], m.int(1, 3)
    if m.bool() and count <= size and (count - 1) * -(-size // count) <= size:
        return Call(op, [x], {"axis": axis, "num_outputs": count}, count)
    cuts = sorted(m.int(0, size) for _ in range(count - 1))
    sizes = np.diff([0, *cuts, size])
    return Call(op, [x, m.ints(*sizes)], {"axis": axis}, count)


@row("Slice")
def _slice(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4))
    axes = m.axes(x)
    columns = [[m.int(-8, 8) for _ in axes] for _ in range(2)]
    inputs = [x, *(m.ints(*c) for c in columns)]
    steps = m.ints(*(m.pick([1, 2, -1, -2, 3]) for _ in axes))
    return Call(op, [*inputs, m.ints(*axes), *([steps] if m.bool() else [])])


@row("Pad")
def _pad(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4), least=1)
    mode = m.pick(["constant", "edge", "reflect", "wrap"])
    sizes = m[x].shape
    most = [3 if mode in ("constant", "edge") else max(0, n - 1) for n in sizes]
    low = 0 if mode == "reflect" else -1
    pads = [
        m.int(max(low, -(n // 2)), k) for _ in range(2) for n, k in zip(sizes, most, strict=True)
    ]
    inputs = [x, m.ints(*pads)]
    if mode == "constant" and m.bool():
        inputs.append(m.fresh(m[x].dtype.name, ()))
    return Call(op, inputs, {"mode": mode})


@row("ConstantOfShape")
def _constant_of_shape(m: Maker, op: str) -> Call:
    from onnx import numpy_helper

    value = numpy_helper.from_array(m.array(m.pick(ANY), [1]))
    return Call(op, [m.ints(*m.shape())], {"value": value} if m.bool() else {})


@row("Range")
def _range(m: Maker, op: str) -> Call:
    dtype = m.pick(("float32", "float64", "int32", "int64", "int16"))
    values = m.int(-5, 5), m.int(-9, 9), m.pick([1, 2, -1, 3, -2])
    return Call(op, [m.add(v, dtype) for v in values])


@row("OneHot")
def _one_hot(m: Maker, op: str) -> Call:
    depth = m.int(1, 5)
    index = m.add(m.indices(depth + 2, m.shape(1, 3)), m.pick(["int64", "int32", "float32"]))
    values = m.array(m.pick(("float32", "int64", "int32", "uint8")), [2])
    rank = m[index].ndim
    depth_name = m.add(np.array(depth, np.int64))
    return Call(op, [index, depth_name, m.add(values)], {"axis": m.int(-rank - 1, rank)})


@row("Trilu")
def _trilu(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(2, 4))
    inputs = [x, m.add(m.int(-4, 4), "int64")] if m.bool() else [x]
    return Call(op, inputs, {"upper": m.int(0, 1)})


@row("EyeLike")
def _eye_like(m: Maker, op: str) -> Call:
    attrs = {"dtype": dtype_number(m.pick(("float32", "int64", "bool", "float64", "uint8")))}
    return Call(
        op, [m.tensor(ANY, rank=(2, 2))], {**(attrs if m.bool() else {}), "k": m.int(-3, 3)}
    )


@row("CenterCropPad")
def _center_crop_pad(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4), least=1)
    axes = m.axes(x) or [0]
    sizes = m.ints(*(m.int(1, 6) for _ in axes))
    return Call(op, [x, sizes], {"axes": axes})


@row("DepthToSpace")
def _depth_to_space(m: Maker, op: str) -> Call:
    b = m.int(1, 3)
    n, c, h, w = m.shape(4, 4)
    x = m.fresh(m.pick(FLOATS + ("int64", "uint8")), [n, (c % 3 + 1) * b * b, h, w])
    return Call(op, [x], {"blocksize": b, "mode": m.pick(["DCR", "CRD"])})


@row("SpaceToDepth")
def _space_to_depth(m: Maker, op: str) -> Call:
    b = m.int(1, 3)
    n, c, h, w = m.shape(4, 4)
    x = m.fresh(m.pick(FLOATS + ("int64", "uint8")), [n, c, (h % 3 + 1) * b, (w % 3 + 1) * b])
    return Call(op, [x], {"blocksize": b})


# index


@row("Gather")
def _gather(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4), least=1)
    axis = m.axis(x)
    index = m.indices(m[x].shape[axis], m.shape(0, 3))
    return Call(op, [x, m.add(index, m.pick(["int64", "int32"]))], {"axis": axis})


@row("GatherElements")
def _gather_elements(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4), least=1)
    axis = m.axis(x)
    shape = [m.int(0, n) for n in m[x].shape]
    shape[axis] = m.int(0, 5)
    index = m.indices(m[x].shape[axis], shape)
    return Call(op, [x, m.add(index, m.pick(["int64", "int32"]))], {"axis": axis})


@row("GatherND")
def _gather_nd(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4), least=1)
    batch = m.int(0, m[x].ndim - 1)
    depth = m.int(1, m[x].ndim - batch)
    shape = m[x].shape
    lead = (*shape[:batch], *m.shape(0, 2))
    columns = [m.indices(n, lead) for n in shape[batch : batch + depth]]
    return Call(op, [x, m.add(np.stack(columns, -1))], {"batch_dims": batch})


REDUCTIONS = ("none", "add", "mul", "max", "min")


@row("ScatterElements")
def _scatter_elements(m: Maker, op: str) -> Call:
    how = m.pick(REDUCTIONS)
    x = m.tensor(NUMBERS, rank=(1, 4), least=1, tame=how in ("add", "mul"))
    axis, shape = m.axis(x), [m.int(0, n) for n in m[x].shape]
    size = m[x].shape[axis]
    index = m.indices(size, shape, negative=how != "none")
    if how == "none":  # the order of repeated indices is undefined
        line = np.argsort(np.argsort(np.random.RandomState(m.int(0, 99)).rand(size)))
        cut = line[: shape[axis]]
        index = np.broadcast_to(
            cut.reshape([-1 if a == axis % len(shape) else 1 for a in range(len(shape))]), shape
        )
    updates = m.like(x, shape, how in ("add", "mul"))
    inputs = [x, m.add(index, m.pick(["int64", "int32"])), updates]
    return Call(op, inputs, {"axis": axis, "reduction": how}, sums=True)


@row("ScatterND")
def _scatter_nd(m: Maker, op: str) -> Call:
    how = m.pick(REDUCTIONS)
    x = m.tensor(NUMBERS, rank=(1, 4), least=1, tame=how in ("add", "mul"))
    depth, shape = m.int(1, m[x].ndim), m[x].shape
    if how == "none":
        count = m.int(0, int(np.prod(shape[:depth])))
        positions = np.random.RandomState(m.int(0, 99)).permutation(int(np.prod(shape[:depth])))[
            :count
        ]
        index = np.stack(np.unravel_index(positions, shape[:depth]), -1)
    else:
        lead = m.shape(0, 2)
        index = np.stack([m.indices(n, lead) for n in shape[:depth]], -1)
    updates = m.like(x, (*index.shape[:-1], *shape[depth:]), how in ("add", "mul"))
    return Call(op, [x, m.add(index, "int64"), updates], {"reduction": how}, sums=True)


@row("NonZero")
def _non_zero(m: Maker, op: str) -> Call:
    return Call(op, [m.tensor(ANY, rank=(1, 4))])


@row("TopK")
def _top_k(m: Maker, op: str) -> Call:
    x = m.tensor(NUMBERS, rank=(1, 4), least=1)
    axis = m.axis(x)
    k = m.ints(m.int(0, m[x].shape[axis]))
    return Call(op, [x, k], {"axis": axis, "largest": m.int(0, 1), "sorted": 1}, 2)


@row("Unique")
def _unique(m: Maker, op: str) -> Call:
    x = m.tensor(("float32", "float64", "int64", "int8"), rank=(1, 3), least=1)
    attrs = {"axis": m.axis(x)} if m.bool() else {}
    return Call(op, [x], {**attrs, "sorted": m.int(0, 1)}, 4)


@row("Compress")
def _compress(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4), least=1)
    axis = m.axis(x) if m.bool() else None
    most = m[x].size if axis is None else m[x].shape[axis]
    condition = m.fresh("bool", [m.int(0, most)])
    return Call(op, [x, condition], {} if axis is None else {"axis": axis})


@row("ReverseSequence")
def _reverse_sequence(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(2, 4), least=1)
    batch = m.int(0, 1)
    time = m[x].shape[1 - batch]
    lengths = m.ints(*(m.int(1, time) for _ in range(m[x].shape[batch])))
    return Call(op, [x, lengths], {"batch_axis": batch, "time_axis": 1 - batch})
