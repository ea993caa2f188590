"""How a tool must refuse bad input: runs one command and lists what it does wrong.

It must end by itself within a second of CPU time and 256 MiB, with the expected exit code and first line on stderr
("error: WHERE: WHAT", DESIGN 13), write no file, and neither die of a signal nor show a stack trace.
"""
import os
import re
import time
from pathlib import Path
from typing import Callable

INVALID, UNSUPPORTED, LIMIT, USAGE, RUNTIME, BAD_ARTIFACT, OK = 3, 4, 5, 2, 6, 8, 0
MAX_CPU_SECONDS = 1.0
MAX_RSS_KIB = 256 * 1024


def files_in(folder: Path) -> dict[str, bytes | None]:
    """Names, and the contents of what is small: a refused input must still be what it was."""
    def content(path: Path) -> bytes | None:
        return path.read_bytes() if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 20 else None

    return {str(p.relative_to(folder)): content(p) for p in folder.rglob("*")}


def report(cases: list, run: Callable) -> bool:
    """Prints what `run(case)` finds wrong with each; whether anything is."""
    failed = 0
    for case in cases:
        for problem in run(case):
            print(f"row {case.row}: {problem}")
            failed += 1
    print(f"{len(cases)} cases, {failed} problems")
    return failed != 0


def problems_of(command: list[str], folder: Path, expected: str, code: int) -> list[str]:
    """Runs `command` in `folder`. `expected` is a regular expression for the beginning of the first line on stderr."""
    before = files_in(folder)
    output = folder.parent / "stderr"
    start = time.monotonic()
    here = os.getcwd()
    os.chdir(folder)
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, str(output), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)])
    os.chdir(here)
    _, status, usage = os.wait4(pid, 0)
    wall, cpu = time.monotonic() - start, usage.ru_utime + usage.ru_stime
    text = output.read_text(errors="replace")
    first = text.split("\n")[0]

    problems = []
    if os.WIFSIGNALED(status):
        problems.append(f"died of signal {os.WTERMSIG(status)}")
    elif os.waitstatus_to_exitcode(status) != code:
        problems.append(f"exit code {os.waitstatus_to_exitcode(status)}, expected {code}")
    if not re.match(expected, first):
        problems.append(f"first line {first!r}, expected {expected!r}")
    if cpu > MAX_CPU_SECONDS:
        problems.append(f"took {cpu:.1f} s of CPU time ({wall:.1f} s)")
    if usage.ru_maxrss > MAX_RSS_KIB:
        problems.append(f"took {usage.ru_maxrss // 1024} MiB")
    if "Stack dump" in text or "PLEASE submit" in text or "LLVM ERROR" in text:
        problems.append("shows a stack trace")
    if (after := files_in(folder)) != before:
        problems.append(f"changed {sorted(k for k in after.keys() | before.keys() if after.get(k, 0) != before.get(k, 0))}")
    return problems
