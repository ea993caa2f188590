"""Deterministic inputs for any encoder-like model, from its signature alone."""

import numpy as np
import onnx
from onnx import helper


def _index_limits(model: onnx.ModelProto) -> dict[str, int]:
    """By integer input: the row count of the table that it indexes, through Cast, Gather or the fused embedding."""
    rows = {i.name: i.dims[0] for i in model.graph.initializer if len(i.dims) == 2}
    source = {}  # value -> graph input, through Casts
    limits = {}
    for node in model.graph.node:
        if node.op_type == "Cast":
            source[node.output[0]] = source.get(node.input[0], node.input[0])
        lookups = []
        if node.op_type == "Gather":
            lookups = [(node.input[0], node.input[1])]
        elif node.op_type == "EmbedLayerNormalization":
            lookups = [(node.input[2], node.input[0]), (node.input[4], node.input[1])]
        for table, ids in lookups:
            if table in rows:
                limits[source.get(ids, ids)] = rows[table]
    return limits


def input_shapes(model: onnx.ModelProto, dims: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Shapes of the graph inputs with symbolic extents replaced; KeyError names an extent that `dims` lacks."""
    initialised = {i.name for i in model.graph.initializer}
    shape = lambda value: tuple(d.dim_value or dims[d.dim_param] for d in value.type.tensor_type.shape.dim)
    return {i.name: shape(i) for i in model.graph.input if i.name not in initialised}


def sample_inputs(model: onnx.ModelProto, dims: dict[str, int], seed: int = 0) -> dict[str, np.ndarray]:
    """Random valid inputs.

    Inputs called *mask* become right-padded masks [b, s] with at least one and mostly most positions set (a row without
    any has no defined result); indices stay inside the table that they index; floats are standard normal.
    """
    rng = np.random.default_rng(seed)
    limits = _index_limits(model)
    types = {i.name: helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type) for i in model.graph.input}
    feeds = {}
    for name, shape in input_shapes(model, dims).items():
        if "mask" in name:
            lengths = rng.integers((shape[-1] + 1) // 2, shape[-1] + 1, size=(*shape[:-1], 1))
            value = np.arange(shape[-1]) < lengths
        elif np.issubdtype(types[name], np.integer):
            value = rng.integers(0, limits.get(name, 2), size=shape)
        else:
            value = rng.standard_normal(shape)
        feeds[name] = value.astype(types[name])
    return feeds
