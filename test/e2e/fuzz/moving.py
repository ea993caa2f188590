"""Random operators that move elements: shapes, parts, gathers, scatters."""

import math

import numpy as np

from .values import NUMPY, Builder, Reject, Value, broadcast, joint_grain


def _any(b: Builder, **wanted) -> Value:
    """Mostly floats; ints and bools of the graph now and then."""
    return b.pick(dtypes=None if b.rng.random() < 0.75 else ("i64", "i32", "bool"), **wanted)


def _like(b: Builder, op: str, inputs: list, x: Value, shape, **attributes) -> Value:
    return b.result(op, inputs, shape, x.dtype, x.mag, x.grain, x.err, **attributes)


def transpose(b: Builder) -> None:
    x = _any(b, max_rank=5)
    order = list(range(x.rank))
    b.rng.shuffle(order)
    if b.rng.random() < 0.1 or x.rank == 0:
        _like(b, "Transpose", [x], x, x.shape[::-1])
    else:
        _like(b, "Transpose", [x], x, [x.shape[i] for i in order], perm=order)


def _factor(b: Builder, size: int, parts: int) -> list[int]:
    """`parts` dims with the product `size`."""
    dims = []
    for _ in range(parts - 1):
        divisors = [d for d in range(1, min(size, 200) + 1) if size % d == 0]
        dims.append(b.rng.choice(divisors))
        size //= dims[-1]
    dims.append(size)
    b.rng.shuffle(dims)
    return dims


def reshape(b: Builder) -> None:
    x = _any(b)
    if x.size == 0:
        raise Reject
    kind = b.rng.random()
    if kind < 0.2:
        axis = b.rng.randint(0, x.rank)
        shape = [math.prod(x.shape[:axis]), math.prod(x.shape[axis:])]
        _like(b, "Flatten", [x], x, shape, axis=axis)
        return
    shape = _factor(b, x.size, b.rng.randint(1, 5))
    if x.size == 1 and b.rng.random() < 0.3:
        shape = []
    written = list(shape)
    if written and kind < 0.5:
        written[b.rng.randrange(len(written))] = -1
    for i in range(min(len(written), x.rank)):
        if written[i] == x.shape[i] and b.rng.random() < 0.3:
            written[i] = 0
    if kind > 0.9 and x.rank and -1 not in written and 0 not in written:  # through a computed shape, as exporters do
        (name,) = b.node("Shape", [x])
        (all_dims,) = (
            b.node("ReduceProd", [name], keepdims=0) if b.opset < 18 else b.node("ReduceProd", [name], keepdims=0)
        )
        (vector,) = b.node("Reshape", [all_dims, b.constant([1])])
        _like(b, "Reshape", [x, vector], x, [x.size])
        return
    _like(b, "Reshape", [x, b.constant(written)], x, shape)


def squeeze(b: Builder) -> None:
    x = _any(b)
    if b.rng.random() < 0.5:
        units = [i for i, d in enumerate(x.shape) if d == 1]
        if not units:
            raise Reject
        axes = b.rng.sample(units, b.rng.randint(1, len(units)))
        shape = [d for i, d in enumerate(x.shape) if i not in axes]
        _like(b, "Squeeze", [x, b.constant(axes)], x, shape)
        return
    rank = x.rank + b.rng.randint(1, 2)
    if rank > 6:
        raise Reject
    axes = b.rng.sample(range(rank), rank - x.rank)
    dims = iter(x.shape)
    shape = [1 if i in axes else next(dims) for i in range(rank)]
    _like(b, "Unsqueeze", [x, b.constant([a - rank if b.rng.random() < 0.3 else a for a in axes])], x, shape)


def expand(b: Builder) -> None:
    x = _any(b)
    wanted = [b.rng.choice([2, 3, 5]) if d == 1 and b.rng.random() < 0.7 else b.rng.choice([d, 1]) for d in x.shape]
    if b.rng.random() < 0.3:
        wanted = [b.rng.choice([1, 2, 4]), *wanted]
    _like(b, "Expand", [x, b.constant(wanted)], x, broadcast(x.shape, tuple(wanted)))


def tile(b: Builder) -> None:
    x = _any(b)
    repeats = [b.rng.choice([1, 1, 2, 3, 0]) if b.rng.random() < 0.9 else 1 for _ in x.shape]
    _like(b, "Tile", [x, b.constant(np.array(repeats, dtype=np.int64))], x, [d * r for d, r in zip(x.shape, repeats)])


def slice_(b: Builder) -> None:
    x = _any(b, min_rank=1)
    axes = b.rng.sample(range(x.rank), b.rng.randint(1, x.rank))
    starts, ends, steps, shape = [], [], [], list(x.shape)
    for axis in axes:
        d = x.shape[axis]
        step = b.rng.choice([1, 1, 1, 2, 3, -1, -2])
        start, end = b.rng.randint(-d - 2, d + 2), b.rng.randint(-d - 2, d + 2)
        if b.rng.random() < 0.3:
            start, end = (0, 2**31) if step > 0 else (2**31, -(2**31))
        starts.append(start), ends.append(end), steps.append(step)
        # ONNX clamps to [0, d] (or [-1, d-1] downwards) after counting negative positions from the end
        low, high = (0, d) if step > 0 else (-1, d - 1)
        first = min(max(start + d if start < 0 else start, max(low, 0)), high)
        last = min(max(end + d if end < 0 else end, low), high if step < 0 else d)
        shape[axis] = max(0, -(-(last - first) // step)) if d else 0
    operands = [
        x,
        b.constant(starts),
        b.constant(ends),
        b.constant([a - x.rank if b.rng.random() < 0.2 else a for a in axes]),
    ]
    if any(s != 1 for s in steps) or b.rng.random() < 0.3:
        operands.append(b.constant(steps))
    if math.prod(shape) == 0 and b.rng.random() < 0.8:
        raise Reject
    _like(b, "Slice", operands, x, shape)


def concat(b: Builder) -> None:
    x = _any(b, min_rank=1)
    axis = b.rng.randrange(x.rank)
    parts = [x]
    for _ in range(b.rng.randint(1, 3)):
        found = [
            v
            for v in b.values
            if v.dtype == x.dtype
            and v.rank == x.rank
            and all(v.shape[i] == x.shape[i] for i in range(x.rank) if i != axis)
        ]
        if b.rng.random() < 0.6:
            parts.append(b.rng.choice(found))
        else:
            parts.append(b.leaf(tuple(b.dim() if i == axis else d for i, d in enumerate(x.shape)), x.dtype))
    b.rng.shuffle(parts)
    shape = list(x.shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    b.result(
        "Concat",
        parts,
        shape,
        x.dtype,
        max(p.mag for p in parts),
        joint_grain(*(p.grain for p in parts)),
        max(p.err for p in parts),
        axis=axis - b.rng.choice([0, x.rank]),
    )


def split(b: Builder) -> None:
    x = _any(b, min_rank=1)
    axis = b.rng.randrange(x.rank)
    count = b.rng.randint(1, 4)
    cuts = sorted(b.rng.randint(0, x.shape[axis]) for _ in range(count - 1))
    lengths = [hi - lo for lo, hi in zip([0, *cuts], [*cuts, x.shape[axis]])]
    names = b.node("Split", [x, b.constant(lengths)], outputs=count, axis=axis)
    for name, length in zip(names, lengths):
        shape = tuple(length if i == axis else d for i, d in enumerate(x.shape))
        b.add(Value(name, shape, x.dtype, x.mag, x.grain, x.err))


def pad(b: Builder) -> None:
    x = _any(b, min_rank=1)
    if x.dtype == "bool":
        raise Reject
    # onnxruntime wants a positive rest on every axis
    begins = [b.rng.choice([0, 0, 1, 2, -1]) for _ in x.shape]
    ends = [b.rng.choice([0, 0, 1, 3, -1]) for _ in x.shape]
    shape = [d + lo + hi for d, lo, hi in zip(x.shape, begins, ends)]
    if any(d < 2 and (lo < 0 or hi < 0) or s < 0 for d, lo, hi, s in zip(x.shape, begins, ends, shape)):
        raise Reject
    operands = [x, b.constant(begins + ends)]
    if b.rng.random() < 0.6:
        operands.append(b.constant(b.rng.choice([1, 2, 3]), x.dtype))
    b.result("Pad", operands, shape, x.dtype, max(x.mag, 3), min(x.grain, 1), x.err)


def _indices(b: Builder, shape, size: int) -> Value:
    if size == 0:
        raise Reject
    dtype = b.rng.choice(["i64", "i64", "i32"])
    array = b.numpy_rng.integers(-size, size, shape)
    kind = b.rng.choice(["input", "initializer", "constant"])
    return b.make_leaf(kind, array.astype(NUMPY[dtype]), dtype, size, 1.0, visible=False)


def gather(b: Builder) -> None:
    x = _any(b, min_rank=1)
    axis = b.rng.randrange(x.rank)
    shape = b.shape(0, 2)
    indices = _indices(b, shape, x.shape[axis])
    _like(
        b,
        "Gather",
        [x, indices],
        x,
        x.shape[:axis] + shape + x.shape[axis + 1 :],
        axis=axis - b.rng.choice([0, x.rank]),
    )


def gather_elements(b: Builder) -> None:
    x = _any(b, min_rank=1)
    axis = b.rng.randrange(x.rank)
    shape = tuple(b.dim() if i == axis else b.rng.randint(min(d, 1), d) for i, d in enumerate(x.shape))
    if math.prod(shape) == 0:
        raise Reject
    _like(b, "GatherElements", [x, _indices(b, shape, x.shape[axis])], x, shape, axis=axis)


def _tuples(b: Builder, x: Value, shape, depth: int) -> np.ndarray:
    if 0 in x.shape[:depth]:
        raise Reject
    return np.stack([b.numpy_rng.integers(-d, d, shape) for d in x.shape[:depth]], axis=-1)


def gather_nd(b: Builder) -> None:
    x = _any(b, min_rank=1, nonempty=True)
    depth = b.rng.randint(1, x.rank)
    shape = b.shape(0, 2)
    indices = b.make_leaf(
        b.rng.choice(["input", "constant"]), _tuples(b, x, shape, depth), "i64", 99, 1.0, visible=False
    )
    _like(b, "GatherND", [x, indices], x, shape + x.shape[depth:])


def scatter_nd(b: Builder) -> None:
    x = _any(b, min_rank=1, nonempty=True)
    if x.dtype == "bool":
        raise Reject
    depth = b.rng.randint(1, x.rank)
    every = np.stack(np.meshgrid(*(np.arange(d) for d in x.shape[:depth]), indexing="ij"), axis=-1).reshape(-1, depth)
    count = b.rng.randint(0, min(len(every), 8))
    rows = every[b.numpy_rng.choice(len(every), count, replace=False)]  # no index twice: the order is not defined
    indices = b.make_leaf(b.rng.choice(["input", "constant"]), rows, "i64", 99, 1.0, visible=False)
    updates = b.leaf((count, *x.shape[depth:]), x.dtype)
    b.result(
        "ScatterND",
        [x, indices, updates],
        x.shape,
        x.dtype,
        max(x.mag, updates.mag),
        joint_grain(x.grain, updates.grain),
        x.err,
    )


def trilu(b: Builder) -> None:
    if b.opset < 14:
        raise Reject
    x = b.pick(dtypes=None if b.rng.random() < 0.7 else ("i64",), min_rank=2)
    if x.dtype not in ("f32", "f64", "i64") and b.float_type not in ("f16", "bf16"):
        raise Reject
    k = b.constant(b.rng.randint(-3, 3)) if b.rng.random() < 0.6 else None
    _like(b, "Trilu", [x, k] if k else [x], x, x.shape, upper=b.rng.randint(0, 1))


def computed_shape(b: Builder) -> None:
    """Reshape, Expand, Slice and ConstantOfShape on what Shape says, as exporters write them."""
    x = b.pick(min_rank=1, max_rank=4, nonempty=True)
    (whole,) = b.node("Shape", [x])

    def dim(i: int) -> str:
        (scalar,) = b.node("Gather", [whole, b.constant(i)], axis=0)
        return b.node("Unsqueeze", [scalar, b.constant([0])])[0]

    kind = b.rng.choice(["reshape", "merge", "expand", "slice", "fill"])
    if kind == "reshape":
        (shape,) = b.node("Concat", [*(dim(i) for i in range(x.rank)), b.constant([1])], axis=0)
        _like(b, "Reshape", [x, shape], x, (*x.shape, 1))
    elif kind == "merge":
        if x.rank < 2:
            raise Reject
        (product,) = b.node("Mul", [dim(0), dim(1)])
        (shape,) = b.node("Concat", [product, b.constant([-1])], axis=0)
        _like(b, "Reshape", [x, shape], x, (x.shape[0] * x.shape[1], math.prod(x.shape[2:])))
    elif kind == "expand":
        (shape,) = b.node("Concat", [b.constant([2]), *(dim(i) for i in range(x.rank))], axis=0)
        (row,) = b.node("Unsqueeze", [x, b.constant([0])])
        b.result("Expand", [row, shape], (2, *x.shape), x.dtype, x.mag, x.grain, x.err)
    elif kind == "slice":
        (half,) = b.node("Div", [dim(x.rank - 1), b.constant([2])])
        start = b.rng.random() < 0.5
        bounds = [half, b.constant([2**31])] if start else [b.constant([0]), half]
        n = x.shape[-1] - x.shape[-1] // 2 if start else x.shape[-1] // 2
        _like(b, "Slice", [x, *bounds, b.constant([-1])], x, (*x.shape[:-1], n))
    else:
        b.result("ConstantOfShape", [whole], x.shape, "f32", 0, 1)


def generate(b: Builder) -> None:
    """Range, ConstantOfShape, Shape, Size."""
    op = b.rng.choice(["Range", "ConstantOfShape", "Shape", "Size"])
    if op == "Range":
        start, step, count = b.rng.randint(-5, 5), b.rng.choice([1, 2, -1, -3]), b.rng.randint(0, 9)
        dtype = b.rng.choice(["i64", "i32", "f32"])
        operands = [b.constant(v, dtype) for v in (start, start + count * step, step)]
        b.result(op, operands, (count,), dtype, 40, 1)
    elif op == "ConstantOfShape":
        from onnx import helper

        from .values import ONNX

        shape, dtype = b.shape(0, 3), b.rng.choice(["f32", "i64"])
        value = helper.make_tensor("value", ONNX[dtype], [1], [3])
        b.result(op, [b.constant(np.array(shape, dtype=np.int64))], shape, dtype, 3, 1, value=value)
    else:
        x = _any(b)
        b.result(op, [x], (x.rank,) if op == "Shape" else (), "i64", 1e4, 1)
