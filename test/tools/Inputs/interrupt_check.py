"""interrupt_check.py FOLDER MODEL.onnx FLAG...: SIGTERM and SIGINT while gaudi-opt compiles: exit 143 and 130, nothing left.

The signal comes as soon as a private folder or a temporary output shows that the work has begun.
"""
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

base, model, flags = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
problems = []


def interrupted(number: int, arguments: list[str], watched: Path, environment: dict) -> None:
    process = subprocess.Popen(["gaudi-opt", model, "-q", *flags, *arguments], env={**os.environ, **environment},
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not any(watched.iterdir()):
        time.sleep(0.001)
    process.send_signal(number)
    _, err = process.communicate()
    step = f"{signal.Signals(number).name} {' '.join(arguments)}"
    if process.returncode != 128 + number:
        problems.append(f"{step}: exit code {process.returncode} {err}")
    if left := sorted(str(p.relative_to(watched)) for p in watched.rglob("*")):
        problems.append(f"{step}: left {left}")


for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    shutil.rmtree(base, ignore_errors=True)
    temporary = base / "tmp"
    temporary.mkdir(parents=True)
    interrupted(number, ["--resolve", "--cache=off"], temporary, {"TMPDIR": str(temporary)})
print("\n".join(problems) or "nothing left")
sys.exit(bool(problems))
