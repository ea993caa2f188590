"""Spellings of torch.onnx's dynamo exporter (torch.export + onnxscript's torchlib), opsets 18 to 23."""

import numpy as np
from onnx import TensorProto

from .exporter import Dim, Exporter, Extents
from .torchscript import INT64_MAX

INT64_MIN = -(2**63)


class Dynamo(Exporter):
    """Literals are deduplicated initialisers; extents are read once, by Shape(start, end), and shared (CSE)."""

    naming = "dynamo"

    def __init__(self, *args):
        super().__init__(*args)
        self._extent_values: dict[str, str] = {}
        self._shape_vectors: dict[tuple[Dim, ...], str] = {}

    def constant(self, value: np.ndarray) -> str:
        return self.graph.shared_constant(value, "val_")

    def folded_name(self, name: str) -> str:
        return f"{name}.weight_transposed"

    def _runtime_dim(self, value: str, axis: int, extent: str) -> str:
        if extent not in self._extent_values:
            self._extent_values[extent] = self.op("Shape", value, start=axis, end=axis + 1)
        return self._extent_values[extent]

    def dim_as_vector(self, dim: Dim) -> str:
        return self.ints(dim) if isinstance(dim, int) else dim

    def dim_as_scalar(self, dim: Dim) -> str:
        return self.int_scalar(dim) if isinstance(dim, int) else self.op("Squeeze", dim)

    def shape_vector(self, dims) -> str:
        """Equal shapes are built once (CSE)."""
        key = tuple(dims)
        if key not in self._shape_vectors:
            self._shape_vectors[key] = super().shape_vector(dims)
        return self._shape_vectors[key]

    def reshape(self, value: str, dims) -> str:
        return self.op("Reshape", value, self.shape_vector(dims), allowzero=1)  # aten.view allows empty tensors

    def cumulative_sum(self, value: str, axis: int) -> str:
        total = self.op("CumSum", self.cast(value, TensorProto.INT64), self.int_scalar(axis), exclusive=0, reverse=0)
        return self.cast(total, TensorProto.INT32)

    def buffered_types(self, name, row, ids, positions):
        if not self.form.is_transformers_5:
            return super().buffered_types(name, row, ids, positions)
        every_row = self.expand(self.buffer(name, row), (ids.batch, 1))
        return self.op("GatherElements", every_row, positions, axis=1)

    def rows_at(self, x: str, columns: str, ids: Extents) -> str:
        rows = self._positions(ids.batch)
        indices = self.op("Concat", self.unsqueeze(rows, -1), self.unsqueeze(columns, -1), axis=-1)
        return self.op("GatherND", x, indices, batch_dims=0)

    def linear(self, x: str, name: str, inputs: int, outputs: int) -> str:
        return self.op("Add", self.matmul(x, name, inputs, outputs), self.bias(name, outputs))

    def gelu(self, x: str) -> str:
        """torchlib: Gelu from opset 20 on; before, Div, Erf, Add 1, Mul 0.5, Mul x."""
        if self.form.opset >= 20:
            return self.op("Gelu", x, approximate="none")
        erf = self.op("Erf", self.op("Div", x, self.scalar(1.4142135623730951)))
        return self.op("Mul", x, self.op("Mul", self.scalar(0.5), self.op("Add", erf, self.scalar(1.0))))

    # --- masks ------------------------------------------------------------------------------------------------------

    def to_rank_four(self, mask: str) -> str:
        return self.unsqueeze(mask, 1, 2)

    def _positions(self, extent: Dim) -> str:
        """arange(extent), int64."""
        return self.op("Range", self.int_scalar(0), self.dim_as_scalar(extent), self.int_scalar(1))

    def _query_and_key_positions(self, sequence: Dim) -> tuple[str, str]:
        """q_idx [1, 1, s, 1] and kv_idx [1, 1, 1, s]: one arange, as queries and keys are as many."""
        common = self.unsqueeze(self._positions(sequence), 0, 1)
        return self.unsqueeze(common, 3), self.unsqueeze(common, 2)

    def _boolean_padding_mask(self, mask: str, ids: Extents) -> str:
        """transformers 5's masking_utils: True & (q_idx >= 0) & mask[batch_idx, kv_idx] -> bool [b, 1, s, s].

        The advanced index becomes GatherND; torchlib broadcasts the index tensors to the shape of their Max.
        """
        mask = self.cast(mask, TensorProto.BOOL)
        batches = self.unsqueeze(self.unsqueeze(self._positions(ids.batch), 1, 2), 3)
        queries, keys = self._query_and_key_positions(ids.sequence)
        is_position = self.op("GreaterOrEqual", queries, self.int_scalar(0))
        everywhere = self.op("And", self.constant(np.array(True)), is_position)
        shape = self.op("Shape", self.op("Max", batches, keys), start=0)
        columns = [self.unsqueeze(self.op("Expand", index, shape), -1) for index in (batches, keys)]
        valid = self.op("GatherND", mask, self.op("Concat", *columns, axis=-1), batch_dims=0)
        return self._as_attention_input(self.op("And", everywhere, valid))

    def causal_mask(self, ids: Extents) -> str:
        """Additive (_make_causal_mask), or boolean (masking_utils)."""
        with self.scope("mask"):
            if self.form.mask == "fill":
                return self._additive_causal_mask(ids)
            queries, keys = self._query_and_key_positions(ids.sequence)
            allowed = self.op("LessOrEqual", keys, queries)
            allowed = self.expand(allowed, (ids.batch, 1, ids.sequence, ids.sequence))
            return self._as_attention_input(allowed)

    def _as_attention_input(self, allowed: str) -> str:
        """Attention-23 takes a boolean mask as is; SDPA adds it as 0 or finfo.min (made once for all layers: CSE)."""
        if self.form.attention == "attention-op":
            return allowed
        return self.op("Where", allowed, self.scalar(0.0), self.scalar(self.dtype.lowest))

    def _additive_causal_mask(self, ids: Extents) -> str:
        """full(finfo.min), zero where column < (row + 1).view(s, 1), expanded to [b, 1, s, s]."""
        full = self.expand(self.scalar(self.dtype.lowest), (ids.sequence, ids.sequence))
        columns = self._positions(ids.sequence)
        rows = self.reshape(self.op("Add", columns, self.int_scalar(1)), (-1, 1))
        mask = self.op("Where", self.op("Less", columns, rows), self.scalar(0.0), full)
        return self.expand(self.unsqueeze(mask, 0, 1), (ids.batch, 1, ids.sequence, ids.sequence))

    # --- attention --------------------------------------------------------------------------------------------------

    def self_attention(self, x, projections, width, heads, mask, style):
        # Transformers 5 spells the reshapes of all these models as CLIP's.
        style = "clip" if self.form.is_transformers_5 else style
        return super().self_attention(x, projections, width, heads, mask, style)

    def _merged_dims(self, context, layout):
        dims = super()._merged_dims(context, layout)
        return (*dims[:2], -1) if self.form.is_transformers_5 else dims

    def attention(self, query, key, value, layout, mask):
        query, key, value = (self.split_heads(x, layout) for x in (query, key, value))
        compute = self._attention_op if self.form.attention == "attention-op" else self._sdpa
        return self.merge_heads(compute(query, key, value, layout.size, mask), layout)

    def _attention_op(self, query, key, value, size, mask):
        """One Attention-23 on rank-4 values: no head-count attributes; the scale is always given by transformers."""
        attributes = {"is_causal": 0, "scale": size**-0.5, "softcap": 0.0, "qk_matmul_output_mode": 0}
        return self.op("Attention", query, key, value, mask, **attributes)

    def _sdpa(self, query, key, value, size, mask):
        """torchlib's aten_scaled_dot_product_attention: k is transposed as [-1, s, d]; both factors * sqrt(scale)."""
        root = self.scalar(size**-0.25)
        query, key = self.op("Mul", query, root), self.op("Mul", self._transposed_key(key, size), root)
        scores = self.op("MatMul", query, key)
        weights = self.softmax(self.op("Add", scores, mask))
        if self.form.mask == "bool":
            # Rows that attend to nothing must give zeros and not NaN.
            weights = self.op("Where", self.op("IsNaN", weights), self.scalar(0.0), weights)
        return self.op("MatMul", weights, value)

    def _transposed_key(self, key: str, size: int) -> str:
        """[b, H, s, d] -> [b, H, d, s] for any rank: the shape is cut into leading, second-last and last extents."""
        if None not in self.extents.values():
            return self._transposed_static_key(key, size)
        shape = self.op("Shape", key, start=0)
        last = self.op("Slice", shape, self.ints(-1), self.ints(INT64_MAX))
        second_last = self.op("Slice", shape, self.ints(-2), self.ints(-1))
        leading = self.op("Slice", shape, self.ints(INT64_MIN), self.ints(-2))
        flat = self.op("Reshape", key, self.op("Concat", self.ints(-1), second_last, last, axis=0), allowzero=0)
        flat = self.op("Transpose", flat, perm=[0, 2, 1])
        return self.op("Reshape", flat, self.op("Concat", leading, last, second_last, axis=0), allowzero=0)

    def _transposed_static_key(self, key: str, size: int) -> str:
        """The same after constant folding."""
        batch, sequence = self.extents["batch"], self.extents["sequence"]
        flat = self.op("Transpose", self.op("Reshape", key, self.ints(-1, sequence, size)), perm=[0, 2, 1])
        return self.op("Reshape", flat, self.ints(batch, -1, size, sequence))
