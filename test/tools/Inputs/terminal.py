"""terminal.py CODE COMMAND...: runs a command on a pseudo-terminal, prints what it shows, checks its exit code."""
import os
import pty
import sys


def main() -> int:
    code, command = int(sys.argv[1]), sys.argv[2:]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    shown = b""
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:  # EIO: the other side is closed
            break
        if not data:
            break
        shown += data
    _, status = os.waitpid(pid, 0)
    sys.stdout.write(shown.decode(errors="replace").replace("\r", "\n"))
    return 0 if os.waitstatus_to_exitcode(status) == code else 1


if __name__ == "__main__":
    sys.exit(main())
