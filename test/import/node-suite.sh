#!/usr/bin/env bash
# node-suite.sh BINARY LIST...: runs a node suite (import or CPU) on the tests that the pinned onnx wheel ships; 77 =
# skipped without it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=${GAUDI_PYTHON:-$("$root/tools/dev/pyenv" | tail -n 1)} || exit 77
data=$("$python" -c 'import onnx, os; print(os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/node"))') || exit 77
[[ -d $data ]] || { echo "no node tests in $data: skipped"; exit 77; }
exec "$1" "$data" "${@:2}"
