"""check_help.py HELP Flags.cpp: the help has at most 40 lines of 120 columns and mentions every flag of the table."""
import re
import sys

HIDDEN = {"--device"}  # gaudi-run's word for --target

with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
with open(sys.argv[2], encoding="utf-8") as file:
    flags = re.findall(r'^ +\{"(--?[a-z-]+)", (?:true|false)', file.read(), re.M)
problems = [f"does not mention {f}" for f in flags if f not in HIDDEN and not re.search(rf"(?<![\w-]){f}(?![\w-])", text)]
lines = text.splitlines()
if len(flags) < 15:
    problems.append(f"the table was not found (found {len(flags)} flags)")
if len(lines) > 40 or max(map(len, lines)) > 120:
    problems.append(f"has {len(lines)} lines of up to {max(map(len, lines))} columns")
for problem in problems:
    print(f"{sys.argv[1]}: {problem}", file=sys.stderr)
sys.exit(bool(problems))
