#!/usr/bin/env python3
"""Compares device cpu with device ref, layer by layer, through `gaudi-run compare` (CTest `e2e.devices`).

    python test/e2e/compare_devices.py [--filter dynamo23]

Two questions. Do all layers of every model agree? Both sides start from the same import, but `ref` runs the graph as the
model spells it, op by op in fp64, so that what differs is a fault of a transform or a kernel. And does the command name
the right layer when one is wrong? For that, one weight of the second side is changed: everything before the node that
reads it must be called equal, and that node's layer must be the first that is not.
"""

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import numpy_helper

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from cases import TINY, TINY_EXTENTS, Case, fast_cases, file_cases  # noqa: E402
from models import zoo  # noqa: E402
from models.bert.build import ModelSpec  # noqa: E402
from models.gaudi_cli import GaudiRun, default_binary  # noqa: E402
from models.onnxgen.inputs import sample_inputs  # noqa: E402

TAP = "tap:"
MIN_LAYERS = 8  # the smallest of the models has two encoder layers of at least four kernels each
DIMS = tuple(zip(("batch", "sequence"), TINY_EXTENTS))


@dataclass(frozen=True)
class Judge:
    gaudi: GaudiRun

    def compare(self, left: Path, right: Path, dims: dict) -> dict:
        feeds = sample_inputs(onnx.load(left, load_external_data=False), dims)
        return self.gaudi.compare(left, right, dims, feeds, ("cpu", "ref"))

    def agreement(self, case: Case) -> str | None:
        """What is wrong, or nothing."""
        path = case.path or zoo.ensure(case.spec)
        report = self.compare(path, path, dict(case.dims))
        layers = sum(tensor["name"].startswith(TAP) for tensor in report["tensors"])
        if not report["equal"]:
            return f"differs first at {report['first_over_tolerance']}"
        return f"only {layers} layers were compared" if layers < MIN_LAYERS else None

    def fault(self, config: str, form: str) -> str | None:
        """A changed weight of the last dense layer but one must be found where it is."""
        path = zoo.ensure(ModelSpec(config, "feature", form))
        model = onnx.load(path)
        node, weight = last_dense(model.graph, skip=1)
        values = numpy_helper.to_array(weight).copy()
        values[:, 0] += 1.0
        weight.CopyFrom(numpy_helper.from_array(values, weight.name))
        with tempfile.TemporaryDirectory() as folder:
            changed = Path(folder) / "changed.onnx"
            onnx.save(model, changed)
            report = self.compare(path, changed, dict(DIMS))
        expected = following(model.graph, node)
        taps = [tensor for tensor in report["tensors"] if tensor["name"].startswith(TAP)]
        first = report["first_over_tolerance"].removeprefix(TAP)
        if report["equal"] or first not in expected:
            return f"named {first or 'nothing'}, expected one of {expected}"
        before = taps[: [tensor["name"] for tensor in taps].index(TAP + first)]
        return None if before and all(tensor["ok"] for tensor in before) else f"a layer before {first} is called wrong"


def last_dense(graph: onnx.GraphProto, skip: int):
    """The node and the weight of the last matmul with a constant matrix, or of one before it."""
    constants = {tensor.name: tensor for tensor in graph.initializer if len(tensor.dims) == 2}
    dense = [(node, constants[node.input[1]]) for node in graph.node
             if node.op_type in ("MatMul", "Gemm") and node.input[1] in constants]
    return dense[-1 - skip]


def following(graph: onnx.GraphProto, node: onnx.NodeProto, steps: int = 8) -> list[str]:
    """Values that the kernel of `node` may end with: its own, and what elementwise ops make of it."""
    names = [node.output[0]]
    for other in graph.node:
        if len(names) < steps and any(name in other.input for name in names) and other.op_type != "MatMul":
            names.append(other.output[0])
    return names


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare cpu with ref, layer by layer.")
    parser.add_argument("--filter", default="", help="only cases whose name contains this")
    parser.add_argument("--gaudi-run", type=Path, default=default_binary())
    parser.add_argument("--cache-dir", type=Path, default=ROOT / "build" / "zoo-cache")
    args = parser.parse_args()
    judge = Judge(GaudiRun(args.gaudi_run, (f"--cache-dir={args.cache_dir}",)))

    models = [case for case in fast_cases() if case.dtype == "fp32" and case.dims]
    models += file_cases([ROOT / "models" / "export" / "data"], [(name, [extent]) for name, extent in DIMS])
    work = [(f"{case.name} agrees", lambda case=case: judge.agreement(case)) for case in models]
    work += [(f"fault in {config} {form}", lambda config=config, form=form: judge.fault(config, form))
             for config in TINY for form in ("ts14", "dynamo18")]
    failed = 0
    work = [(name, check) for name, check in work if args.filter in name]
    for name, check in work:
        wrong = check()
        failed += wrong is not None
        print(f"FAIL {name}: {wrong}" if wrong else f"PASS {name}", flush=True)
    print(f"{len(work) - failed} passed, {failed} failed")
    return 1 if failed or not work else 0


if __name__ == "__main__":
    sys.exit(main())
