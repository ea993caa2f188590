"""resolve_check.py FOLDER: what `gaudi-opt --resolve` answers and leaves behind, in every state of the cache.

After each step: $TMPDIR holds nothing once the receiver has deleted what is temporary, no cache entry is missing, and
gaudi-run, which is the receiver in practice, gives the same result.
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

base = Path(sys.argv[1]).resolve()
shutil.rmtree(base, ignore_errors=True)
cache, temporary, model = base / "cache", base / "tmp", base / "w.onnx"
for folder in (cache, temporary):
    folder.mkdir(parents=True, mode=0o700)
os.environ.update(GAUDI_CACHE_DIR=str(cache), TMPDIR=str(temporary))
subprocess.run([sys.executable, str(Path(__file__).parent / "weights.py"), str(model)], check=True)
problems = []


def check(step: str, holds: bool, what) -> None:
    if not holds:
        problems.append(f"{step}: {what}")


def left() -> list[str]:
    return sorted(str(p.relative_to(temporary)) for p in temporary.rglob("*"))


def entries() -> set[str]:
    return {str(p.relative_to(cache)) for kind in "ew" for p in (cache / "v1" / kind).rglob("*.gd?")}


def run(command: list, limit_kib: int = 0) -> subprocess.CompletedProcess:
    text = " ".join(f"'{word}'" for word in command)
    prefix = f"ulimit -f {limit_kib}; " if limit_kib else ""
    return subprocess.run(["sh", "-c", prefix + "exec " + text], capture_output=True, text=True, check=False)


def resolve(step: str, state: str, is_temporary: bool, *flags: str) -> dict:
    """One answer, checked; its files are deleted as gaudi-run does it."""
    before = entries()
    done = run(["gaudi-opt", model, "--resolve", "-q", *flags])
    check(step, done.returncode == 0, done.stderr)
    answer = json.loads(done.stdout or "{}")
    check(step, answer.get("cache") == state and answer.get("temporary") is is_temporary, answer)
    for name in ("artifact", "weights"):
        path = Path(answer.get(name, "/none"))
        check(step, path.exists(), f"{path} is not there")
        check(step, path.is_relative_to(temporary) == is_temporary, f"{path} is in the wrong place")
        if is_temporary:
            path.unlink(missing_ok=True)
    if is_temporary:
        Path(answer["artifact"]).parent.rmdir()
    check(step, left() == [], f"left {left()}")
    check(step, before <= entries(), f"lost {before - entries()}")
    return answer


def execute(step: str, *flags: str) -> None:
    """The same through gaudi-run, which deletes the files itself."""
    before = entries()
    done = run(["gaudi-run", model, "--input", "x=ones", "--output", "y=-", "-q", *flags])
    check(step, done.returncode == 0, done.stderr)
    check(step, done.stdout == reference, "gives another result")
    check(step, left() == [], f"gaudi-run left {left()}")
    check(step, before <= entries(), f"gaudi-run lost {before - entries()}")


def block(kind: str) -> None:
    """The store cannot take entries of this kind: a file is in the folder's place."""
    shutil.rmtree(cache / "v1" / kind, ignore_errors=True)
    (cache / "v1" / kind).write_text("")


def unblock(kind: str) -> None:
    (cache / "v1" / kind).unlink()
    (cache / "v1" / kind).mkdir(mode=0o700)


off = resolve("off", "off", True, "--cache=off")
check("off", not any(cache.iterdir()), "wrote to the cache")
reference = run(["gaudi-run", model, "--input", "x=ones", "--output", "y=-", "-q", "--cache=off"]).stdout
check("off", reference.startswith("y f32[2,128]="), reference[:80])
execute("off", "--cache=off")
resolve("ro, nothing there", "off", True, "--cache=ro", f"--cache-dir={base / 'none'}")

first = resolve("first", "miss", False)
check("first", first["key"] == off["key"] and first["compile_ms"] > 0 and first["saved_ms"] == 0, first)
second = resolve("second", "hit", False)
check("second", second["artifact"] == first["artifact"] and second["compile_ms"] == 0 and second["saved_ms"] > 0, second)
resolve("the model's own shape as a flag", "hit", False, "--shape=x=2x128")
resolve("ro, there", "hit", False, "--cache=ro")
resolve("ro, another program", "miss", True, "--cache=ro", "--memory-budget=1MiB")
resolve("refresh", "miss", False, "--cache=refresh")
resolve("verify", "miss", False, "--cache=verify")
resolve("require, there", "hit", False, "--cache=require")
missing = run(["gaudi-opt", model, "--resolve", "--cache=require", "--memory-budget=1MiB"])
check("require", missing.returncode == 9 and "differs in memory-budget" in missing.stderr, missing.stderr)
execute("hit")

small = ("--cache-max-size=32KiB", f"--cache-dir={base / 'small'}")
resolve("weights larger than the cache may be", "miss", True, *small)
resolve("weights larger than the cache may be, again", "hit", True, *small)

block("w")
resolve("program from the cache, weights private", "hit", True)
execute("program from the cache, weights private")
block("e")
resolve("both private", "miss", True)
execute("both private")
unblock("w")
resolve("program private, weights to the cache", "miss", True)
resolve("program private, weights from the cache", "miss", True)
execute("program private, weights from the cache")
unblock("e")
resolve("healed", "miss", False)

# A disk that is full when the weights come: neither the cache nor $TMPDIR takes 64 KiB.
shutil.rmtree(cache / "v1" / "w")
full = run(["gaudi-opt", model, "--resolve"], limit_kib=32)
check("full disk", full.returncode == 1 and "weights.gdw: cannot write: File too large" in full.stderr, full.stderr)
check("full disk", left() == [], f"left {left()}")
check("full disk", run(["gaudi-opt", "cache", "verify"]).returncode == 0, "damaged the cache")
resolve("room again", "hit", False)

nowhere = run(["env", f"TMPDIR={base / 'none'}", "gaudi-opt", model, "--resolve", "--cache=off"])
check("no TMPDIR", nowhere.returncode == 1 and "cannot make this folder: No such file" in nowhere.stderr, nowhere.stderr)
check("no TMPDIR", not list(Path.cwd().glob("compiled.gdx*")), "wrote into the current folder")

print("\n".join(problems) or "all steps hold")
sys.exit(bool(problems))
