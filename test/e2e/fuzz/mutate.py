"""Damages a valid random model: the compiler must refuse or compile it, never crash."""

import random

import numpy as np
import onnx
from onnx import numpy_helper

from .generate import Case, generate

ODD = [0, 1, -1, 2, -2, 3, 7, 64, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)]
# Random operator names of what the generator knows, and some that take other numbers of inputs and outputs.
NAMES = ["Add", "Where", "Concat", "Gather", "Reshape", "Transpose", "MatMul", "Gemm", "Softmax", "LayerNormalization", "Slice",
         "Split", "Pad", "Expand", "Tile", "ReduceSum", "ReduceMax", "ArgMax", "Cast", "Clip", "CumSum", "Einsum", "ScatterND",
         "GatherND", "GatherElements", "Trilu", "Squeeze", "Unsqueeze", "Range", "ConstantOfShape", "Attention", "Constant",
         "BatchNormalization", "GroupNormalization", "InstanceNormalization", "Flatten", "Identity", "Dropout", "Loop", "If",
         "PRelu", "Mod", "Pow", "Not", "Shape", "Size", "CastLike", "NoSuchOperator"]  # fmt: skip


def _tensors(graph: onnx.GraphProto) -> list[onnx.TensorProto]:
    return [*graph.initializer, *(a.t for n in graph.node for a in n.attribute if a.HasField("t"))]


def _mutate_tensor(rng: random.Random, graph: onnx.GraphProto) -> None:
    tensors = _tensors(graph)
    if not tensors:
        return
    tensor = rng.choice(tensors)
    try:
        array = numpy_helper.to_array(tensor)
    except ValueError:  # damaged already
        return
    kind = rng.randrange(4)
    if kind == 0 and array.size and array.dtype.kind in "iu":  # another value
        array = array.copy()
        value = rng.choice(ODD)
        info = np.iinfo(array.dtype)
        array.reshape(-1)[rng.randrange(array.size)] = min(max(value, info.min), info.max)
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    elif kind == 1:  # another rank
        array = array.reshape(1, -1) if rng.random() < 0.5 else array.reshape(-1)
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    elif kind == 2:  # another length
        flat = array.reshape(-1)
        flat = flat[:-1] if rng.random() < 0.5 else np.concatenate([flat, flat[:1]])
        tensor.CopyFrom(numpy_helper.from_array(flat, tensor.name))
    elif tensor.dims:  # dims and data disagree
        tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(ODD)


def _mutate_attribute(rng: random.Random, graph: onnx.GraphProto) -> None:
    attributes = [a for n in graph.node for a in n.attribute]
    if not attributes:
        return
    attribute = rng.choice(attributes)
    if attribute.type == onnx.AttributeProto.INT:
        attribute.i = rng.choice(ODD)
    elif attribute.type == onnx.AttributeProto.INTS:
        if attribute.ints and rng.random() < 0.6:
            attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(ODD)
        elif attribute.ints and rng.random() < 0.5:
            attribute.ints.pop()
        else:
            attribute.ints.append(rng.choice(ODD))
    elif attribute.type == onnx.AttributeProto.FLOAT:
        attribute.f = rng.choice([0.0, -1.0, float("nan"), float("inf"), 1e38])
    elif attribute.type == onnx.AttributeProto.STRING:
        attribute.s = rng.choice([b"", b"ij->", b"i,i", b"...i->i", b"constant", b"\xff\xfe", b"ij,jk,kl->il"])
    else:
        attribute.name = "axis"


def _mutate_node(rng: random.Random, graph: onnx.GraphProto) -> None:
    node = rng.choice(graph.node)
    names = [name for n in graph.node for name in n.output] + [i.name for i in graph.input] + [""]
    kind = rng.randrange(6)
    if kind == 0 and node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(names)
    elif kind == 1 and node.input:
        node.input.pop()
    elif kind == 2:
        node.input.append(rng.choice(names))
    elif kind == 3:
        node.op_type = rng.choice(NAMES)
    elif kind == 4:
        node.output.append(f"extra{rng.randrange(100)}")
    elif node.attribute:
        del node.attribute[rng.randrange(len(node.attribute))]


def _mutate_input(rng: random.Random, graph: onnx.GraphProto) -> None:
    infos = [*graph.input, *graph.output]
    tensor = rng.choice(infos).type.tensor_type
    dims = tensor.shape.dim
    kind = rng.randrange(4)
    if kind == 0 and dims:
        dims[rng.randrange(len(dims))].dim_value = rng.choice([0, 1, 2, 3, 5, -1, 2**31, 2**62])
    elif kind == 1:
        tensor.elem_type = rng.choice([0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 14, 16, 17, 99])
    elif kind == 2:
        dims.add().dim_value = rng.choice([1, 2, 3])
    elif dims:
        dims.pop()


def generate_mutant(seed: int) -> Case:
    case = generate(seed)
    rng = random.Random(seed ^ 0x5EED)
    for _ in range(rng.choice([1, 1, 2, 4])):
        change = rng.choice([_mutate_tensor, _mutate_attribute, _mutate_node, _mutate_node, _mutate_input])
        if case.model.graph.node and (case.model.graph.input or case.model.graph.output):
            change(rng, case.model.graph)
    if rng.random() < 0.05:
        case.model.opset_import[0].version = rng.choice([1, 6, 7, 10, 11, 12, 19, 24, 99])
    return case
