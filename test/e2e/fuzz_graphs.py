#!/usr/bin/env python3
"""Differential fuzzer: random small ONNX graphs through gaudi-opt and gaudi-run, judged by onnxruntime.

    python test/e2e/fuzz_graphs.py --seconds 20            seeds 1, 2, ... for 20 s (CTest: a fixed number of them)
    python test/e2e/fuzz_graphs.py --seed 4711 --count 1   one graph again; the model stays in --keep
    python test/e2e/fuzz_graphs.py --special --seconds 20  single operators on NaN, infinities, -0, denormals, extremes
    python test/e2e/fuzz_graphs.py --mutate --seconds 20   damaged models: refused or compiled, but no crash

A seed decides the whole graph (fuzz/generate.py), the CPU to compile for and the number of threads. Outputs are
compared with the bound that fuzz/values.py derives for each; values that are exact must be equal. A failure prints the
seed, the path of the model and its inputs, and how to run it again. Exit code: 0 all agree, 1 a difference or a failed
tool, 2 usage.
"""

import argparse
import concurrent.futures
import functools
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from fuzz.generate import Case, generate  # noqa: E402
from fuzz.mutate import generate_mutant  # noqa: E402
from fuzz.special import generate_special  # noqa: E402
from fuzz.values import FLOATS, MANTISSA, NUMPY  # noqa: E402
from models.gaudi_cli import EXIT_UNSUPPORTED, default_binary  # noqa: E402

TIMEOUT_S = 120


class Unjudged(Exception):
    """onnxruntime cannot run the graph."""


def _session_run(model: onnx.ModelProto, feeds: dict) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    # Its own optimiser has bugs too; a graph as written is the better judge.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    types = {i.name: i.type for i in session.get_inputs()}
    with np.errstate(over="ignore"):
        feeds = {name: a.astype(np.float32) if types[name] == "tensor(float)" else a for name, a in feeds.items()}
    return session.run(None, feeds)


def expected_outputs(case: Case) -> list[np.ndarray]:
    """By onnxruntime, or by onnx's reference where onnxruntime has no kernel for a type (f64, narrow integers)."""
    feeds = {name: array for name, (_, array) in case.inputs.items()}
    try:
        return _session_run(case.oracle, feeds)
    except Exception as error:  # onnxruntime has no common base class for its errors
        if "NOT_IMPLEMENTED" not in str(error):
            raise Unjudged(f"onnxruntime: {error}") from None
    feeds = {name: a.astype(np.float32) if t in ("f16", "bf16") else a for name, (t, a) in case.inputs.items()}
    try:
        with np.errstate(all="ignore"):
            return ReferenceEvaluator(case.oracle).run(None, feeds)
    except Exception as error:
        raise Unjudged(f"onnx reference: {error}") from None


def difference(value, found: np.ndarray, expected: np.ndarray) -> str | None:
    """None if `found` is within the bound of `value`, else the worst element."""
    if found.dtype.kind == "V":  # numpy has no bfloat16: gaudi-run writes two raw bytes
        found = found.view(ml_dtypes.bfloat16)
    if found.dtype != NUMPY[value.dtype] or found.shape != value.shape:
        return f"{found.dtype}{list(found.shape)}, expected {value.dtype}{list(value.shape)}"
    if found.size == 0 or expected.shape != value.shape:
        return None  # onnxruntime gives wrong shapes when ArgMax or a reduction of all axes gets an empty tensor
    if value.dtype not in FLOATS:
        wrong = found != expected
        bound = np.zeros(found.shape)
    else:
        if value.dtype in ("f16", "bf16"):
            with np.errstate(over="ignore"):
                expected = expected.astype(NUMPY[value.dtype])
        found, expected = found.astype(np.float64), expected.astype(np.float64)
        error = value.err
        if value.dtype in ("f16", "bf16") and error:  # both sides round once more
            error += 2.0 ** -MANTISSA[value.dtype] * value.mag
        bound = error + value.relative * np.abs(np.nan_to_num(expected, posinf=0, neginf=0))
        with np.errstate(invalid="ignore"):
            wrong = ~(
                (np.abs(found - expected) <= bound) | (found == expected) | (np.isnan(found) & np.isnan(expected))
            )
    if not wrong.any():
        return None
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    allowed = np.broadcast_to(bound, found.shape)[index]
    where = f"{wrong.sum()} of {found.size} wrong, at {list(index)}"
    return f"{where}: {found[index]!r}, expected {expected[index]!r} +- {allowed:.3g}"


@functools.cache
def runnable_cpus() -> list[str]:
    """Levels that this machine can run; the own one twice."""
    flags = Path("/proc/cpuinfo").read_text()
    levels = {"x86-64-v2": "sse4_2", "x86-64-v3": "avx2", "x86-64-v4": "avx512vl"}
    return ["native", "native"] + [level for level, flag in levels.items() if flag in flags]


def _commands(args, seed: int, folder: Path, dims: dict[str, int]) -> list[list[str]]:
    """Compile and run; every seventh seed through the cache instead, which keeps weights apart from the program."""
    cpus = runnable_cpus()
    cpu = cpus[seed % len(cpus)]
    threads = f"--threads={1 + seed % 3}"
    io = [f"--inputs={folder}", f"--output=@{folder}/outputs.npz", "-q", threads]
    compiling = [f"--target-cpu={cpu}", *(f"--dim={name}={size}" for name, size in dims.items())]
    model, artifact = str(folder / "model.onnx"), str(folder / "model.gdx")
    if seed % 7 == 0:
        return [[str(args.gaudi_run), "run", model, *io, *compiling, f"--cache-dir={folder}/cache"]]
    return [
        [str(args.gaudi_opt), model, "-o", artifact, "-q", "--cache=off", threads, *compiling],
        [str(args.gaudi_run), "run", artifact, *io],
    ]


def limit_memory() -> None:
    """Damaged dims ask for anything below the compiler's limit of 1 TiB; the machine has other users."""
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def check_mutant(args, seed: int, folder: Path) -> tuple[str, str]:
    """A damaged model may be refused (exit codes 1 to 5), and what compiles must run."""
    (folder / "model.onnx").write_bytes(generate_mutant(seed).model.SerializeToString())
    compile_ = [str(args.gaudi_opt), str(folder / "model.onnx"), "-o", str(folder / "model.gdx"), "-q", "--cache=off"]
    run = [str(args.gaudi_run), "run", str(folder / "model.gdx"), "--input=*=zeros", "-q"]
    for command, allowed in ((compile_, (1, 2, 3, 4, 5)), (run, (5, 6))):
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, preexec_fn=limit_memory
            )
        except subprocess.TimeoutExpired:
            return "FAIL", f"no answer in {TIMEOUT_S} s: {' '.join(command)}"
        if done.returncode in allowed and "error: " in done.stderr:
            return "refused", done.stderr.strip()
        if done.returncode:
            return "FAIL", f"exit {done.returncode}: {done.stderr.strip()[-500:]}\n  {' '.join(command)}"
    return "pass", ""


def check(args, seed: int, folder: Path) -> tuple[str, str]:
    """("pass" | "unsupported" | "unjudged" | "FAIL", details) of one seed."""
    if args.mutate:
        return check_mutant(args, seed, folder)
    case = (generate_special if args.special else generate)(seed)
    if not case.outputs:
        return "empty", ""
    onnx.save(case.model, folder / "model.onnx")
    for index, (name, (_, array)) in enumerate(case.inputs.items()):
        (folder / f"input_{index}.pb").write_bytes(numpy_helper.from_array(array, name).SerializeToString())
    try:
        expected = expected_outputs(case)
    except Unjudged as error:
        return "unjudged", str(error)
    for command in _commands(args, seed, folder, case.dims):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return "FAIL", f"no answer in {TIMEOUT_S} s: {' '.join(command)}"
        if done.returncode == EXIT_UNSUPPORTED:
            return "unsupported", done.stderr.strip()
        if done.returncode:
            return "FAIL", f"exit {done.returncode}: {done.stderr.strip()}\n  {' '.join(command)}"
    problems = []
    with np.load(folder / "outputs.npz") as outputs:
        for value, wanted in zip(case.outputs, expected):
            if text := difference(value, outputs[value.name], np.asarray(wanted)):
                problems.append(f"output {value.name} ({value.dtype}{list(value.shape)}): {text}")
    return ("FAIL", "\n  ".join(problems)) if problems else ("pass", "")


def _work(args, seed: int) -> tuple[int, str, str]:
    folder = Path(tempfile.mkdtemp(prefix=f"gaudi-fuzz-{seed}-"))
    verdict, details = check(args, seed, folder)
    if verdict == "FAIL" or args.keep_all:
        target = args.keep / f"{'special-' if args.special else 'mutant-' if args.mutate else ''}{seed}"
        shutil.rmtree(target, ignore_errors=True)
        args.keep.mkdir(parents=True, exist_ok=True)
        shutil.move(folder, target)
        details = f"{details}\n  model: {target}/model.onnx (inputs beside it)\n  again: {_again(args, seed)}"
    else:
        shutil.rmtree(folder)
    return seed, verdict, details


def _again(args, seed: int) -> str:
    mode = " --special" if args.special else " --mutate" if args.mutate else ""
    return f"{sys.executable} {__file__} --seed {seed} --count 1 --keep-all{mode}"


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare random graphs with onnxruntime.")
    parser.add_argument("--seed", type=int, default=1, help="first seed")
    parser.add_argument("--count", type=int, default=10**9, help="number of seeds")
    parser.add_argument("--seconds", type=float, default=3600, help="start no graph after this time")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--mutate", action="store_true", help="damaged models; nothing is compared")
    parser.add_argument("--special", action="store_true", help="single operators on special values")
    parser.add_argument(
        "--keep", type=Path, default=Path(tempfile.gettempdir()) / "gaudi-fuzz", help="where failing models go"
    )
    parser.add_argument("--keep-all", action="store_true", help="keep models that pass too")
    parser.add_argument("--verbose", action="store_true", help="print what was not compared, and why")
    parser.add_argument("--gaudi-opt", type=Path, default=default_binary("gaudi-opt"))
    parser.add_argument("--gaudi-run", type=Path, default=default_binary("gaudi-run"))
    return parser.parse_args()


def main() -> int:
    args = _parse()
    for binary in (args.gaudi_opt, args.gaudi_run):
        if not binary.exists():
            print(f"error: {binary}: no such program", file=sys.stderr)
            print("hint: tools/dev/build release, or --gaudi-opt and --gaudi-run", file=sys.stderr)
            return 2
    start, counts = time.monotonic(), Counter()
    seeds = iter(range(args.seed, args.seed + args.count))
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        running = set()
        while True:
            while len(running) < 2 * args.jobs and time.monotonic() - start < args.seconds:
                seed = next(seeds, None)
                if seed is None:
                    break
                running.add(pool.submit(_work, args, seed))
            if not running:
                break
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                seed, verdict, details = future.result()
                counts[verdict] += 1
                if verdict == "FAIL" or args.verbose and verdict in ("unsupported", "unjudged"):
                    print(f"{verdict} seed {seed}: {details}", flush=True)
    text = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    print(f"{sum(counts.values())} graphs in {time.monotonic() - start:.0f} s: {text}")
    return 1 if counts["FAIL"] or not counts["pass"] else 0


if __name__ == "__main__":
    sys.exit(main())
