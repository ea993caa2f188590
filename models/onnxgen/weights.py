"""Where parameters come from: a seed (same bytes on every machine) or a safetensors file."""

import hashlib
import json
import math
from typing import Protocol

import numpy as np


class ParameterSource(Protocol):
    """Gives the fp32 value of a named parameter; forms derive transposed or merged initialisers from it."""

    def __call__(self, name: str, shape: tuple[int, ...], kind: str) -> np.ndarray: ...


def _uniform(key: bytes, count: int) -> np.ndarray:
    """`count` fp32 values uniform in [-1, 1).

    Uses the raw output of the Philox counter generator, which numpy promises never to change, instead of
    `Generator.normal`, whose stream may change between numpy releases. 24 bits fill an fp32 mantissa exactly.
    """
    philox = np.random.Philox(key=int.from_bytes(key, "little"))
    words = philox.random_raw((count + 1) // 2).view(np.uint32)[:count]
    words >>= np.uint32(8)
    values = words.astype(np.float32)
    values *= np.float32(2.0**-23)
    values -= np.float32(1.0)
    return values


class SeededParameters:
    """Deterministic weights: each depends on the seed and its own name only, so that every form of a model agrees.

    Scales keep activations and logits O(1) at any width: linear layers have variance 1/fan-in, embeddings 1/hidden (the
    masked-LM decoder is tied to the word table), norms 1 +- 0.1, biases +- 0.1.
    """

    def __init__(self, seed: int = 0):
        self._seed = seed

    def __call__(self, name: str, shape: tuple[int, ...], kind: str) -> np.ndarray:
        key = hashlib.blake2b(f"{self._seed}/{name}".encode(), digest_size=16).digest()
        values = _uniform(key, math.prod(shape)).reshape(shape)
        if kind in ("linear", "embedding"):
            values *= np.float32(math.sqrt(3.0 / shape[-1]))  # a uniform variable on [-1, 1) has variance 1/3
        elif kind in ("bias", "norm-scale"):
            values *= np.float32(0.1)
            values += np.float32(kind == "norm-scale")
        else:
            raise ValueError(f"parameter '{name}': unknown kind '{kind}'")
        return values


class SafetensorsParameters:
    """Parameters of a safetensors file, mapped and not copied.

    The format (https://huggingface.co/docs/safetensors): u64 header length, a JSON object
    {name: {dtype, shape, data_offsets}}, then the tensors; offsets are relative to the end of the header.
    """

    _NUMPY = {"F32": np.float32, "F16": np.float16, "I64": np.int64}

    def __init__(self, path):
        data = np.memmap(path, dtype=np.uint8, mode="r")
        header_end = 8 + int(data[:8].view("<u8")[0])
        self._entries = json.loads(bytes(data[8:header_end]))
        self._entries.pop("__metadata__", None)
        self._data = data[header_end:]
        self._path = path

    def __call__(self, name: str, shape: tuple[int, ...], kind: str) -> np.ndarray:
        if name not in self._entries:
            raise KeyError(f"{self._path}: no tensor '{name}'")
        entry = self._entries[name]
        if tuple(entry["shape"]) != tuple(shape):
            raise ValueError(f"{self._path}: tensor '{name}' has shape {entry['shape']}, expected {list(shape)}")
        begin, end = entry["data_offsets"]
        return self._data[begin:end].view(self._NUMPY[entry["dtype"]]).reshape(shape).astype(np.float32)
