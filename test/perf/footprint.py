#!/usr/bin/env python3
"""Compile time, start-up and memory of one model, against the promises of README.

    python test/perf/footprint.py [MODEL.onnx] --dim batch=1 --dim sequence=128 [--check]     default: BERT-base

Prints CPU and wall time and peak memory of a cold compile, of the first and second start, of onnxruntime's start (session and
first run, without Python's own start-up), and of a run, with the limit of each:

    compile   1.3 x the model's bytes + 250 MiB       weights are streamed, never held
    run       weights + slab + scratch + 32 MiB       weights are mapped, so their resident pages count here

--check: exit 1 if a memory limit is broken (CTest `e2e.footprint`). Times are printed, never judged: machines are shared.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from models import zoo  # noqa: E402
from models.bert.build import ModelSpec  # noqa: E402
from models.gaudi_cli import default_binary  # noqa: E402

MIB = 2**20


@dataclass
class Measured:
    wall_s: float
    cpu_s: float
    peak_bytes: int
    stderr: str


def measure(command: list[str]) -> Measured:
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        text = err.read()
    if process.returncode:
        sys.exit(f"error: {' '.join(command)}: exit code {process.returncode}\n{text}")
    return Measured(time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, text)


ORT = """
import sys, time
import numpy as np
import onnxruntime as ort
model, threads, dims = sys.argv[1], int(sys.argv[2]), dict(pair.split("=") for pair in sys.argv[3:])
kinds = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(float16)": np.float16}
options = ort.SessionOptions()
options.intra_op_num_threads = threads
start = time.monotonic()
session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
shape = lambda i: [d if isinstance(d, int) else int(dims[d]) for d in i.shape]
session.run(None, {i.name: np.zeros(shape(i), kinds[i.type]) for i in session.get_inputs()})
print(time.monotonic() - start, file=sys.stderr)
"""


def onnxruntime_start(model: Path, threads: int, dims: list[str]) -> Measured:
    """Session and first run in a fresh process; wall_s without Python's own start, which is not onnxruntime's fault."""
    measured = measure([sys.executable, "-c", ORT, str(model), str(threads), *dims])
    measured.wall_s = float(measured.stderr.split()[-1])
    return measured


def model_bytes(path: Path) -> int:
    """The file with its external data, which lie beside it under its name."""
    return sum(part.stat().st_size for part in path.parent.glob(path.name + "*"))


def main() -> int:
    parser = argparse.ArgumentParser(description="Compile time, start-up and memory of one model.")
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--dim", action="append", default=[], help="NAME=N")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bin", type=Path, default=default_binary().parent, help="folder of gaudi-opt and gaudi-run")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    args.model = args.model or zoo.ensure(ModelSpec("base", "pooler", "ts17"))
    size = model_bytes(args.model)
    flags = [*(f"--dim={dim}" for dim in args.dim), f"--threads={args.threads}"]
    opt, run = str(args.bin / "gaudi-opt"), str(args.bin / "gaudi-run")
    feeds = ["--input=*=zeros"]
    broken = 0

    def row(name: str, m: Measured, limit: float = 0):
        nonlocal broken
        broken += bool(limit) and m.peak_bytes > limit
        bound = f"  limit {limit / MIB:7.0f} MiB" if limit else ""
        print(f"{name:<28} wall {m.wall_s:6.2f} s  cpu {m.cpu_s:6.2f} s  peak {m.peak_bytes / MIB:7.0f} MiB{bound}")

    with tempfile.TemporaryDirectory() as folder:
        artifact, report = Path(folder) / "model.gdx", Path(folder) / "report.json"
        print(f"{args.model.name}: {size / MIB:.0f} MiB")
        row("compile to a .gdx", measure([opt, str(args.model), *flags, "-q", "-o", str(artifact)]), 1.3 * size + 250 * MIB)
        cache = f"--cache-dir={folder}/cache"
        first = measure([run, str(args.model), *flags, cache, *feeds])
        second = measure([run, str(args.model), *flags, cache, *feeds, f"--json={report}"])
        memory = json.loads(report.read_text())["memory"]
        allowed = memory["weights"] + memory["slab"] + args.threads * memory["scratch_per_thread"] + 32 * MIB
        row("first start, to outputs", first)
        row("second start, to outputs", second)
        row("onnxruntime, to outputs", onnxruntime_start(args.model, args.threads, args.dim))
        ran = measure([run, str(artifact), f"--threads={args.threads}", *feeds, f"--json={report}"])
        row("run of the .gdx", ran, allowed)
        result = json.loads(report.read_text())
        print(f"second start / first start    {second.wall_s / first.wall_s:.1%} (cpu {second.cpu_s / first.cpu_s:.1%})")
        print(f"open to ready                 {result['open_ms']:.1f} ms; plan ratio {memory['ratio']:.3f}")
    if broken and args.check:
        print(f"error: {broken} memory limits are broken", file=sys.stderr)
    return 1 if broken and args.check else 0


if __name__ == "__main__":
    sys.exit(main())
