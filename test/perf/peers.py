#!/usr/bin/env python3
"""Latency of gaudi-run beside onnxruntime, interleaved in one run.

    python test/perf/peers.py base.onnx --dim batch=1,8 --dim sequence=128 --threads 2

Why interleaved: on shared machines the clock and the neighbours change from minute to minute, so that two separate runs
are not comparable. Each round measures both, one after the other, and changes the order; the figure to quote is the
median of the rounds' ratios. Both see the same inputs, the same CPUs (affinity) and the same number of threads.

onnxruntime lives in one child process for the whole comparison (session creation is not measured); `gaudi-run bench` is
started anew each round and takes its artefact from the compile cache (compilation is not measured either).
"""

import argparse
import itertools
import json
import multiprocessing
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from models.gaudi_cli import GaudiError, GaudiRun, default_binary  # noqa: E402
from models.onnxgen.inputs import sample_inputs  # noqa: E402


def _serve_onnxruntime(model: str, threads: int, feeds: dict, pipe) -> None:
    """Child process: answers each count received with that many latencies in milliseconds."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    pipe.send("ready")
    while count := pipe.recv():
        samples = []
        for _ in range(count):
            start = time.perf_counter()
            session.run(None, feeds)
            samples.append((time.perf_counter() - start) * 1e3)
        pipe.send(samples)


class OnnxRuntime:
    """A session in a child process."""

    def __init__(self, model: Path, threads: int, feeds: dict):
        # spawn: a fork would inherit this process's threads and memory layout.
        context = multiprocessing.get_context("spawn")
        self._pipe, far_end = context.Pipe()
        arguments = (str(model), threads, feeds, far_end)
        self._child = context.Process(target=_serve_onnxruntime, args=arguments, daemon=True)
        self._child.start()
        far_end.close()
        self._pipe.recv()

    def measure(self, warmup: int, iterations: int) -> list[float]:
        for count in filter(None, (warmup, iterations)):
            self._pipe.send(count)
            samples = self._pipe.recv()
        return samples

    def close(self) -> None:
        self._pipe.send(0)
        self._child.join()


@dataclass
class Result:
    """One row of the table; latencies in milliseconds, ratio = onnxruntime / ours (above 1: we are faster)."""

    model: str
    dims: dict
    threads: int
    ours: dict
    onnxruntime: dict
    ratio: float
    round_ratios: list


def _percentiles(samples: list[float]) -> dict:
    return dict(zip(("p10", "p50", "p90"), np.percentile(samples, (10, 50, 90)).round(4).tolist()))


def compare(model: Path, dims: dict[str, int], args) -> Result:
    """`args.rounds` interleaved rounds. Raises GaudiError."""
    feeds = sample_inputs(onnx.load(str(model), load_external_data=False), dims)
    ours = GaudiRun(args.gaudi_run, ("--cache=rw", f"--threads={args.threads}"))
    peer = OnnxRuntime(model, args.threads, feeds)
    measure_ours = lambda: ours.bench(model, dims, feeds, args.warmup, args.iterations)["latency_ms"]["samples"]
    measure_peer = lambda: peer.measure(args.warmup, args.iterations)
    measure_ours()  # fills the compile cache and the page cache
    samples = {measure_ours: [], measure_peer: []}
    ratios = []
    for index in range(args.rounds):
        order = (measure_ours, measure_peer) if index % 2 == 0 else (measure_peer, measure_ours)
        medians = {}
        for measure in order:
            latencies = measure()
            samples[measure] += latencies
            medians[measure] = np.median(latencies)
        ratios.append(round(float(medians[measure_peer] / medians[measure_ours]), 4))
    peer.close()
    summary = (_percentiles(samples[measure_ours]), _percentiles(samples[measure_peer]))
    return Result(model.name, dims, args.threads, *summary, float(np.median(ratios)), ratios)


def _print_header() -> None:
    print(
        f"{'model and shape':44} {'ours p50 [p10, p90] ms':>30} {'onnxruntime p50 [p10, p90] ms':>32} {'ort/ours':>9}"
    )


def _print_row(result: Result) -> None:
    shape = " ".join(f"{name}={extent}" for name, extent in result.dims.items())
    cell = lambda s: f"{s['p50']:.3f} [{s['p10']:.3f}, {s['p90']:.3f}]"
    title = f"{result.model} {shape}"
    print(f"{title:44} {cell(result.ours):>30} {cell(result.onnxruntime):>32} {result.ratio:9.3f}", flush=True)


def _dim_list(text: str) -> tuple[str, list[int]]:
    name, _, extents = text.partition("=")
    try:
        return name, [int(extent) for extent in extents.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' (expected NAME=N[,N...])") from None


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare gaudi-run with onnxruntime.")
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--dim", type=_dim_list, action="append", default=[], help="NAME=N[,N...]; all combinations")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=8, help="even, so that both orders weigh the same")
    parser.add_argument("--warmup", type=int, default=3, help="runs before each measurement")
    parser.add_argument("--iterations", type=int, default=20, help="measured runs of each side in a round")
    parser.add_argument("--gaudi-run", type=Path, default=default_binary())
    parser.add_argument("--json", type=Path, help="write all rows with every round's ratio")
    return parser.parse_args()


def main() -> int:
    args = _parse()
    cpus = sorted(os.sched_getaffinity(0))
    if args.threads > len(cpus):
        print(f"error: --threads {args.threads}: only {len(cpus)} CPUs are allowed to this process", file=sys.stderr)
        return 2
    os.sched_setaffinity(0, cpus[: args.threads])  # inherited by both sides
    _print_header()
    results = []
    names, extents = [name for name, _ in args.dim], [values for _, values in args.dim]
    for model, chosen in itertools.product(args.models, itertools.product(*extents)):
        try:
            results.append(compare(model, dict(zip(names, chosen)), args))
        except GaudiError as error:
            print(f"error: {model}: {error}", file=sys.stderr)
            return error.exit_code
        _print_row(results[-1])
    if args.json:
        args.json.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
