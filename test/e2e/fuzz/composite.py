"""Random operators with sums inside (reductions, norms, products) and the chains that exporters write for them."""

import math

import numpy as np

from .pointwise import positive
from .values import EPSILON, FUNCTION_EPSILON, Builder, Reject, Value, broadcast, joint_grain


def _sum_error(x: Value, terms: int) -> float:
    """Of a sum of any order, beside the errors of its terms."""
    return 0.0 if x.grain else EPSILON[x.dtype] * x.mag * math.sqrt(max(terms, 1)) * 2


def _reduced(shape, axes, keepdims):
    axes = {a % len(shape) for a in axes} if shape else set()
    return tuple(1 if i in axes else d for i, d in enumerate(shape) if keepdims or i not in axes)


def reduce(b: Builder) -> None:
    op = b.rng.choice(["Sum", "Sum", "Mean", "Max", "Min", "SumSquare", "L1", "L2", "LogSum", "LogSumExp", "Prod"])
    is_int = op in ("Sum", "Max", "Min") and b.rng.random() < 0.3
    x = b.pick(dtypes=("i64", "i32") if is_int else None, min_rank=0)
    axes = b.axes(x.rank, 1)
    count = math.prod(x.shape[a] for a in axes)
    if count == 0 and op not in ("Sum", "SumSquare", "L1"):
        raise Reject
    if op == "LogSum":
        x = positive(b, x)
    keepdims = b.rng.randint(0, 1)
    shape = _reduced(x.shape, axes, keepdims)
    if op == "LogSumExp" and x.mag > 20 or op == "Prod" and (count > 4 or x.mag**count > 1e4):
        raise Reject
    n, eps = max(count, 1), FUNCTION_EPSILON.get(x.dtype, 0)
    mag, grain, err = {
        "Sum": (n * x.mag, x.grain, n * x.err),
        "Mean": (x.mag, x.grain / n if n & (n - 1) == 0 else 0, x.err),
        "Max": (x.mag, x.grain, x.err),
        "Min": (x.mag, x.grain, x.err),
        "SumSquare": (n * x.mag**2, x.grain**2, 2 * n * x.mag * x.err),
        "L1": (n * x.mag, x.grain, n * x.err),
        "L2": (math.sqrt(n) * x.mag, 0, math.sqrt(n) * x.err * 2 + eps * x.mag),
        "LogSum": (math.log(n * x.mag + 2), 0, 2 * n * x.err + eps * 10),
        "LogSumExp": (x.mag + math.log(n), 0, x.err + eps * (x.mag + 10)),
        "Prod": (max(x.mag, 1) ** min(n, 4), x.grain ** min(n, 4), n * x.err * max(x.mag, 1) ** min(n - 1, 3)),
    }[op]
    if x.is_float and grain == 0:
        err += EPSILON[x.dtype] * mag * math.sqrt(n)
    attributes = {"keepdims": keepdims}
    operands = [x]
    if b.opset >= 18 or op == "Sum" and b.opset >= 13:
        if not axes and x.rank == 0 or len(axes) == x.rank and b.rng.random() < 0.5:
            pass  # all axes
        else:
            operands.append(b.constant(np.array(axes, dtype=np.int64)))
    elif axes:
        attributes["axes"] = axes
    b.result(f"Reduce{op}", operands, shape, x.dtype, mag, grain, err, **attributes)


def arg_reduce(b: Builder) -> None:
    x = b.pick(dtypes=None if b.rng.random() < 0.7 else ("i32", "i64"), exact=True, min_rank=1)
    axis, keepdims = b.axis(x.rank), b.rng.randint(0, 1)
    if x.shape[axis] == 0:
        raise Reject
    b.result(
        b.rng.choice(["ArgMax", "ArgMin"]),
        [x],
        _reduced(x.shape, [axis], keepdims),
        "i64",
        x.shape[axis],
        1,
        axis=axis,
        keepdims=keepdims,
        select_last_index=b.rng.randint(0, 1),
    )


def cumsum(b: Builder) -> None:
    x = b.pick(dtypes=("f32", "f64", "i64", "i32") if b.rng.random() < 0.5 else None, min_rank=1)
    axis = b.axis(x.rank)
    n = max(x.shape[axis], 1)
    b.result(
        "CumSum",
        [x, b.constant(axis, b.rng.choice(["i32", "i64"]))],
        x.shape,
        x.dtype,
        n * x.mag,
        x.grain,
        n * x.err + (0 if not x.is_float else n * _sum_error(x, n)),
        exclusive=b.rng.randint(0, 1),
        reverse=b.rng.randint(0, 1),
    )


def softmax(b: Builder) -> None:
    x = b.pick(min_rank=1)
    axis, log = b.axis(x.rank), b.rng.random() < 0.3
    if log:
        mag = 2 * x.mag + math.log(max(x.shape[axis], 1)) + 1
        b.result("LogSoftmax", [x], x.shape, x.dtype, mag, 0, 2 * x.err + FUNCTION_EPSILON[x.dtype] * mag, axis=axis)
    else:
        b.result("Softmax", [x], x.shape, x.dtype, 1, 0, x.err + FUNCTION_EPSILON[x.dtype] * (1 + x.mag), axis=axis)


def _norm_bounds(x: Value, count: int, epsilon: float, scale: float, shift: float):
    """An element is at most sqrt(n - 1) deviations off; the error grows by at most 1/sqrt(epsilon), twice."""
    mag = math.sqrt(count) * scale + shift
    eps = max(FUNCTION_EPSILON[x.dtype], FUNCTION_EPSILON["f32"])  # stash_type: statistics of f64 in f32
    return mag, 3 * x.err / math.sqrt(epsilon) * scale + eps * (mag + x.mag / math.sqrt(epsilon)) * 4


def layer_norm(b: Builder) -> None:
    x = b.pick(min_rank=1)
    kind = b.rng.choice(["Layer", "Layer", "chain", "rms chain", "Instance", "Group", "Batch"])
    epsilon = b.rng.choice([0.125, 0.25])
    if x.size == 0:
        raise Reject
    if kind in ("Instance", "Group", "Batch"):
        return _channel_norm(b, x, kind, epsilon)
    axis = b.rng.choice([x.rank - 1] * 3 + list(range(x.rank)))
    count = math.prod(x.shape[axis:])
    mag, err = _norm_bounds(x, count, epsilon, 4, 4)
    if kind == "Layer":
        if b.opset < 17:
            raise Reject
        scale = b.leaf(x.shape[axis:], x.dtype)
        shift = b.leaf(x.shape[axis:], x.dtype) if b.rng.random() < 0.7 else None
        b.result(
            "LayerNormalization",
            [x, scale, shift] if shift else [x, scale],
            x.shape,
            x.dtype,
            mag,
            0,
            err,
            axis=axis - b.rng.choice([0, x.rank]),
            epsilon=epsilon,
        )
        return
    if x.dtype in ("f16", "bf16") and x.mag > 20:
        raise Reject
    return _norm_chain(b, x, epsilon, centered=kind == "chain")


def _mean(b: Builder, x: Value) -> Value:
    n = x.shape[-1]
    operands, attributes = [x], {"keepdims": 1}
    if b.opset >= 18:
        operands.append(b.constant([-1]))
    else:
        attributes["axes"] = [-1]
    return b.result(
        "ReduceMean", operands, (*x.shape[:-1], 1), x.dtype, x.mag, 0, x.err + _sum_error(x, n), **attributes
    )


def _norm_chain(b: Builder, x: Value, epsilon: float, centered: bool) -> None:
    """What exporters of old opsets write; every inner value stays visible, so it may get other users."""
    d = x
    if centered:
        mean = _mean(b, x)
        d = b.result("Sub", [x, mean], x.shape, x.dtype, 2 * x.mag, 0, x.err + mean.err)
    if b.rng.random() < 0.5:
        square = b.result("Pow", [d, b.constant(2, d.dtype)], d.shape, d.dtype, d.mag**2, 0, 2 * d.mag * d.err)
    else:
        square = b.result("Mul", [d, d], d.shape, d.dtype, d.mag**2, 0, 2 * d.mag * d.err)
    variance = _mean(b, square)
    shifted = b.result(
        "Add",
        [variance, b.constant(epsilon, x.dtype)],
        variance.shape,
        x.dtype,
        variance.mag + epsilon,
        0,
        variance.err,
    )
    root = b.result(
        "Sqrt", [shifted], shifted.shape, x.dtype, math.sqrt(shifted.mag), 0, shifted.err / math.sqrt(epsilon) / 2
    )
    low = math.sqrt(epsilon)
    if b.rng.random() < 0.7:
        y = b.result(
            "Div", [d, root], d.shape, d.dtype, math.sqrt(x.shape[-1]), 0, d.err / low + d.mag / low**2 * root.err
        )
    else:
        inverse = b.result("Reciprocal", [root], root.shape, root.dtype, 1 / low, 0, root.err / low**2)
        y = b.result(
            "Mul", [d, inverse], d.shape, d.dtype, math.sqrt(x.shape[-1]), 0, d.err / low + d.mag * inverse.err
        )
    scale = b.leaf((x.shape[-1],), x.dtype)
    y = b.result("Mul", [y, scale], y.shape, y.dtype, y.mag * 4, 0, y.err * 4)
    if centered:
        b.result("Add", [y, b.leaf((x.shape[-1],), x.dtype)], y.shape, y.dtype, y.mag + 4, 0, y.err)


def _channel_norm(b: Builder, x: Value, kind: str, epsilon: float) -> None:
    if x.rank < 3:
        raise Reject
    channels = x.shape[1]
    scale, shift = b.leaf((channels,), x.dtype), b.leaf((channels,), x.dtype)
    if kind == "Batch" and x.dtype == "f64" and b.opset < 14:
        raise Reject  # the reference of this version is wrong
    if kind == "Batch":
        mean = b.leaf((channels,), x.dtype)
        variance = positive(b, b.leaf((channels,), x.dtype))
        mag = (x.mag + 4) * 1.5 * 4 + 4
        b.result(
            "BatchNormalization",
            [x, scale, shift, mean, variance],
            x.shape,
            x.dtype,
            mag,
            0,
            6 * x.err + FUNCTION_EPSILON[x.dtype] * mag * 4,
            epsilon=epsilon,
        )
        return
    groups = channels
    if kind == "Group":
        if b.opset < 21:
            raise Reject
        groups = b.rng.choice([g for g in range(1, channels + 1) if channels % g == 0])
    mag, err = _norm_bounds(x, x.size // (x.shape[0] * groups), epsilon, 4, 4)
    attributes = {"num_groups": groups} if kind == "Group" else {}
    b.result(f"{kind}Normalization", [x, scale, shift], x.shape, x.dtype, mag, 0, err, epsilon=epsilon, **attributes)


def product(b: Builder, op, x: Value, y: Value, k: int, shape, extra=(), factor=1.0, **attributes) -> Value:
    k = max(k, 1)
    mag = k * x.mag * y.mag * factor
    err = factor * (k * (x.mag * y.err + y.mag * x.err) + 4 * EPSILON[x.dtype] * math.sqrt(k) * x.mag * y.mag)
    grain = x.grain * y.grain if factor == 1 else 0
    if grain and mag <= grain * 2.0**24 and x.is_exact and y.is_exact and x.dtype != "bf16":
        err = 0.0
    for v in extra:
        mag, err, grain = mag + v.mag, err + v.err, joint_grain(grain, v.grain)
    if err:
        grain = 0
    return b.result(op, [x, y, *extra], shape, x.dtype, mag, grain, err, **attributes)


def matmul(b: Builder) -> None:
    x = b.pick(min_rank=1, max_rank=4)
    k = x.shape[-1]
    n = b.dim()
    if k == 0:  # zeros; onnxruntime leaves the result as it finds it
        raise Reject
    found = [
        v
        for v in b.values
        if v.dtype == x.dtype
        and v.rank >= 1
        and v.shape[-2 if v.rank > 1 else -1] == k
        and broadcast(v.shape[:-2], x.shape[:-2]) is not None
    ]
    kind = b.rng.random()
    if found and kind < 0.4:
        y = b.rng.choice(found)
    elif kind < 0.5:
        y = b.leaf((k,), x.dtype)
    elif kind < 0.75:
        y = b.leaf((k, n), x.dtype)
    else:
        batch = tuple(1 if b.rng.random() < 0.3 else d for d in x.shape[:-2])
        y = b.leaf((*batch, k, n), x.dtype)
    left = x.shape if x.rank > 1 else (1, *x.shape)
    right = y.shape if y.rank > 1 else (*y.shape, 1)
    shape = [*broadcast(left[:-2], right[:-2]), left[-2], right[-1]]
    if y.rank == 1:
        shape.pop(-1)
    if x.rank == 1:
        shape.pop(-1 if y.rank == 1 else -2)
    product(b, "MatMul", x, y, k, shape)


def gemm(b: Builder) -> None:
    m, k, n = b.dim(), b.dim(), b.dim()
    found = [v for v in b.values if v.rank == 2 and v.is_float]
    ta, tb = b.rng.randint(0, 1), b.rng.randint(0, 1)
    if found and b.rng.random() < 0.7:
        x = b.rng.choice(found)
        m, k = x.shape[::-1] if ta else x.shape
    else:
        x = b.leaf((k, m) if ta else (m, k))
    y = b.leaf((n, k) if tb else (k, n), x.dtype)
    if 0 in (m, n, k):
        raise Reject
    extra = [b.leaf(b.rng.choice([(), (1,), (n,), (1, n), (m, 1), (m, n)]), x.dtype)] if b.rng.random() < 0.6 else []
    alpha = b.rng.choice([1.0, 1.0, 0.5])
    product(
        b, "Gemm", x, y, k, (m, n), extra, alpha, alpha=alpha, beta=b.rng.choice([1.0, 1.0, 0.5]), transA=ta, transB=tb
    )


def einsum(b: Builder) -> None:
    equation = b.rng.choice(
        [
            "ij,jk->ik",
            "bij,bjk->bik",
            "bij,bkj->bik",
            "bhid,bhjd->bhij",
            "ij,ij->i",
            "i,j->ij",
            "bij,jk->bik",
            "ij,kj->ik",
            "bhij,bhjd->bhid",
            "ij->ji",
            "ij->j",
        ]
    )
    terms, out = equation.split("->")
    first, *rest = terms.split(",")
    sizes = {}
    x = b.pick(min_rank=len(first), max_rank=len(first), nonempty=True)
    for label, size in zip(first, x.shape):
        sizes[label] = size
    operands = [x]
    for term in rest:
        operands.append(b.leaf(tuple(sizes.setdefault(label, b.rng.choice([1, 2, 3, 7])) for label in term), x.dtype))
    k = math.prod(size for label, size in sizes.items() if label not in out)
    shape = [sizes[label] for label in out]
    y = operands[1] if rest else Value("", (), x.dtype, 1, 1)
    mag = k * x.mag * y.mag
    err = k * (x.mag * y.err + y.mag * x.err) + 4 * EPSILON[x.dtype] * k * x.mag * y.mag
    grain = x.grain * y.grain
    if grain and x.is_exact and y.is_exact and mag <= grain * 2.0**24:
        err = 0.0
    b.result("Einsum", operands, shape, x.dtype, mag, 0 if err else grain, err, equation=equation)


def gelu_chain(b: Builder) -> None:
    """The erf form and x * sigmoid(x), as exporters write them."""
    x = b.pick()
    eps = FUNCTION_EPSILON[x.dtype]
    if b.rng.random() < 0.4:
        s = b.result("Sigmoid", [x], x.shape, x.dtype, 1, 0, x.err + eps)
        b.result("Mul", [x, s] if b.rng.random() < 0.5 else [s, x], x.shape, x.dtype, x.mag, 0, x.err + x.mag * s.err)
        return
    y = b.result("Div", [x, b.constant(math.sqrt(2), x.dtype)], x.shape, x.dtype, x.mag, 0, x.err)
    y = b.result("Erf", [y], x.shape, x.dtype, 1, 0, 1.2 * y.err + max(eps, 4e-7))
    y = b.result("Add", [y, b.constant(1, x.dtype)], x.shape, x.dtype, 2, 0, y.err)
    if b.rng.random() < 0.5:
        y = b.result("Mul", [x, y], x.shape, x.dtype, 2 * x.mag, 0, 2 * x.err + x.mag * y.err)
        b.result("Mul", [y, b.constant(0.5, x.dtype)], x.shape, x.dtype, x.mag, 0, y.err)
    else:
        h = b.result("Mul", [x, b.constant(0.5, x.dtype)], x.shape, x.dtype, x.mag / 2, x.grain / 2, x.err)
        b.result("Mul", [h, y], x.shape, x.dtype, x.mag, 0, 2 * h.err + h.mag * y.err)


def softmax_chain(b: Builder) -> None:
    """exp(x - max) / sum."""
    x = b.pick(min_rank=1, nonempty=True)
    if x.mag > 12:
        raise Reject
    eps = FUNCTION_EPSILON[x.dtype]
    axis, shape = x.rank - 1, (*x.shape[:-1], 1)
    attributes = {"keepdims": 1} if b.opset >= 18 else {"keepdims": 1, "axes": [axis]}
    axes = [b.constant([axis])] if b.opset >= 18 else []
    top = b.result("ReduceMax", [x, *axes], shape, x.dtype, x.mag, x.grain, x.err, **attributes)
    d = b.result("Sub", [x, top], x.shape, x.dtype, 2 * x.mag, x.grain, 2 * x.err)
    e = b.result("Exp", [d], x.shape, x.dtype, 1, 0, d.err + eps * (1 + d.mag))
    n = x.shape[-1]
    total = b.result("ReduceSum", [e, b.constant([axis])], shape, x.dtype, n, 0, n * e.err, keepdims=1)
    b.result("Div", [e, total], x.shape, x.dtype, 1, 0, e.err + total.err)


def contrib(b: Builder) -> None:
    """ORT's own operators that exports of its optimiser contain."""
    op = b.rng.choice(["FusedMatMul", "SkipLayerNormalization", "QuickGelu", "BiasGelu", "FastGelu"])
    dtype = b.float_type
    if dtype == "f64":
        raise Reject
    eps = FUNCTION_EPSILON[dtype]
    if op == "FusedMatMul":
        lead = b.shape(0, 2)
        m, k, n = (max(1, b.dim()) for _ in range(3))
        ta, tb = b.rng.randint(0, 1), b.rng.randint(0, 1)
        x = b.leaf((*lead, k, m) if ta else (*lead, m, k))
        y = b.leaf((*lead, n, k) if tb else (*lead, k, n))
        alpha = b.rng.choice([1.0, 0.5])
        product(b, op, x, y, k, (*lead, m, n), (), alpha, domain="com.microsoft", alpha=alpha, transA=ta, transB=tb)
    elif op == "SkipLayerNormalization":
        x = b.pick(min_rank=3, max_rank=3, nonempty=True)
        skip = b.leaf(x.shape, x.dtype)
        vectors = [b.leaf(x.shape[-1:], x.dtype) for _ in range(b.rng.choice([1, 2, 3]))]
        total = x.mag + skip.mag + (4 if len(vectors) == 3 else 0)
        probe = Value("", x.shape, x.dtype, total, 0, x.err + EPSILON[x.dtype] * total)
        mag, err = _norm_bounds(probe, x.shape[-1], 0.25, 4, 4)
        b.result(op, [x, skip, *vectors], x.shape, x.dtype, mag, 0, err, domain="com.microsoft", epsilon=0.25)
    else:
        x = b.pick(min_rank=1, nonempty=True)
        bias = [b.leaf(x.shape[-1:], x.dtype)] if op != "QuickGelu" else []
        mag = x.mag + 4 * len(bias)
        # onnxruntime computes FastGelu and QuickGelu with a tanh and an exp of few digits
        err = 2 * x.err + max(eps, 1e-4 if op != "BiasGelu" else 0) * mag
        b.result(op, [x, *bias], x.shape, x.dtype, mag, 0, err, domain="com.microsoft")
