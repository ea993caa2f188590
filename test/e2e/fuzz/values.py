"""Values of a random graph with what is known about their numbers, so that a comparison needs no guessed tolerance.

Every value carries a bound of its magnitude, the grain that all its elements are multiples of (0: unknown), and a bound
of the error that any correct implementation may make. Operators that jump (floor, comparisons, casts to integers,
arg_max) take only values without an error; everything else propagates the bound by first-order analysis.
"""

import math
import random
from dataclasses import dataclass

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOATS = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f64": np.float64}
INTS = {
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "u64": np.uint64,
    "u32": np.uint32,
    "u16": np.uint16,
    "u8": np.uint8,
}
NUMPY = {**FLOATS, **INTS, "bool": np.bool_}
ONNX = {
    "f32": TensorProto.FLOAT,
    "f16": TensorProto.FLOAT16,
    "bf16": TensorProto.BFLOAT16,
    "f64": TensorProto.DOUBLE,
    "i64": TensorProto.INT64,
    "i32": TensorProto.INT32,
    "i16": TensorProto.INT16,
    "i8": TensorProto.INT8,
    "u8": TensorProto.UINT8,
    "u16": TensorProto.UINT16,
    "u32": TensorProto.UINT32,
    "u64": TensorProto.UINT64,
    "bool": TensorProto.BOOL,
}
MANTISSA = {"f32": 24, "f16": 11, "bf16": 8, "f64": 53}
# Four units in the last place: our worst polynomial has 3 (lib/Target/cpu/emit/VectorMath.h).
EPSILON = {name: 4 * 2.0**-bits for name, bits in MANTISSA.items()}
# onnxruntime has functions with about 20 ulp (MLAS's tanh, erf, exp), and some of f64 are computed as f32.
FUNCTION_EPSILON = {**EPSILON, "f32": 4e-6, "f64": 1e-13}
LARGEST = {"f32": 1e6, "f16": 1e4, "bf16": 1e6, "f64": 1e8}


class Reject(Exception):
    """The chosen operator does not fit the chosen operands: try another."""


@dataclass(frozen=True)
class Value:
    name: str
    shape: tuple[int, ...]
    dtype: str
    mag: float
    grain: float
    err: float = 0.0
    data: np.ndarray | None = None  # of constants
    relative: float = 0.0  # error as a part of the element: for a single operator, where nothing cancels

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def is_exact(self) -> bool:
        return self.err == 0

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Builder:
    """Grows a graph. `float_type` is the type of most floats."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.numpy_rng = np.random.default_rng(seed)
        self.float_type = self.rng.choices(["f32", "f16", "bf16", "f64"], [6, 2, 2, 2])[0]
        self.nodes, self.initializers, self.inputs, self.values = [], [], {}, []
        self.opset = self.rng.choice([13, 17, 18, 20, 21, 22, 23])
        # Most bugs need few elements; tiles, several tasks and several threads need many.
        self.leaf_elements = self.rng.choices([60, 500, 2000, 20000, 200000], [2, 2, 4, 2, 1])[0]
        self.contrib = False
        self.count = 0

    # ------------------------------------------------------------------ names and nodes

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def node(self, op: str, inputs: list, outputs: int = 1, domain: str = "", **attributes) -> list[str]:
        """Adds a node; inputs are Values, names, or None for a missing one."""
        names = [self.fresh(op.lower()) for _ in range(outputs)]
        operands = [i.name if isinstance(i, Value) else i or "" for i in inputs]
        self.contrib |= domain != ""
        self.nodes.append(helper.make_node(op, operands, names, name=names[0], domain=domain, **attributes))
        return names

    def add(self, value: Value) -> Value:
        """Registers a value that later operators may use; refuses what grows out of bounds."""
        if value.size > 3 * self.leaf_elements:
            raise Reject
        if value.is_float and not (value.mag <= LARGEST[value.dtype] and value.err <= 0.02 * max(value.mag, 1)):
            raise Reject
        if not value.is_float and value.dtype != "bool" and value.mag >= np.iinfo(NUMPY[value.dtype]).max:
            raise Reject
        self.values.append(value)
        return value

    def result(self, op: str, inputs: list, shape, dtype, mag, grain=0.0, err=0.0, domain="", **attributes) -> Value:
        """One-output node. A float result that is not known to be exact gets its rounding error."""
        shape = tuple(int(d) for d in shape)
        if dtype in FLOATS and (grain == 0 or mag > grain * 2.0 ** MANTISSA[dtype]):
            grain, err = 0.0, err + EPSILON[dtype] * mag
        probe = Value("", shape, dtype, mag, grain, err)
        self.check(probe)
        (name,) = self.node(op, inputs, domain=domain, **attributes)
        return self.add(Value(name, shape, dtype, mag, grain, err))

    def check(self, value: Value) -> None:
        """Raises Reject before a node is made."""
        count = len(self.values)
        self.add(value)
        del self.values[count:]

    # ------------------------------------------------------------------ leaves

    def dim(self) -> int:
        if self.leaf_elements < 100 and self.rng.random() < 0.5:
            return self.rng.choice([0, 1, 1, 2])
        if self.leaf_elements > 2000 and self.rng.random() < 0.3:
            return self.rng.choice([31, 32, 63, 64, 65, 96, 127, 129, 200, 257])
        return self.rng.choices([0, 1, 2, 3, 5, 7, 8, 13, 15, 16, 17, 33, 67], [1, 8, 5, 6, 6, 6, 4, 4, 3, 3, 3, 2, 1])[
            0
        ]

    def shape(self, min_rank: int = 0, max_rank: int = 4) -> tuple[int, ...]:
        while True:
            shape = tuple(self.dim() for _ in range(self.rng.randint(min_rank, max_rank)))
            if math.prod(shape) <= self.leaf_elements:
                return shape

    def leaf(self, shape, dtype=None, array=None) -> Value:
        """A new input, initializer or Constant with small values on a coarse grid."""
        dtype = dtype or self.float_type
        if array is None:
            array = self.random_array(shape, dtype)
        array = np.asarray(array).astype(NUMPY[dtype])
        mag = float(np.abs(array.astype(np.float64)).max(initial=0))
        grain = {True: 0.25, False: 1.0}[dtype in FLOATS]
        kind = self.rng.choices(["input", "initializer", "constant"], [6, 3, 1])[0]
        return self.make_leaf(kind, array, dtype, mag, grain)

    def constant(self, array, dtype="i64", visible=False) -> Value:
        """A constant operand (axes, shapes ...)."""
        array = np.asarray(array, dtype=NUMPY[dtype])
        mag = float(np.abs(array.astype(np.float64)).max(initial=0))
        kind = self.rng.choice(["initializer", "constant"])
        return self.make_leaf(kind, array, dtype, mag, 0.0 if dtype in FLOATS else 1.0, visible)

    def make_leaf(self, kind, array, dtype, mag, grain, visible=True) -> Value:
        name = self.fresh({"input": "x", "initializer": "w", "constant": "c"}[kind])
        value = Value(name, array.shape, dtype, mag, grain, 0.0, None if kind == "input" else array)
        tensor = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        if kind == "input":
            self.inputs[name] = (dtype, array)
        elif kind == "initializer":
            self.initializers.append(tensor)
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], name=name, value=tensor))
        return self.add(value) if visible else value

    def random_array(self, shape, dtype):
        rng = self.numpy_rng
        if dtype == "bool":
            return rng.integers(0, 2, shape).astype(bool)
        if dtype in FLOATS:
            limit = 16  # a grid of 1/4 up to 4: 5 bits, so that products stay exact even in bf16
            return rng.integers(-limit, limit + 1, shape) / 4.0
        low = 0 if dtype.startswith("u") else -9
        return rng.integers(low, 10, shape)

    # ------------------------------------------------------------------ choosing operands

    def pick(self, wanted=None, dtypes=None, exact=False, min_rank=0, max_rank=5, nonempty=False) -> Value:
        """An existing value that fits, or a new leaf; recent ones are likelier, so that chains get long."""

        def fits(v: Value) -> bool:
            return (
                (v.dtype in dtypes if dtypes else v.is_float)
                and (v.is_exact or not exact)
                and min_rank <= v.rank <= max_rank
                and (v.size > 0 or not nonempty)
                and (wanted is None or wanted(v))
            )

        found = [v for v in self.values if fits(v)]
        if found and self.rng.random() < 0.85:
            return self.rng.choices(found, [1 + 3 * i for i in range(len(found))])[0]
        for _ in range(20):
            dtype = self.rng.choice(list(dtypes)) if dtypes else self.float_type
            shape = self.shape(min_rank, min(4, max_rank))
            if (math.prod(shape) or not nonempty) and (wanted is None or wanted(Value("", shape, dtype, 4, 0.25))):
                return self.leaf(shape, dtype)
        raise Reject

    def partner(self, value: Value, dtype=None, exact=False) -> Value:
        """A value that broadcasts with `value`."""
        dtype = dtype or value.dtype
        found = [
            v
            for v in self.values
            if v.dtype == dtype and (v.is_exact or not exact) and broadcast(v.shape, value.shape) is not None
        ]
        if found and self.rng.random() < 0.6:
            return self.rng.choice(found)
        shape = [1 if self.rng.random() < 0.3 else d for d in value.shape]
        kind = self.rng.random()
        if kind < 0.3:
            shape = shape[self.rng.randint(0, len(shape)) :]
        elif kind < 0.4 and len(shape) < 4:
            shape = [self.rng.choice([1, 2, 3]), *shape]
        return self.leaf(tuple(shape), dtype)

    def axes(self, rank: int, at_least: int = 0) -> list[int]:
        chosen = sorted(self.rng.sample(range(rank), self.rng.randint(min(at_least, rank), rank)))
        return [a - rank if self.rng.random() < 0.3 else a for a in chosen]

    def axis(self, rank: int) -> int:
        return self.rng.randint(-rank, rank - 1)


def broadcast(*shapes) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def joint_grain(*grains: float) -> float:
    """All grains are powers of two or zero (unknown)."""
    return 0.0 if 0 in grains else min(grains)
