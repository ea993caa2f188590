"""Random attentions: chains as exporters write them, with heads, masks, views and scales in every place, and the op."""

import numpy as np

from .composite import product
from .values import FUNCTION_EPSILON, Builder, Reject, Value, joint_grain


def _projected(b: Builder, dtype: str, batch: int, heads: int, n: int, size: int, order) -> Value:
    """[B, H, n, size] in the given order, as a leaf or through an exporter's reshape and transpose."""
    full = (batch, heads, n, size)
    if b.rng.random() < 0.4:
        return b.leaf(tuple(full[i] for i in order), dtype)
    x = b.leaf((batch, n, heads * size), dtype)
    if b.rng.random() < 0.3:
        x = b.result("Mul", [x, b.constant(0.5, dtype)], x.shape, dtype, x.mag / 2, x.grain / 2, x.err)
    x = b.result("Reshape", [x, b.constant([0, 0, heads, size])], (batch, n, heads, size), dtype, x.mag, x.grain, x.err)
    # positions of (batch, heads, n, size) in x
    permutation = [(0, 2, 1, 3)[i] for i in order]
    return b.result("Transpose", [x], [full[i] for i in order], dtype, x.mag, x.grain, x.err, perm=permutation)


def _masked(b: Builder, s: Value) -> Value:
    """Adds or selects a mask that broadcasts; every row keeps its first key, or all rows are uniform."""
    *lead, length, keys = s.shape
    shape = b.rng.choice(
        [
            (keys,),
            (1, keys),
            (length, keys),
            (*([1] * len(lead)), length, keys),
            (*lead, 1, keys),
            (*lead[:-1], 1, 1, keys),
            tuple(s.shape),
            (),
        ]
    )
    if b.rng.random() < 0.5:
        mask = b.leaf(shape, s.dtype)
        operands = [s, mask] if b.rng.random() < 0.7 else [mask, s]
        return b.result("Add", operands, s.shape, s.dtype, s.mag + mask.mag, joint_grain(s.grain, mask.grain), s.err)
    allowed = b.random_array(shape, "bool")
    if b.rng.random() < 0.4 and len(shape) > 1:
        allowed = np.broadcast_to(np.tril(np.ones(shape[-2:], bool), b.rng.choice([0, keys - length])), shape)
    if shape and shape[-1]:
        allowed = allowed.copy()
        allowed[..., 0] = True
    if shape == ():
        allowed = np.array(True)
    fill = {"f16": -65504.0, "bf16": -1e9}.get(s.dtype, -1e9)
    if b.rng.random() < 0.4:
        fill = -np.inf
    inverted = b.rng.random() < 0.5
    condition = b.make_leaf(b.rng.choice(["input", "constant"]), ~allowed if inverted else allowed, "bool", 1, 1.0)
    filler = b.constant(fill, s.dtype)
    (name,) = b.node("Where", [condition, filler, s] if inverted else [condition, s, filler])
    return Value(name, s.shape, s.dtype, s.mag, 0.0, s.err)  # not registered: the fill is out of all bounds


def attention_chain(b: Builder) -> None:
    """softmax(q k' * scale + mask) v with what exporters put around it: heads, 3-D views, casts, several masks."""
    small = [0, 1, 1, 2, 2], [1, 2, 3], [0, 1, 5, 7, 7, 17], [1, 5, 7, 33], [1, 4, 8, 13]
    large = [1, 2], [1, 2, 3], [1, 17, 64, 65, 130], [15, 64, 129, 200, 385], [8, 32, 40, 64, 65]
    batch, heads, length, keys, size = (b.rng.choice(c) for c in (small if b.leaf_elements <= 2000 else large))
    dtype = b.float_type
    eps = 4 * FUNCTION_EPSILON[dtype]
    q = _projected(b, dtype, batch, heads, length, size, (0, 1, 2, 3))
    k = _projected(b, dtype, batch, heads, keys, size, (0, 1, 3, 2))
    v = _projected(b, dtype, batch, heads, keys, size, (0, 1, 2, 3))
    flat = b.rng.random() < 0.25 and batch * length > 0  # a 0 in Reshape's shape copies a dim
    if flat:
        q, k, v = (
            b.result(
                "Reshape",
                [t, b.constant([-1, *t.shape[2:]])],
                (batch * heads, *t.shape[2:]),
                dtype,
                t.mag,
                t.grain,
                t.err,
            )
            for t in (q, k, v)
        )
    lead = (batch * heads,) if flat else (batch, heads)
    factor = b.rng.choice([0.25, 0.125, 0.5])
    where = b.rng.choice(["q", "k", "both", "scores", "divide"])
    if where in ("q", "both"):
        q = b.result(
            "Mul", [q, b.constant(factor, dtype)], q.shape, dtype, q.mag * factor, q.grain * factor, q.err * factor
        )
    if where in ("k", "both"):
        k = b.result(
            "Mul", [k, b.constant(factor, dtype)], k.shape, dtype, k.mag * factor, k.grain * factor, k.err * factor
        )
    s = product(b, "MatMul", q, k, size, (*lead, length, keys))
    if where == "scores":
        s = b.result(
            "Mul", [s, b.constant(factor, dtype)], s.shape, dtype, s.mag * factor, s.grain * factor, s.err * factor
        )
    if where == "divide":
        s = b.result(
            "Div", [s, b.constant(1 / factor, dtype)], s.shape, dtype, s.mag * factor, s.grain * factor, s.err * factor
        )
    if s.mag > 60:
        raise Reject
    for _ in range(b.rng.choice([0, 1, 1, 2])):
        s = _masked(b, s)
    if flat and b.rng.random() < 0.4:
        s = Value(
            b.node("Reshape", [s, b.constant([batch, heads, length, keys])])[0],
            (batch, heads, length, keys),
            dtype,
            s.mag,
            0.0,
            s.err,
        )
        s = _masked(b, s)
        s = Value(
            b.node("Reshape", [s, b.constant([batch * heads, length, keys])])[0],
            (*lead, length, keys),
            dtype,
            s.mag,
            0.0,
            s.err,
        )
    p = b.result("Softmax", [s], s.shape, dtype, 1, 0, s.err + eps * (1 + s.mag), axis=-1)
    y = b.result("MatMul", [p, v], (*lead, length, size), dtype, v.mag, 0, keys * p.err * v.mag + v.err)
    if flat:
        y = b.result(
            "Reshape",
            [y, b.constant([batch, heads, length, size])],
            (batch, heads, length, size),
            dtype,
            y.mag,
            0,
            y.err,
        )
    if b.rng.random() < 0.6:
        y = b.result("Transpose", [y], (batch, length, heads, size), dtype, y.mag, 0, y.err, perm=[0, 2, 1, 3])
        b.result(
            "Reshape", [y, b.constant([0, 0, heads * size])], (batch, length, heads * size), dtype, y.mag, 0, y.err
        )


def attention_op(b: Builder) -> None:
    """Attention-23."""
    if b.float_type != "f32" or b.opset < 23:
        raise Reject
    batch, groups, length, keys, size = (b.rng.choice(c) for c in ([1, 2], [1, 2], [1, 5, 7], [1, 5, 9, 33], [4, 8]))
    kv = b.rng.choice([1, 2])
    q = b.leaf((batch, kv * groups, length, size))
    k, v = b.leaf((batch, kv, keys, size)), b.leaf((batch, kv, keys, size))
    operands, attributes = [q, k, v], {"scale": b.rng.choice([0.25, 0.125])}
    if b.rng.random() < 0.5:
        shape = b.rng.choice(
            [(length, keys), (1, 1, length, keys), (batch, 1, length, keys), (batch, kv * groups, length, keys)]
        )
        operands.append(b.leaf(shape))
    if b.rng.random() < 0.4:
        attributes["is_causal"] = 1
    if size * q.mag * k.mag * 0.25 > 60:
        raise Reject
    b.result("Attention", operands, q.shape, "f32", v.mag, 0, 2e-4 * v.mag, **attributes)
