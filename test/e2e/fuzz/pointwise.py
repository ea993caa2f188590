"""Random pointwise operators: arithmetic, functions, comparisons, logic, selection, casts."""

import math

import numpy as np

from .values import FLOATS, FUNCTION_EPSILON, INTS, NUMPY, ONNX, Builder, Reject, Value, broadcast, joint_grain

NUMBERS = ("i64", "i32")  # integer types that onnxruntime has arithmetic for everywhere


def _bounded(x: Value, limit: float) -> None:
    if x.mag > limit:
        raise Reject


def positive(b: Builder, x: Value) -> Value:
    """|x| + 1/2: safe for log, sqrt and as a divisor."""
    y = b.result("Abs", [x], x.shape, x.dtype, x.mag, x.grain, x.err)
    half = b.constant(0.5, x.dtype)
    return b.result("Add", [y, half], x.shape, x.dtype, x.mag + 0.5, joint_grain(x.grain, 0.5), x.err)


def binary(b: Builder) -> None:
    op = b.rng.choice(["Add", "Sub", "Mul", "Min", "Max", "Sum", "Mean", "PRelu"])
    x = b.pick(dtypes=None if op in ("Sum", "Mean", "PRelu") or b.rng.random() < 0.75 else NUMBERS)
    y = b.partner(x)
    if b.rng.random() < 0.4:
        x, y = y, x
    if op == "PRelu":
        if broadcast(x.shape, y.shape) != x.shape:
            raise Reject
        err = x.err * max(1, y.mag) + y.err * x.mag
        b.result(op, [x, y], x.shape, x.dtype, x.mag * max(1, y.mag), min(x.grain, x.grain * y.grain), err)
        return
    operands = [x, y]
    if op in ("Sum", "Mean", "Min", "Max") and b.rng.random() < 0.3:
        operands.append(b.partner(x))
    shape = broadcast(*(v.shape for v in operands))
    if shape is None:
        raise Reject
    mags, errs, grain = [v.mag for v in operands], [v.err for v in operands], joint_grain(*(v.grain for v in operands))
    if op == "Mul":
        b.result(op, operands, shape, x.dtype, x.mag * y.mag, x.grain * y.grain, x.err * y.mag + y.err * x.mag)
    elif op in ("Min", "Max"):
        b.result(op, operands, shape, x.dtype, max(mags), grain, max(errs))
    elif op == "Mean":
        b.result(op, operands, shape, x.dtype, sum(mags), grain / 2 if len(operands) == 2 else 0, sum(errs))
    else:
        b.result(op, operands, shape, x.dtype, sum(mags), grain, sum(errs))


def divide(b: Builder) -> None:
    x = b.pick()
    y = b.partner(x)
    shape = broadcast(x.shape, y.shape)
    if shape is None:
        raise Reject
    d = positive(b, y)
    b.result("Div", [x, d], shape, x.dtype, 2 * x.mag, 0, 2 * x.err + 4 * x.mag * d.err)


def integer_divide(b: Builder) -> None:
    """Divisors are constants other than zero: onnxruntime traps."""
    x = b.pick(dtypes=("i64", "i32"))
    divisors = b.numpy_rng.integers(1, 7, b.rng.choice([(), (1,), x.shape])) * b.rng.choice([1, -1])
    y = b.constant(divisors, x.dtype)
    op = b.rng.choice(["Div", "Mod", "Mod", "fmod"])
    if op == "fmod":
        b.result("Mod", [x, y], broadcast(x.shape, y.shape), x.dtype, max(x.mag, 7), 1, fmod=1)
    else:
        b.result(op, [x, y], broadcast(x.shape, y.shape), x.dtype, max(x.mag, 7), 1)


def float_mod(b: Builder) -> None:
    x = b.pick(exact=True)
    y = b.constant(b.rng.choice([0.75, 1.5, -2.25]), x.dtype)
    if x.grain == 0:
        raise Reject
    b.result("Mod", [x, y], x.shape, x.dtype, 3, joint_grain(x.grain, 0.25), fmod=1)


# name -> (needs exact operands, magnitude of the result, its grain, its error); f is the error of the function itself
FUNCTIONS = {
    "Neg": (False, lambda x: (x.mag, x.grain, x.err)),
    "Abs": (False, lambda x: (x.mag, x.grain, x.err)),
    "Relu": (False, lambda x: (x.mag, x.grain, x.err)),
    "Identity": (False, lambda x: (x.mag, x.grain, x.err)),
    "Floor": (True, lambda x: (math.floor(x.mag) + 1, 1, 0)),
    "Ceil": (True, lambda x: (math.floor(x.mag) + 1, 1, 0)),
    "Round": (True, lambda x: (math.floor(x.mag) + 1, 1, 0)),
    "Sign": (True, lambda x: (1, 1, 0)),
    "Tanh": (False, lambda x: (1, 0, x.err)),
    "Sigmoid": (False, lambda x: (1, 0, x.err / 4)),
    "Erf": (False, lambda x: (1, 0, 1.2 * x.err)),
    "Sin": (False, lambda x: (1, 0, x.err)),
    "Cos": (False, lambda x: (1, 0, x.err)),
    "Softplus": (False, lambda x: (x.mag + 1, 0, x.err)),
    "Softsign": (False, lambda x: (1, 0, x.err)),
    "Elu": (False, lambda x: (max(x.mag, 1), 0, x.err)),
    "Selu": (False, lambda x: (2 * max(x.mag, 1), 0, 2 * x.err)),
    "Celu": (False, lambda x: (max(x.mag, 1), 0, x.err)),
    "LeakyRelu": (False, lambda x: (x.mag, 0, x.err)),
    "HardSigmoid": (False, lambda x: (1, 0, x.err)),
    "HardSwish": (False, lambda x: (x.mag, 0, 1.5 * x.err)),
    "ThresholdedRelu": (True, lambda x: (x.mag, x.grain, 0)),
    "Mish": (False, lambda x: (x.mag, 0, 1.5 * x.err)),
    "Gelu": (False, lambda x: (x.mag, 0, 1.2 * x.err)),
}
SINCE = {"Mish": 18, "Gelu": 20, "HardSwish": 14}
EXACT_FUNCTIONS = ("Neg", "Abs", "Relu", "Identity", "Floor", "Ceil", "Round", "Sign")


def function(b: Builder) -> None:
    op = b.rng.choice(list(FUNCTIONS))
    if b.opset < SINCE.get(op, 0):
        raise Reject
    needs_exact, rule = FUNCTIONS[op]
    if op == "Celu" and b.float_type == "f64":
        raise Reject
    if op in ("Neg", "Abs", "Sign") and b.rng.random() < 0.3:
        x = b.pick(dtypes=NUMBERS)
    else:
        x = b.pick(exact=needs_exact)
    if needs_exact and x.grain == 0:
        raise Reject
    mag, grain, err = rule(x)
    attributes = {}
    if op in ("HardSwish", "HardSigmoid") and x.dtype == "f64":
        raise Reject  # 1/6 and 0.2 are f32 in onnxruntime
    if op == "Gelu" and b.rng.random() < 0.5:
        attributes["approximate"] = "tanh"
    if x.is_float and op not in EXACT_FUNCTIONS:
        eps = 4e-7 if op in ("Erf", "Gelu") and x.dtype == "f64" else FUNCTION_EPSILON[x.dtype]  # onnx's reference: f32
        err += eps * max(mag, x.mag)
    b.result(op, [x], x.shape, x.dtype, mag, grain, err, **attributes)


def growing(b: Builder) -> None:
    """Exp, Log, Sqrt, Reciprocal, Pow: on operands that keep the result tame."""
    x = b.pick()
    op = b.rng.choice(["Exp", "Log", "Sqrt", "Reciprocal", "Pow"])
    eps = FUNCTION_EPSILON[x.dtype]
    if op == "Exp":
        _bounded(x, 6)
        mag = math.exp(x.mag)
        b.result(op, [x], x.shape, x.dtype, mag, 0, mag * (x.err + eps))
        return
    y = positive(b, x)
    if op == "Pow":
        exponent = b.rng.choice([2.0, 3.0, 0.5, -1.0, -0.5, 1.0, 0.0, 1.5])
        mag = max(y.mag**exponent, 0.5**exponent)
        slope = abs(exponent) * max(y.mag ** (exponent - 1), 0.5 ** (exponent - 1))
        dtype = b.rng.choice([y.dtype, y.dtype, "i64"]) if exponent.is_integer() and y.dtype == "f32" else y.dtype
        b.result(op, [y, b.constant(exponent, dtype)], y.shape, y.dtype, mag, 0, slope * y.err + eps * mag)
        return
    mag = {"Log": max(math.log(y.mag), 0.7), "Sqrt": math.sqrt(y.mag), "Reciprocal": 2}[op]
    b.result(op, [y], y.shape, y.dtype, mag, 0, 4 * y.err + eps * mag)


def clip(b: Builder) -> None:
    x = b.pick(dtypes=None if b.rng.random() < 0.7 else NUMBERS)
    low, high = sorted([b.rng.randint(-3, 3), b.rng.randint(-3, 3)])
    bounds = [
        b.constant(low, x.dtype) if b.rng.random() < 0.8 else None,
        b.constant(high, x.dtype) if b.rng.random() < 0.8 else None,
    ]
    b.result("Clip", [x, *bounds], x.shape, x.dtype, max(x.mag, 3), min(x.grain, 1), x.err)


def compare(b: Builder) -> None:
    x = b.pick(dtypes=None if b.rng.random() < 0.6 else NUMBERS, exact=True)
    y = b.partner(x, exact=True)
    shape = broadcast(x.shape, y.shape)
    op = b.rng.choice(["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"])
    b.result(op, [x, y], shape, "bool", 1, 1)


def logic(b: Builder) -> None:
    x = b.pick(dtypes=("bool",))
    op = b.rng.choice(["And", "Or", "Xor", "Not", "IsNaN"])
    if op == "Not":
        b.result(op, [x], x.shape, "bool", 1, 1)
    elif op == "IsNaN":
        y = b.pick(dtypes=("f32",))
        b.result(op, [y], y.shape, "bool", 1, 1)
    else:
        y = b.partner(x)
        b.result(op, [x, y], broadcast(x.shape, y.shape), "bool", 1, 1)


def bitwise(b: Builder) -> None:
    if b.opset < 18:
        raise Reject
    x = b.pick(dtypes=("i32", "u8", "i64"))
    op = b.rng.choice(["BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"])
    mag = 2.0 ** math.ceil(math.log2(x.mag + 2))
    if op == "BitwiseNot":
        b.result(op, [x], x.shape, x.dtype, 254 if x.dtype == "u8" else x.mag + 1, 1)
        return
    y = b.partner(x)
    mag = max(mag, 2.0 ** math.ceil(math.log2(y.mag + 2)))
    b.result(op, [x, y], broadcast(x.shape, y.shape), x.dtype, min(mag, 254) if x.dtype == "u8" else mag, 1)


def where(b: Builder) -> None:
    condition = b.pick(dtypes=("bool",))
    x = b.partner(condition, b.rng.choice([b.float_type, b.float_type, "i64", "i32"]))
    y = b.partner(x)
    shape = broadcast(condition.shape, x.shape, y.shape)
    if shape is None:
        raise Reject
    b.result(
        "Where", [condition, x, y], shape, x.dtype, max(x.mag, y.mag), joint_grain(x.grain, y.grain), max(x.err, y.err)
    )


def cast(b: Builder) -> None:
    source = b.rng.choice(["float", "int", "bool"])
    target = b.rng.choice(["f32", "f16", "bf16", "f64", "i64", "i32", "i16", "i8", "u8", "u16", "u32", "u64", "bool"])
    if target == "bf16" and b.float_type != "bf16":
        raise Reject
    x = b.pick(dtypes={"float": None, "int": tuple(INTS), "bool": ("bool",)}[source])
    if target == x.dtype:
        raise Reject
    if target in FLOATS:
        grain, mag = x.grain, x.mag
        b.result("Cast", [x], x.shape, target, mag, grain, x.err, to=ONNX[target])
        return
    if not x.is_exact or (x.is_float and x.grain == 0):
        raise Reject
    if target == "bool":
        b.result("Cast", [x], x.shape, target, 1, 1, to=ONNX[target])
        return
    if target.startswith("u"):  # the value of a negative float as an unsigned integer is undefined in C
        x = b.result("Abs", [x], x.shape, x.dtype, x.mag, x.grain) if x.is_float or x.dtype in NUMBERS else None
        if x is None:
            raise Reject
    if x.mag > np.iinfo(NUMPY[target]).max:
        raise Reject
    b.result("Cast", [x], x.shape, target, x.mag, 1, to=ONNX[target])
