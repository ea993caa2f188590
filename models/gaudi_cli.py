"""The command line of gaudi-run as Python calls: the one place that knows its flags and its JSON."""

import json
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
EXIT_UNSUPPORTED, EXIT_DIFFER = 4, 7  # DESIGN.md section 13


def default_binary(name: str = "gaudi-run") -> Path:
    """The built program: of the release preset, else of any preset that has it; the release path if none has."""
    release = ROOT / "build" / "release" / "bin" / name
    if release.exists():
        return release
    return next(iter(sorted(ROOT.glob(f"build/*/bin/{name}"))), release)


class GaudiError(RuntimeError):
    """A failed call: its message is what the program said on stderr."""

    def __init__(self, message: str, exit_code: int):
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class GaudiRun:
    """gaudi-run with fixed flags, such as ("--cache=rw", "--threads=2")."""

    binary: Path = field(default_factory=default_binary)
    flags: tuple[str, ...] = ()

    def run(self, model: Path, dims: dict[str, int], feeds: dict, outputs: list[str], timeout_s: float = 600):
        """Compiles through the cache and executes once; returns (outputs by name, report).

        feeds: numpy arrays by input name. Raises GaudiError.
        """
        with tempfile.TemporaryDirectory() as folder:
            paths = {name: Path(folder) / f"output{i}.npy" for i, name in enumerate(outputs)}
            flags = [f"--output={name}=@{path}" for name, path in paths.items()]
            report = self._call("run", model, dims, feeds, flags, Path(folder), timeout_s)
            return {name: np.load(path) for name, path in paths.items()}, report

    def bench(self, model: Path, dims: dict[str, int], feeds: dict, warmup: int, iterations: int) -> dict:
        """Steady-state latencies; returns the report, {"latency_ms": {"p50": ..., "samples": [...]}, ...}."""
        flags = [f"--warmup={warmup}", f"--iterations={iterations}"]
        with tempfile.TemporaryDirectory() as folder:
            return self._call("bench", model, dims, feeds, flags, Path(folder), 3600)

    def compare(self, left: Path, right: Path, dims: dict[str, int], feeds: dict, devices: tuple[str, str]) -> dict:
        """Layer by layer on two devices; the report also of sides that differ:
        {"equal": bool, "first_over_tolerance": name, "tensors": [{"name": "tap:...", "ok": bool, ...}]}."""
        flags = [str(right), *(f"--device={device}" for device in devices)]
        with tempfile.TemporaryDirectory() as folder:
            return self._call("compare", left, dims, feeds, flags, Path(folder), 600, accept=(0, EXIT_DIFFER))

    def _call(self, verb, model, dims, feeds, flags, folder: Path, timeout_s: float, accept=(0,)) -> dict:
        command = [str(self.binary), verb, str(model), *self.flags]
        command += [f"--dim={name}={extent}" for name, extent in dims.items()]
        for index, (name, value) in enumerate(feeds.items()):
            path = folder / f"input{index}.npy"
            np.save(path, value)
            command.append(f"--input={name}=@{path}")
        report = folder / "report.json"
        command += [*flags, f"--json={report}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise GaudiError(f"no answer in {timeout_s} s: {' '.join(command)}", 124) from None
        if done.returncode not in accept:
            raise GaudiError(done.stderr.strip() or f"exit code {done.returncode}", done.returncode)
        return json.loads(report.read_text())
