#!/usr/bin/env python3
"""Models that a cache could take for one another, through one cache (CTest `e2e.cache-identity`).

A program's key has no weight bytes in it, so that fine-tuned models share programs; weights have keys of their own. Here
a chain of models differs from the one before in a single way each: weights, documentation (which moves the weights in the
file), producer, order of the initializers, placement in the external file. Every one must give onnxruntime's result,
in a cold cache and again when everything is in it.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from models.gaudi_cli import GaudiRun, default_binary  # noqa: E402

N = 64  # matrices of 16 KiB: above the size up to which constants are part of the program


def weights(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((N, N)).astype(np.float32) / 8 for _ in range(2)]


def build(matrices, documentation="", producer="a", reverse=False) -> onnx.ModelProto:
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["h"], name="first", doc_string=documentation),
        helper.make_node("Relu", ["h"], ["r"], name="second"),
        helper.make_node("MatMul", ["r", "w1"], ["y"], name="third"),
    ]
    initializers = [numpy_helper.from_array(matrix, f"w{i}") for i, matrix in enumerate(matrices)]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, N])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, N])], initializers[::-1] if reverse else initializers,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name=producer, ir_version=8)


def externalise(model: onnx.ModelProto, folder: Path, order: list[str]) -> None:
    """Moves the weights to `folder`/w.bin, in this order."""
    offsets, data = {}, b""
    by_name = {tensor.name: tensor for tensor in model.graph.initializer}
    for name in order:
        offsets[name] = len(data)
        data += by_name[name].raw_data
    (folder / "w.bin").write_bytes(data)
    for tensor in model.graph.initializer:
        size = len(tensor.raw_data)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "w.bin"), ("offset", offsets[tensor.name]), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))


def cases(base: Path):
    """(what it tries, path of the model)"""
    a, b = weights(1), weights(2)
    inline = [
        ("the first", build(a)),
        ("other weights", build(b)),
        ("other weights, moved by documentation", build(weights(3), documentation="words " * 7)),
        ("other weights, moved by the producer", build(weights(4), producer="a longer name")),
        ("the initializers in the other order", build(a, reverse=True)),
        ("that, with the weights swapped", build(a[::-1], reverse=True)),
        ("the first, with the weights swapped", build(a[::-1])),
    ]
    external = [
        ("external", build(a), ["w0", "w1"]),
        ("external, the other way round in the file", build(a), ["w1", "w0"]),
        ("external, both ways round", build(a[::-1], reverse=True), ["w0", "w1"]),
        ("external, both and in the file", build(a[::-1], reverse=True), ["w1", "w0"]),
        ("external, other weights", build(b), ["w0", "w1"]),
    ]
    for i, (what, model, *order) in enumerate([*inline, *external]):
        folder = base / str(i)
        folder.mkdir()
        if order:
            externalise(model, folder, *order)
        onnx.save(model, folder / "m.onnx")
        yield what, folder / "m.onnx"


def main() -> int:
    parser = argparse.ArgumentParser(description="Models that a cache could take for one another.")
    parser.add_argument("--gaudi-run", type=Path, default=default_binary())
    args = parser.parse_args()
    x = np.random.default_rng(5).standard_normal((3, N)).astype(np.float32)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        gaudi = GaudiRun(args.gaudi_run, (f"--cache-dir={folder}/cache",))
        chain = list(cases(Path(folder)))
        for again in ("", ", again"):
            for what, path in chain:
                session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
                (expected,) = session.run(None, {"x": x})
                outputs, report = gaudi.run(path, {}, {"x": x}, ["y"])
                equal = np.allclose(outputs["y"], expected, rtol=1e-5, atol=1e-5)
                failed += not equal
                print(f"{'PASS' if equal else 'FAIL'} {what}{again} (program: {report['cache']})")
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
