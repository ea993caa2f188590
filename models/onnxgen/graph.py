"""Mechanics of writing an ONNX graph: nodes, names, initialisers, and a file that needs no second copy in memory."""

import contextlib
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from .dtypes import ONNX_OF_NUMPY

# Optimum and torch.onnx keep tensors below about a kilobyte inside the model file (onnx's own default threshold).
EXTERNAL_THRESHOLD_BYTES = 1024
PROTOBUF_LIMIT_BYTES = 2**31 - 1


@dataclass(frozen=True)
class Initializer:
    """A tensor that is computed only when it is written, so that a model larger than the memory can be streamed."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    make: Callable[[], np.ndarray]

    @property
    def size_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def raw(self) -> bytes:
        value = self.make().astype(self.dtype, copy=False)
        assert value.shape == self.shape, f"{self.name}: made {value.shape}, declared {self.shape}"
        return value.tobytes()

    def proto(self) -> TensorProto:
        return TensorProto(name=self.name, dims=self.shape, data_type=ONNX_OF_NUMPY[self.dtype])


class Graph:
    """An ONNX graph under construction. Values are their names (str).

    `naming` is "torchscript" (`/layer.0/attention/MatMul_1_output_0`) or "dynamo" (`matmul_17`).
    """

    def __init__(self, name: str, naming: str):
        self.name = name
        self._naming = naming
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._initializers: dict[str, Initializer] = {}
        self._scopes: list[str] = []
        self._used: dict[str, int] = {}

    @contextlib.contextmanager
    def scope(self, name: str):
        """Prefixes the names of the nodes written inside, as torch does with module paths."""
        self._scopes.append(name)
        yield
        self._scopes.pop()

    def _unique(self, base: str) -> str:
        count = self._used[base] = self._used.get(base, -1) + 1
        return f"{base}_{count}" if count else base

    def _node_name(self, op_type: str) -> tuple[str, str]:
        """Names of a node and of its first output."""
        if self._naming == "torchscript":
            node = self._unique("/" + "/".join([*self._scopes, op_type]))
            return node, f"{node}_output_0"
        value = self._unique(op_type.lower())
        return f"node_{value}", value

    def op(self, op_type: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes):
        """Adds a node; returns its output, or the tuple of its `outputs` outputs. An absent input is ""."""
        node_name, first = self._node_name(op_type)
        names = [first] + [f"{first.removesuffix('_output_0')}_output_{i}" for i in range(1, outputs)]
        self._nodes.append(
            helper.make_node(op_type, list(inputs), names, name=node_name, domain=domain or None, **attributes)
        )
        return names[0] if outputs == 1 else tuple(names)

    def constant_node(self, value: np.ndarray) -> str:
        """A `Constant` node, as the TorchScript exporter writes every literal."""
        tensor = TensorProto(dims=value.shape, data_type=ONNX_OF_NUMPY[value.dtype], raw_data=value.tobytes())
        return self.op("Constant", value=tensor)

    def shared_constant(self, value: np.ndarray, prefix: str) -> str:
        """A literal as an initialiser, one for all uses of the same value."""
        identity = value.tobytes() + repr((value.dtype, value.shape)).encode()
        digest = hashlib.blake2b(identity, digest_size=6).hexdigest()
        return self.initializer(prefix + digest, value.shape, value.dtype, lambda: value)

    def initializer(self, name: str, shape, dtype, make: Callable[[], np.ndarray]) -> str:
        """Declares an initialiser; a second declaration of the same name is the same tensor (tied weights)."""
        entry = Initializer(name, tuple(shape), np.dtype(dtype), make)
        known = self._initializers.setdefault(name, entry)
        assert known.shape == entry.shape, f"initialiser '{name}' declared as {known.shape} and {entry.shape}"
        return name

    def input(self, name: str, dtype: np.dtype, shape: list) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, ONNX_OF_NUMPY[np.dtype(dtype)], shape))
        return name

    def output(self, value: str, name: str, dtype: np.dtype, shape: list) -> None:
        """Makes `value` the graph output `name`, renaming it at its producer: exporters add no Identity."""
        self._outputs.append(helper.make_tensor_value_info(name, ONNX_OF_NUMPY[np.dtype(dtype)], shape))
        for node in self._nodes:
            for names in (node.input, node.output):
                for i, used in enumerate(names):
                    if used == value:
                        names[i] = name

    def save(self, path: Path, opsets: dict[str, int], ir_version: int, external_suffix: str | None) -> None:
        """Writes the model; with a suffix, large tensors go to `<path><suffix>`, one at a time."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if external_suffix is None:
            tensors = self._inline_tensors()
        else:
            tensors = self._external_tensors(path.with_name(path.name + external_suffix))
        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, tensors)
        model = helper.make_model(
            graph,
            producer_name="gaudi-models",
            ir_version=ir_version,
            opset_imports=[helper.make_opsetid(domain, version) for domain, version in opsets.items()],
        )
        path.write_bytes(model.SerializeToString())

    def _inline_tensors(self) -> list[TensorProto]:
        total_bytes = sum(i.size_bytes for i in self._initializers.values())
        if total_bytes > PROTOBUF_LIMIT_BYTES:
            raise ValueError(
                f"model '{self.name}' has {total_bytes} bytes of weights, protobuf allows 2 GiB: --external"
            )
        tensors = []
        for initializer in self._initializers.values():
            tensor = initializer.proto()
            tensor.raw_data = initializer.raw()
            tensors.append(tensor)
        return tensors

    def _external_tensors(self, data_path: Path) -> list[TensorProto]:
        tensors = []
        with open(data_path, "wb") as data:
            for initializer in self._initializers.values():
                tensor, raw = initializer.proto(), initializer.raw()
                if len(raw) < EXTERNAL_THRESHOLD_BYTES:
                    tensor.raw_data = raw
                else:
                    # No padding between tensors: that is what the exporters write (onnx/onnx#6226).
                    tensor.data_location = TensorProto.EXTERNAL
                    fields = {"location": data_path.name, "offset": data.tell(), "length": len(raw)}
                    for key, value in fields.items():
                        tensor.external_data.add(key=key, value=str(value))
                    data.write(raw)
                tensors.append(tensor)
        return tensors
