"""Seed -> one pointwise, casting or reducing operator on special values: NaN, infinities, -0, denormals, extremes.

Where onnxruntime and ONNX's text leave the result open, or C++ does (a cast out of range, an integer division by zero),
the operands are kept away from it.
"""

import numpy as np
from onnx import helper

from .generate import Case, as_f32
from .values import FLOATS, INTS, MANTISSA, NUMPY, ONNX, Builder, Value

ABSOLUTE = {"f32": 1e-37, "f64": 1e-306, "f16": 1.3e-7, "bf16": 1e-37}  # a few denormals: MLAS flushes them
EXACT = ("Neg", "Abs", "Relu", "Identity", "Floor", "Ceil", "Round", "Sign", "Sqrt", "Reciprocal")
SMOOTH = (
    "Exp",
    "Log",
    "Tanh",
    "Sigmoid",
    "Erf",
    "Sin",
    "Cos",
    "Softplus",
    "Softsign",
    "Elu",
    "Selu",
    "Celu",
    "LeakyRelu",
    "HardSigmoid",
    "HardSwish",
    "ThresholdedRelu",
    "Mish",
    "Gelu",
    "Tan",
)
BINARY = ("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "fmod", "PRelu")
COMPARE = ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
REDUCE = (
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
    "ReduceLogSumExp",
    "Softmax",
    "LogSoftmax",
    "ArgMax",
    "ArgMin",
)


def special_floats(dtype: str) -> np.ndarray:
    info = np.finfo(np.float32) if dtype == "bf16" else np.finfo(NUMPY[dtype])
    tiny, largest = float(info.tiny), float(info.max)
    if dtype == "bf16":
        largest = 3.3895314e38
    positive = [
        0.0,
        tiny,
        tiny / 4,
        largest,
        largest / 2,
        1,
        0.5,
        1.5,
        2.5,
        3,
        7,
        0.1,
        20,
        88,
        100,
        np.inf,
        1e-4,
        1 + 2.0 ** (1 - MANTISSA[dtype]),
    ]
    with np.errstate(over="ignore"):
        return np.array([*positive, *(-p for p in positive), np.nan]).astype(NUMPY[dtype])


def special_ints(dtype: str) -> np.ndarray:
    info = np.iinfo(NUMPY[dtype])
    values = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, info.min + 1, -1, -2, -7, info.max // 2 + 1]
    return np.unique(np.array([v for v in values if info.min <= v <= info.max], dtype=NUMPY[dtype]))


def _float_case(b: Builder, op: str, dtype: str):
    """(inputs, result type, absolute, relative, attributes) of a floating operator."""
    x = special_floats(dtype)
    b.numpy_rng.shuffle(x)
    eps = 2.0 ** -MANTISSA[dtype]
    rough = max(8 * eps, 1e-12 if dtype == "f64" else 4e-6)
    if op in ("ReduceMax", "ReduceMin", "ArgMax", "ArgMin"):
        x = x[~np.isnan(x)]  # onnxruntime loses a NaN or not, by its place; ours follow numpy: NaN wins
    elif op in REDUCE:
        x = x[
            ~np.isfinite(x) | (np.abs(np.nan_to_num(x.astype(np.float64))) <= 100)
        ]  # the order of additions decides what extremes leave
    if op in ("LogSoftmax", "PRelu") and dtype == "f64":
        x = x[np.isfinite(x)]  # onnxruntime's f64 kernel, and the reference's inf * 0
    if op in ("Erf", "Gelu", "HardSwish", "HardSigmoid", "LeakyRelu", "Elu", "Selu") and dtype == "f64":
        rough = 4e-6  # computed, or with constants, in f32 there
    if op in ("Gelu", "Mish"):
        x = x[x != -np.inf]  # the limit 0 (graph dialect) against onnxruntime's -inf * 0
    if op in ("Softplus", "Mish"):
        x = x[
            ~np.isfinite(x) | (np.abs(np.nan_to_num(x.astype(np.float64))) <= 100)
        ]  # the reference says log(exp(x) + 1)
    if op in SMOOTH:
        return [x], dtype, rough, rough, {}
    if op in BINARY or op in COMPARE:
        operands = [x[:, None], np.append(x, x[:1])[None, :]]
        if op == "PRelu":
            operands[0] = np.repeat(operands[0], len(x) + 1, axis=1)
        relative = {"Pow": max(16 * eps, 1e-6 if dtype != "f64" else 1e-13)}.get(
            op, 2 * eps if dtype in ("f16", "bf16") else 0
        )
        return operands, "bool" if op in COMPARE else dtype, 0, relative, {"fmod": 1} if op == "fmod" else {}
    if op in REDUCE:
        rows = np.stack(
            [
                (
                    b.numpy_rng.permutation(x)[: b.rng.choice([1, 2, 5])][:1].repeat(9)
                    if b.rng.random() < 0.2
                    else b.numpy_rng.choice(x, 9)
                )
                for _ in range(40)
            ]
        )
        return [rows], "i64" if op.startswith("Arg") else dtype, 900 * rough, rough, {}
    return [x], dtype, 0, 2 * eps if dtype in ("f16", "bf16") or op == "Reciprocal" else 0, {}


def _cast_case(b: Builder):
    source = b.rng.choice([*FLOATS, *INTS, "bool"])
    target = b.rng.choice([*FLOATS, *INTS, "bool"])
    x = np.array([False, True]) if source == "bool" else (special_floats if source in FLOATS else special_ints)(source)
    if source in FLOATS and target in INTS:
        info = np.iinfo(NUMPY[target])
        wide = x.astype(np.float64)
        x = x[(wide > max(float(info.min), -(2.0**62)) - 1) & (wide < min(float(info.max), 2.0**62))]
        if target.startswith("u"):
            x = x[x.astype(np.float64) >= 0]
    return x, source, target


def _outputs(
    b: Builder, dtype: str, inputs: list[np.ndarray], result: str, op: str, absolute, relative, attributes
) -> Case:
    names = [b.fresh("x") for _ in inputs]
    for name, array in zip(names, inputs):
        kind = "constant" if b.rng.random() < 0.2 and len(inputs) > 1 and name == names[-1] else "input"
        value = b.make_leaf(kind, array, dtype, 1, 0.0)
        names[names.index(name)] = value.name
    if op.startswith("Reduce"):
        names.append(b.constant([1]).name)
    if op == "CumSum":
        names.append(b.constant(1).name)
    (out,) = b.node(op, names, **attributes)
    shape = (3, 3) if op == "MatMul" else np.broadcast_shapes(*(a.shape for a in inputs))
    if op.startswith(("Reduce", "Arg")):
        shape = (shape[0], 1)
    tiny = ABSOLUTE.get(result, 0)
    value = Value(out, shape, result, 1, 0.0, absolute + tiny if result in FLOATS else 0.0, None, relative)
    graph = helper.make_graph(
        b.nodes,
        "special",
        [helper.make_tensor_value_info(n, ONNX[t], a.shape) for n, (t, a) in b.inputs.items()],
        [helper.make_tensor_value_info(out, ONNX[result], shape)],
        b.initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", b.opset)], ir_version=9)
    return Case(model, as_f32(model), b.inputs, [value])


def _integer_case(b: Builder) -> Case:
    """Wraps around in every type, as in numpy."""
    dtype = b.rng.choice(list(INTS))
    is_signed = dtype.startswith("i")
    unary = ("Abs", "Neg", "Sign") if is_signed else ("Abs", "Sign")
    reducing = ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd", "ArgMax", "CumSum")
    op = b.rng.choice(
        [
            "Add",
            "Sub",
            "Mul",
            "Min",
            "Max",
            "Mod",
            "Div",
            "BitwiseAnd",
            "BitwiseNot",
            "MatMul",
            *unary,
            *reducing,
            *COMPARE,
        ]
    )
    x = special_ints(dtype)
    if op == "MatMul":
        return _outputs(b, dtype, [b.numpy_rng.choice(x, (3, 5)), b.numpy_rng.choice(x, (5, 3))], dtype, op, 0, 0, {})
    if op in reducing:
        if op in ("ReduceSum", "ReduceProd"):
            x = x[(x < 9) & (x > -9 if is_signed else x < 9)]  # onnxruntime saturates
        rows = b.numpy_rng.choice(x, (20, 5))
        if op == "CumSum":
            return _outputs(b, dtype, [rows], dtype, op, 0, 0, {"reverse": b.rng.randint(0, 1)})
        return _outputs(b, dtype, [rows], "i64" if op == "ArgMax" else dtype, op, 0, 0, _reduce_attributes(b, op))
    if op in unary or op == "BitwiseNot":
        return _outputs(b, dtype, [x], dtype, op, 0, 0, {})
    y = x
    if op in ("Div", "Mod"):  # a trap in onnxruntime, and the reference rounds negative quotients down
        y = x[x > 0]
        x = x[x >= 0]
    return _outputs(b, dtype, [x[:, None], y[None, :]], "bool" if op in COMPARE else dtype, op, 0, 0, {})


def generate_special(seed: int) -> Case:
    b = Builder(seed)
    b.opset, b.leaf_elements = 21, 10**6
    if b.rng.random() < 0.25:
        x, source, target = _cast_case(b)
        eps = 2.0 ** (1 - MANTISSA[target]) if target in ("f16", "bf16") else 0.0
        return _outputs(b, source, [x], target, "Cast", 0, eps, {"to": ONNX[target]})
    op = b.rng.choice([*EXACT, *SMOOTH, *BINARY, *COMPARE, *REDUCE, "IsNaN", "IsInf", "int"])
    if op == "int":
        return _integer_case(b)
    dtype = b.rng.choice(["f32", "f32", "f64", "f16", "bf16"])
    if op in ("IsNaN", "IsInf"):
        return _outputs(b, dtype, [special_floats(dtype)], "bool", op, 0, 0, {})
    inputs, result, absolute, relative, attributes = _float_case(b, op, dtype)
    if op in REDUCE:
        attributes = _reduce_attributes(b, op)
    return _outputs(b, dtype, inputs, result, "Mod" if op == "fmod" else op, absolute, relative, attributes)


def _reduce_attributes(b: Builder, op: str) -> dict:
    if "oftmax" in op:
        return {"axis": -1}
    if op.startswith("Arg"):
        return {"axis": 1, "keepdims": 1, "select_last_index": b.rng.randint(0, 1)}
    return {"keepdims": 1}
