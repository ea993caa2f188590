"""Seed -> random model, its inputs, the same model for the oracle, and what is known about every output."""

from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from . import attention, composite, moving, pointwise
from .values import NUMPY, ONNX, Builder, Reject, Value

OPERATORS = [
    (pointwise.binary, 10),
    (pointwise.function, 8),
    (pointwise.divide, 2),
    (pointwise.integer_divide, 2),
    (pointwise.float_mod, 1),
    (pointwise.growing, 3),
    (pointwise.clip, 2),
    (pointwise.compare, 3),
    (pointwise.logic, 2),
    (pointwise.bitwise, 1),
    (pointwise.where, 3),
    (pointwise.cast, 4),
    (moving.transpose, 4),
    (moving.reshape, 4),
    (moving.squeeze, 3),
    (moving.expand, 2),
    (moving.tile, 1),
    (moving.slice_, 3),
    (moving.concat, 3),
    (moving.split, 2),
    (moving.pad, 2),
    (moving.gather, 3),
    (moving.gather_elements, 1),
    (moving.gather_nd, 1),
    (moving.scatter_nd, 1),
    (moving.trilu, 1),
    (moving.generate, 1),
    (composite.reduce, 6),
    (composite.arg_reduce, 2),
    (composite.cumsum, 1),
    (composite.softmax, 3),
    (composite.layer_norm, 4),
    (composite.matmul, 5),
    (composite.gemm, 2),
    (composite.einsum, 1),
    (composite.gelu_chain, 2),
    (composite.softmax_chain, 1),
    (attention.attention_chain, 3),
    (composite.contrib, 2),
    (attention.attention_op, 1),
    (moving.computed_shape, 2),
]

# What one emitter fuses: long chains of these find what a mixture does not.
FAMILIES = [
    [
        composite.softmax,
        composite.softmax,
        composite.layer_norm,
        composite.reduce,
        composite.softmax_chain,
        pointwise.binary,
        pointwise.function,
        pointwise.where,
    ],
    [
        composite.matmul,
        composite.gemm,
        pointwise.binary,
        pointwise.function,
        pointwise.clip,
        moving.reshape,
        moving.transpose,
        composite.gelu_chain,
        pointwise.cast,
    ],
    [
        moving.transpose,
        moving.reshape,
        moving.slice_,
        moving.concat,
        moving.pad,
        moving.gather,
        moving.expand,
        moving.split,
        moving.trilu,
        moving.tile,
        pointwise.binary,
        pointwise.where,
    ],
    [
        pointwise.binary,
        pointwise.function,
        pointwise.cast,
        pointwise.compare,
        pointwise.logic,
        pointwise.where,
        composite.cumsum,
        composite.arg_reduce,
        composite.reduce,
        moving.scatter_nd,
        moving.gather_nd,
        moving.gather_elements,
    ],
    [attention.attention_chain, attention.attention_op, pointwise.binary, composite.layer_norm, composite.matmul],
]


@dataclass
class Case:
    model: onnx.ModelProto
    oracle: onnx.ModelProto
    inputs: dict[str, tuple[str, np.ndarray]]
    outputs: list[Value]
    dims: dict[str, int] = field(default_factory=dict)  # sizes of symbolic dims


def _oracle_type(elem_type: int) -> int:
    """16-bit floats are judged by f32, which is exact where the graph is."""
    return TensorProto.FLOAT if elem_type in (TensorProto.FLOAT16, TensorProto.BFLOAT16) else elem_type


def as_f32(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with f16 and bf16 replaced by f32."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    for info in [*graph.input, *graph.output]:
        info.type.tensor_type.elem_type = _oracle_type(info.type.tensor_type.elem_type)

    def convert(tensor: onnx.TensorProto) -> None:
        if _oracle_type(tensor.data_type) != tensor.data_type:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name))

    for tensor in graph.initializer:
        convert(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                convert(attribute.t)
            if node.op_type == "Cast" and attribute.name == "to":
                attribute.i = _oracle_type(attribute.i)
    return result


def _outputs(b: Builder) -> list[Value]:
    """Values that nobody uses, a few inner ones, now and then an input or a constant."""
    used = {name for node in b.nodes for name in node.input}
    made = {name for node in b.nodes for name in node.output}
    leaves = [v for v in b.values if v.name not in used and v.name in made]
    inner = [v for v in b.values if v.name in used and v.name in made]
    chosen = b.rng.sample(leaves, min(len(leaves), b.rng.randint(1, 5)))
    chosen += b.rng.sample(inner, min(len(inner), b.rng.choice([0, 0, 1, 2])))
    given = [v for v in b.values if v.name in b.inputs]
    if given and b.rng.random() < 0.1:
        chosen.append(b.rng.choice(given))
    b.rng.shuffle(chosen)
    return chosen


def _prune(b: Builder, outputs: list[Value]) -> list:
    needed, kept = {v.name for v in outputs}, []
    for node in reversed(b.nodes):
        if needed & set(node.output):
            kept.append(node)
            needed |= set(node.input)
    b.initializers = [t for t in b.initializers if t.name in needed]
    b.inputs = {name: value for name, value in b.inputs.items() if name in needed}
    return kept[::-1]


def generate(seed: int) -> Case:
    b = Builder(seed)
    wanted = b.rng.choice([1, 2, 4, 8, 14, 24])
    operators, weights = zip(*OPERATORS)
    if b.rng.random() < 0.5:  # few kinds, long chains of them
        operators = tuple(b.rng.sample(operators, 4)) if b.rng.random() < 0.5 else tuple(b.rng.choice(FAMILIES))
        weights = (1,) * len(operators)
    done = attempts = 0
    while done < wanted and attempts < 40 * wanted:
        attempts += 1
        state = len(b.nodes), len(b.initializers), len(b.values), set(b.inputs)
        try:
            b.rng.choices(operators, weights)[0](b)
            done += 1
        except Reject:  # take back what it made
            del b.nodes[state[0] :], b.initializers[state[1] :], b.values[state[2] :]
            b.inputs = {name: value for name, value in b.inputs.items() if name in state[3]}
    outputs = _outputs(b)
    nodes = _prune(b, outputs)
    # Exporters leave dims open; then shape arithmetic folds only once they are known.
    is_open = b.rng.random() < 0.3
    shapes = {name: [f"n{d}" if is_open else d for d in array.shape] for name, (_, array) in b.inputs.items()}
    dims = {f"n{d}": d for _, array in b.inputs.values() for d in array.shape if is_open}
    graph = helper.make_graph(
        nodes,
        f"seed{seed}",
        [helper.make_tensor_value_info(name, ONNX[b.inputs[name][0]], shape) for name, shape in shapes.items()],
        [helper.make_tensor_value_info(v.name, ONNX[v.dtype], None if is_open else v.shape) for v in outputs],
        b.initializers,
    )
    opsets = [helper.make_opsetid("", b.opset)] + [helper.make_opsetid("com.microsoft", 1)] * b.contrib
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    inputs = {name: (dtype, np.asarray(array, dtype=NUMPY[dtype])) for name, (dtype, array) in b.inputs.items()}
    return Case(model, as_f32(model), inputs, outputs, dims)
