"""exits.py CODE COMMAND...: runs a command and fails unless it ends with exit code CODE, by itself and without a stack trace.

Prints what the command printed, messages (stderr) after results (stdout), for FileCheck.
"""
import subprocess
import sys


def main() -> int:
    expected, command = int(sys.argv[1]), sys.argv[2:]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    text = (done.stdout + done.stderr).decode(errors="replace")
    sys.stdout.write(text)
    if done.returncode != expected:
        print(f"exit code {done.returncode}, expected {expected}: {' '.join(command)}\n{text}", file=sys.stderr)
        return 1
    if "Stack dump" in text or "LLVM ERROR" in text:
        print("shows a stack trace", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
