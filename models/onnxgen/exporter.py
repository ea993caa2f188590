"""The building blocks of a transformer encoder, spelled as one exporter spells them.

`Exporter` holds what the exporters share; `torchscript.py`, `dynamo.py` and `ort.py` override single blocks. Models
(models/bert/*.py) are written against these methods only and never look at the form.

Shapes: b = batch, s = sequence, h = hidden, H = heads, d = head size. Compute type T is fp32, fp16 or bf16.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from .dtypes import FloatType
from .forms import Form
from .graph import Graph
from .weights import ParameterSource

# An extent: known, or the name of a value that holds it (TorchScript: a scalar; dynamo: a vector of one element).
Dim = int | str


class Extents:
    """Batch and sequence extents of a value [b, s, ...], read at run time when first asked for.

    Reading late and once is what the traces show: torch drops reads that nobody uses.
    """

    def __init__(self, exporter: "Exporter", value: str):
        self._exporter = exporter
        self._value = value

    @functools.cached_property
    def batch(self) -> Dim:
        return self._exporter.dim(self._value, 0, "batch")

    @functools.cached_property
    def sequence(self) -> Dim:
        return self._exporter.dim(self._value, 1, "sequence")

    @functools.cached_property
    def traced_width(self) -> str:
        """The last extent, which is always known but which a trace may read all the same (int64 scalar)."""
        exporter = self._exporter
        return exporter.op("Gather", exporter.op("Shape", self._value), exporter.int_scalar(2), axis=0)


@dataclass(frozen=True)
class HeadLayout:
    """How [b, s, h] is cut into heads, with the extents of the layer's input; see Exporter.self_attention for style."""

    heads: int
    size: int
    style: str
    extents: Extents

    @property
    def width(self) -> int:
        return self.heads * self.size

    @property
    def split_dims(self) -> tuple[Dim, ...]:
        if self.style == "clip":
            return self.extents.batch, self.extents.sequence, -1, self.size
        return self.extents.batch, -1, self.heads, self.size


class Exporter:
    """Base of the three exporter families.

    extents: {"batch": 2, "sequence": None}; None = dynamic.
    """

    naming = "torchscript"
    fuses_default_positions = False  # True: embed_and_norm makes the position ids 0..s-1 itself

    def __init__(self, name: str, form: Form, dtype: FloatType, parameters: ParameterSource, extents: dict):
        self.form = form
        self.dtype = dtype
        self.extents = extents
        self.graph = Graph(name, self.naming)
        self.op = self.graph.op
        self.scope = self.graph.scope
        self._parameters = parameters

    # --- literals and parameters ------------------------------------------------------------------------------------

    def constant(self, value: np.ndarray) -> str:
        raise NotImplementedError

    def scalar(self, value: float) -> str:
        """Rank-0 literal of the compute type."""
        return self.constant(np.array(value, self.dtype.numpy))

    def ints(self, *values: int) -> str:
        """int64 vector literal."""
        return self.constant(np.array(values, np.int64))

    def int_scalar(self, value: int) -> str:
        return self.constant(np.array(value, np.int64))

    def parameter(self, name: str, shape: Sequence[int], kind: str) -> str:
        """A model parameter as it is in the state dict, of the compute type."""
        return self.graph.initializer(name, shape, self.dtype.numpy, lambda: self._parameters(name, tuple(shape), kind))

    def derived(self, name: str, shape: Sequence[int], sources: list[tuple[str, tuple, str]], combine) -> str:
        """An initialiser that the exporter computed from parameters, such as a transposed weight."""
        make = lambda: combine(*(self._parameters(*source) for source in sources))
        return self.graph.initializer(name, shape, self.dtype.numpy, make)

    def buffer(self, name: str, value: np.ndarray) -> str:
        """A non-trainable int64 tensor of the module, such as `position_ids`."""
        return self.graph.initializer(name, value.shape, value.dtype, lambda: value)

    # --- extents and shapes -----------------------------------------------------------------------------------------

    def symbol(self, extent: str) -> Dim:
        """How an extent is declared at graph inputs and outputs: a number, or a dim_param."""
        known = self.extents[extent]
        return extent if known is None else known

    def dim(self, value: str, axis: int, extent: str) -> Dim:
        """The extent of `value` along `axis`: known when the model is static, else read at run time."""
        known = self.extents[extent]
        return self._runtime_dim(value, axis, extent) if known is None else known

    def _runtime_dim(self, value: str, axis: int, extent: str) -> str:
        raise NotImplementedError

    def shape_vector(self, dims: Sequence[Dim]) -> str:
        """int64 vector [len(dims)]: one literal if all are known, else Concat of the parts."""
        if all(isinstance(d, int) for d in dims):
            return self.ints(*dims)
        return self.op("Concat", *(self.dim_as_vector(d) for d in dims), axis=0)

    def dim_as_vector(self, dim: Dim) -> str:
        raise NotImplementedError

    def dim_as_scalar(self, dim: Dim) -> str:
        raise NotImplementedError

    def reshape(self, value: str, dims: Sequence[Dim]) -> str:
        return self.op("Reshape", value, self.shape_vector(dims))

    def expand(self, value: str, dims: Sequence[Dim]) -> str:
        return self.op("Expand", value, self.shape_vector(dims))

    # --- ops whose signature changed between opsets -----------------------------------------------------------------

    def unsqueeze(self, value: str, *axes: int) -> str:
        if self.form.opset < 13:
            return self.op("Unsqueeze", value, axes=list(axes))
        return self.op("Unsqueeze", value, self.ints(*axes))

    def squeeze(self, value: str, axis: int) -> str:
        if self.form.opset < 13:
            return self.op("Squeeze", value, axes=[axis])
        return self.op("Squeeze", value, self.ints(axis))

    def split_last(self, value: str, sizes: Sequence[int]) -> tuple[str, ...]:
        if self.form.opset < 13:
            return self.op("Split", value, outputs=len(sizes), axis=-1, split=list(sizes))
        return self.op("Split", value, self.ints(*sizes), outputs=len(sizes), axis=-1)

    def cumulative_sum(self, value: str, axis: int) -> str:
        """torch.cumsum of an int32 value, as int32."""
        return self.op("CumSum", value, self.int_scalar(axis))

    def last_argmax(self, value: str) -> str:
        """Index of the first maximum along the last axis, int64; `select_last_index` exists from opset 12 on."""
        attributes = {} if self.form.opset < 12 else {"select_last_index": 0}
        return self.op("ArgMax", value, axis=-1, keepdims=0, **attributes)

    def rows_at(self, x: str, columns: str, ids: Extents) -> str:
        """x[arange(b), columns]: [b, s, h] and int64 [b] -> [b, h]."""
        raise NotImplementedError

    def reduce_mean_last(self, value: str) -> str:
        """ReduceMean over the last axis, kept; axes are an input from opset 18 on."""
        if self.form.opset < 18:
            return self.op("ReduceMean", value, axes=[-1], keepdims=1)
        return self.op("ReduceMean", value, self.ints(-1), keepdims=1)

    def reduce_sum(self, value: str, axis: int) -> str:
        if self.form.opset < 13:
            return self.op("ReduceSum", value, axes=[axis], keepdims=0)
        return self.op("ReduceSum", value, self.ints(axis), keepdims=0)

    def norm_last(self, value: str) -> str:
        """Euclidean norm over the last axis, kept."""
        if self.form.opset < 18:
            return self.op("ReduceL2", value, axes=[-1], keepdims=1)
        return self.op("ReduceL2", value, self.ints(-1), keepdims=1)

    def cast(self, value: str, onnx_type: int) -> str:
        return self.op("Cast", value, to=onnx_type)

    def to_compute_type(self, value: str) -> str:
        return self.cast(value, self.dtype.onnx)

    def softmax(self, value: str) -> str:
        """Over the last axis of a rank-4 value. Before opset 13 the axis cannot be negative: torch writes 3."""
        return self.op("Softmax", value, axis=3 if self.form.opset < 13 else -1)

    def take(self, value: str, index: int, axis: int) -> str:
        """`value.select(axis, index)`: Gather with a rank-0 index, which removes the axis."""
        return self.op("Gather", value, self.int_scalar(index), axis=axis)

    def leading_columns(self, name: str, row: np.ndarray, count: Dim) -> str:
        """`buffer[:, :count]` of an int64 [1, n] buffer; folded when the count is known."""
        if isinstance(count, int):
            return self.buffer(f"{name}_sliced", np.ascontiguousarray(row[:, :count]))
        buffer = self.buffer(name, row)
        return self.op("Slice", buffer, self.ints(0), self.dim_as_vector(count), self.ints(1), self.ints(1))

    def buffered_types(self, name: str, row: np.ndarray, ids: Extents, positions: str) -> str:
        """RoBERTa's registered token types [1, n] for every token: [b, s]. positions: int64 [b, s]."""
        return self.expand(self.leading_columns(name, row, ids.sequence), (ids.batch, ids.sequence))

    # --- layers -----------------------------------------------------------------------------------------------------

    def weight_transposed(self, name: str, inputs: int, outputs: int) -> str:
        """The [inputs, outputs] transpose, folded by the exporter, of a Linear's [outputs, inputs] weight."""
        source = (f"{name}.weight", (outputs, inputs), "linear")
        return self.derived(self.folded_name(name), (inputs, outputs), [source], np.transpose)

    def folded_name(self, name: str) -> str:
        """Exporters give folded weights a number (`onnx::MatMul_245`, `val_3`); a name is kinder and as opaque."""
        return f"onnx::MatMul_{name}"

    def bias(self, name: str, size: int) -> str:
        return self.parameter(f"{name}.bias", (size,), "bias")

    def matmul(self, x: str, name: str, inputs: int, outputs: int) -> str:
        """The product of a Linear without its bias; x [..., inputs] of rank 3."""
        return self.op("MatMul", x, self.weight_transposed(name, inputs, outputs))

    def linear(self, x: str, name: str, inputs: int, outputs: int) -> str:
        """torch.nn.Linear on [b, s, inputs]."""
        raise NotImplementedError

    def linear_2d(self, x: str, name: str, inputs: int, outputs: int, activation: str | None = None) -> str:
        """torch.nn.Linear on [b, inputs] = Gemm with transB, then an optional op such as Tanh."""
        weight = self.parameter(f"{name}.weight", (outputs, inputs), "linear")
        y = self.op("Gemm", x, weight, self.bias(name, outputs), transB=1)
        return self.op(activation, y) if activation else y

    def tied_linear(self, x: str, table: str, rows: int, width: int, bias_name: str) -> str:
        """Logits [b, s, rows] from the word table [rows, width]: Gather's table is transposed at run time."""
        weight = self.op("Transpose", self.parameter(table, (rows, width), "embedding"), perm=[1, 0])
        return self.op("Add", self.op("MatMul", x, weight), self.bias(bias_name, rows))

    def lookup(self, table: str, rows: int, width: int, ids: str) -> str:
        return self.op("Gather", self.parameter(table, (rows, width), "embedding"), ids)

    def norm_parameters(self, name: str, width: int) -> tuple[str, str]:
        return self.parameter(f"{name}.weight", (width,), "norm-scale"), self.bias(name, width)

    def layer_norm(self, x: str, name: str, width: int, eps: float) -> str:
        scale, shift = self.norm_parameters(name, width)
        return self.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=eps)

    def gelu(self, x: str) -> str:
        """Erf form: Div sqrt(2), Erf, Add 1, Mul x, Mul 0.5 (symbolic_opset9.gelu)."""
        erf = self.op("Erf", self.op("Div", x, self.scalar(1.4142135623730951)))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.scalar(1.0))), self.scalar(0.5))

    def quick_gelu(self, x: str) -> str:
        """x * sigmoid(1.702 x), CLIP's activation."""
        return self.op("Mul", x, self.op("Sigmoid", self.op("Mul", x, self.scalar(1.702))))

    def activate(self, x: str, kind: str) -> str:
        return {"gelu": self.gelu, "quick-gelu": self.quick_gelu}[kind](x)

    # --- blocks that ONNX Runtime fuses as a whole ------------------------------------------------------------------

    def embed_and_norm(self, lookups: list[tuple[str, int, str]], width: int, norm: str, eps: float) -> str:
        """Sum of embeddings and LayerNorm. lookups: (table, rows, ids) of words, types (if any), positions."""
        total = None
        for table, rows, ids in lookups:
            embedded = self.lookup(table, rows, width, ids)
            total = embedded if total is None else self.op("Add", total, embedded)
        return self.layer_norm(total, norm, width, eps)

    def dense_activate(self, x: str, name: str, inputs: int, outputs: int, kind: str) -> str:
        return self.activate(self.linear(x, name, inputs, outputs), kind)

    def dense_add_norm(self, x: str, dense: str, inputs: int, residual: str, norm: str, width: int, eps: float) -> str:
        """Post-norm tail of a sub-layer: LayerNorm(dense(x) + residual)."""
        return self.layer_norm(self.op("Add", self.linear(x, dense, inputs, width), residual), norm, width, eps)

    def dense_add(self, x: str, dense: str, inputs: int, residual: str, width: int) -> str:
        """Pre-norm tail of a sub-layer: residual + dense(x)."""
        return self.op("Add", residual, self.linear(x, dense, inputs, width))

    # --- masks: [b, s] int64, 1 = attend ----------------------------------------------------------------------------

    def padding_mask(self, mask: str, style: str, ids: Extents) -> str:
        """What `attention()` takes: additive [b,1,1,s] or [b,1,s,s] of T, or boolean [b,1,s,s].

        DistilBERT's eager code fills its scores itself and takes Equal(mask, 0), bool [b, s]. ids: extents of the input
        ids, whose length is the number of queries.
        """
        with self.scope("mask"):
            if style == "distilbert" and self.form.attention == "eager":
                return self.op("Equal", mask, self.int_scalar(0))
            if self.form.mask == "additive":
                return self._additive_mask(mask)
            if self.form.mask == "fill":
                return self._filled_mask(mask, ids)
            return self._boolean_padding_mask(mask, ids)

    def to_rank_four(self, mask: str) -> str:
        """mask[:, None, None, :]."""
        raise NotImplementedError

    def _additive_mask(self, mask: str) -> str:
        """`(1.0 - mask[:, None, None, :]) * finfo.min`: transformers' get_extended_attention_mask."""
        four = self.to_compute_type(self.to_rank_four(mask))
        return self.op("Mul", self.op("Sub", self.scalar(1.0), four), self.scalar(self.dtype.lowest))

    def _filled_mask(self, mask: str, ids: Extents) -> str:
        """transformers' _prepare_4d_attention_mask_for_sdpa: expand, invert, masked_fill with finfo.min."""
        keys = Extents(self, mask)
        four = self.expand(self.to_rank_four(mask), (keys.batch, 1, ids.sequence, keys.sequence))
        inverted = self.op("Sub", self.scalar(1.0), self.to_compute_type(four))
        return self.op("Where", self._inverted_as_bool(inverted), self.scalar(self.dtype.lowest), inverted)

    def _inverted_as_bool(self, inverted: str) -> str:
        return self.cast(inverted, TensorProto.BOOL)

    def _boolean_padding_mask(self, mask: str, ids: Extents) -> str:
        raise NotImplementedError

    def causal_mask(self, ids: Extents) -> str:
        """Attend to oneself and to the left; shape as `padding_mask`."""
        raise NotImplementedError

    # --- attention --------------------------------------------------------------------------------------------------

    def split_heads(self, x: str, layout: HeadLayout, perm: Sequence[int] = (0, 2, 1, 3)) -> str:
        """[b, s, h] -> [b, s, H, d] -> transposed by `perm`."""
        return self.op("Transpose", self.reshape(x, layout.split_dims), perm=list(perm))

    def merge_heads(self, context: str, layout: HeadLayout) -> str:
        """[b, H, s, d] -> [b, s, h]."""
        context = self.op("Transpose", context, perm=[0, 2, 1, 3])
        return self.reshape(context, self._merged_dims(context, layout))

    def _merged_dims(self, context: str, layout: HeadLayout) -> tuple[Dim, ...]:
        """context is [b, s, H, d]. `view(b, -1, h)` in DistilBERT, `reshape(b, s, h)` in the others."""
        middle = -1 if layout.style == "distilbert" else layout.extents.sequence
        return layout.extents.batch, middle, layout.width

    def self_attention(self, x: str, projections: Sequence[str], width: int, heads: int, mask: str, style: str) -> str:
        """Context [b, s, h] before the output projection.

        projections: names of the query, key and value Linears. style: how the Python code spells it: "bert",
        "distilbert" (q scaled, scores filled under the mask) or "clip" (other reshapes; bmm in old versions).
        """
        layout = HeadLayout(heads, width // heads, style, Extents(self, x))
        query, key, value = (self.linear(x, name, width, width) for name in projections)
        return self.attention(query, key, value, layout, mask)

    def attention(self, query: str, key: str, value: str, layout: HeadLayout, mask: str) -> str:
        raise NotImplementedError
