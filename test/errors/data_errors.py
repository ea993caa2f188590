"""data_errors.py FOLDER: feeds broken data files, artefacts and cache entries to gaudi-run (refusal.py).

Every case is one row of CASES: the row of knowledge/runtime.md 6.3 that it covers, the command, the file it is about and
how to spoil it, and what must come back. The model is y[2,3] = table[5,3][ids[2]], compiled by gaudi-opt.
"""
import io
import os
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from refusal import BAD_ARTIFACT, INVALID, OK, RUNTIME, USAGE, problems_of, report

TABLE = np.arange(15, dtype=np.float32).reshape(5, 3)
BIAS = np.array([1, 2, 3], np.float32)
IDS = ["--input", "ids=4,1"]


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npy_of(descr: str, shape: str, data: bytes, version: int = 1) -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H", len(text)) + text + data


def npz(*entries: tuple[str, bytes], method=zipfile.ZIP_STORED) -> bytearray:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, data in entries:
            file.writestr(name, data)
    return bytearray(out.getvalue())


def patched(data: bytearray, marker: bytes, offset: int, value: bytes) -> bytes:
    """`value` at `offset` in every zip record that begins with `marker`."""
    at = data.find(marker)
    while at >= 0:
        data[at + offset:at + offset + len(value)] = value
        at = data.find(marker, at + 4)
    return bytes(data)


LOCAL, CENTRAL = b"PK\x03\x04", b"PK\x01\x02"


def bomb() -> bytes:
    """A deflated entry that says it expands to 4 GiB."""
    size = struct.pack("<I", 0xFFFFFFFE)
    return patched(bytearray(patched(npz(("table.npy", bytes(1000)), method=zipfile.ZIP_DEFLATED), LOCAL, 22, size)), CENTRAL, 24, size)


def true_bomb() -> bytes:
    """One that really does: 64 MiB of zeros for 64 KiB."""
    data = zlib.compressobj(9, wbits=-15)
    packed = data.compress(npy(TABLE)[:128] + bytes(1 << 26)) + data.flush()
    head = struct.pack("<HHHHHIII", 20, 0, 8, 0, 0, 0, len(packed), (1 << 26) + 128)
    local = LOCAL + head + struct.pack("<HH", 9, 0) + b"table.npy" + packed
    central = CENTRAL + struct.pack("<H", 20) + head + struct.pack("<HHHHHII", 9, 0, 0, 0, 0, 0, 0) + b"table.npy"
    return local + central + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)


def stored_lie() -> bytes:
    return patched(npz(("table.npy", npy(TABLE))), CENTRAL, 24, struct.pack("<I", 999))


def encrypted() -> bytes:
    return patched(bytearray(patched(npz(("table.npy", npy(TABLE))), LOCAL, 6, b"\1")), CENTRAL, 8, b"\1")


def twice() -> bytes:
    data = bytearray(npz(("table.npy", npy(TABLE)), ("tabla.npy", npy(TABLE))))
    return bytes(data.replace(b"tabla.npy", b"table.npy"))


def header(offset: int, form: str, value: int) -> Callable[[bytearray], None]:
    return lambda data: struct.pack_into(form, data, offset, value)


def flip(place: str) -> Callable[[bytearray], None]:
    """One bit in the middle of: code, rodata, weights (segments 0, 1, 2 of the file) or metadata."""
    def change(data: bytearray) -> None:
        metadata, size, table = struct.unpack_from("<QQQ", data, 16)
        if place != "metadata":
            kind = ["code", "rodata", "weights"].index(place) + 1
            rows = [struct.unpack_from("<IIQQ", data, table + 56 * i) for i in range(struct.unpack_from("<I", data, 12)[0])]
            metadata, size = next((offset, stored) for k, _, offset, stored in rows if k == kind)
        data[metadata + size // 2] ^= 1
    return change


def truncate(data: bytearray) -> None:
    del data[len(data) // 2:]


@dataclass
class Case:
    row: str
    expected: str  # regular expression for the first line
    code: int
    file: str = ""  # what to spoil or write
    spoil: bytes | Callable[[bytearray], None] | None = None
    command: list[str] = field(default_factory=lambda: ["gaudi-run", "m.gdx", "--input", "table=@t.npy", *IDS, "-q"])
    writes: bool = False  # a cache may be mended


def from_npz(data: bytes) -> dict:
    return {"file": "t.npz", "spoil": data, "command": ["gaudi-run", "m.gdx", "--input", "table=@t.npz", *IDS, "-q"]}


def made(variant: str) -> dict:
    """The artefact of test/runtime/TestArtifact.h with something in it that no compiler writes."""
    return {"command": ["sh", "-c", f"make_artifact ../made.gdx {variant} && exec gaudi-run ../made.gdx --input '*=zeros' -q"]}


EXPECT = ["--expect", "y=@y.npy"]
RUN_IDS = ["gaudi-run", "m.gdx", "--input", "table=@t.npy", "-q", "--input"]
ENTRY = ["sh", "-c", "exec gaudi-run e/cache/v1/e/*/*.gdx --weights e/cache/v1/w/*/*.gdw --input table=@t.npy --input ids=4,1 -q"]
THROUGH_CACHE = ["gaudi-run", "m.onnx", "--cache-dir=e/cache", "--input", "table=@t.npy", *IDS, "-q"]
INSPECT = ["gaudi-run", "inspect", "m.gdx"]
CASES = [
    Case("sound", r"$", OK, command=["gaudi-run", "m.gdx", "--input", "table=@t.npy", *IDS, "-q", *EXPECT]),
    Case("27 index at run time", r"error: node 'lookup': index out of range", RUNTIME, command=RUN_IDS + ["ids=4,5"]),
    Case("27 negative index", r"error: node 'lookup': index out of range", RUNTIME, command=RUN_IDS + ["ids=-6,0"]),
    Case("27 huge index", r"error: node 'lookup': index out of range", RUNTIME, command=RUN_IDS + [f"ids=0,{2**63 - 1}"]),

    Case("34 header length", r"error: t\.npy: truncated in the npy header \(found \d+ bytes, expected at least 65545\)", INVALID, "t.npy", header(8, "<H", 65535)),
    Case("34 version 9", r"error: t\.npy: npy version 9 unsupported \(found 9\.0, expected 1\.0 to 3\.0\)", INVALID, "t.npy", header(6, "B", 9)),
    Case("34 objects", r"error: t\.npy: object arrays refused", INVALID, "t.npy", npy_of("'|O'", "(5, 3)", b"x")),
    Case("34 too large", r"error: t\.npy: element count overflows", INVALID, "t.npy", npy_of("'<f4'", "(1099511627776, 1099511627776)", b"")),
    Case("34 truncated", r"error: t\.npy: truncated \(found \d+ bytes of data, expected 60 for f32\[5,3\]\)", INVALID, "t.npy", lambda d: d.__delitem__(slice(-1, None))),
    Case("34 no npy", r"error: t\.npy: not an npy file", INVALID, "t.npy", b"\xff\xd8\xff\xe0 a JPEG, say"),
    Case("34 Fortran order", r"$", OK, "t.npy", npy(np.asfortranarray(TABLE)), ["gaudi-run", "m.gdx", "--input", "table=@t.npy", *IDS, "-q", *EXPECT]),
    Case("34 big endian", r"$", OK, "t.npy", npy(TABLE.astype(">f4")), ["gaudi-run", "m.gdx", "--input", "table=@t.npy", *IDS, "-q", *EXPECT]),

    Case("35 sound", r"$", OK, **from_npz(bytes(npz(("table.npy", npy(TABLE)))))),
    Case("35 bomb", r"error: t\.npz: npz: entry 'table\.npy' expands \d+ bytes to 3\.9 GiB; limit", INVALID, **from_npz(bomb())),
    Case("35 true bomb", r"error: t\.npz: npz: entry 'table\.npy' ", INVALID, **from_npz(true_bomb())),
    Case("35 ../", r"error: t\.npz: npz: entry '\.\./table\.npy' has an unsafe name", INVALID, **from_npz(bytes(npz(("../table.npy", npy(TABLE)))))),
    Case("35 twice", r"error: t\.npz: npz: entry 'table\.npy' occurs twice", INVALID, **from_npz(twice())),
    Case("35 stored-size lie", r"error: t\.npz: npz: entry 'table\.npy' is stored but has two sizes \(found \d+ and 999\)", INVALID, **from_npz(stored_lie())),
    Case("35 encrypted", r"error: t\.npz: npz: entry 'table\.npy' is encrypted", INVALID, **from_npz(encrypted())),
    Case("35 truncated", r"error: t\.npz: npz: no zip directory at the end", INVALID, **from_npz(bytes(npz(("table.npy", npy(TABLE)))[:-30]))),

    Case("36 type", r"error: input 'table': got f64\[5,3\], need f32\[5,3\]", USAGE, "t.npy", npy(TABLE.astype(np.float64))),
    Case("36 shape", r"error: input 'table': got f32\[3,5\], need f32\[5,3\]", USAGE, "t.npy", npy(TABLE.reshape(3, 5))),
    Case("36 name", r"error: no input 'tabel'; did you mean 'table'\?", USAGE, command=["gaudi-run", "m.gdx", "--input", "tabel=@t.npy", *IDS, "-q"]),

    Case("37 metadata", r"error: m\.gdx: digest mismatch in .*metadata", BAD_ARTIFACT, "m.gdx", flip("metadata")),
    Case("37 code", r"error: m\.gdx: digest mismatch in segment 0 \(code\)", BAD_ARTIFACT, "m.gdx", flip("code")),
    Case("37 rodata", r"error: m\.gdx: digest mismatch in segment \d \(rodata\)", BAD_ARTIFACT, "m.gdx", flip("rodata")),
    Case("37 weights", r"error: m\.gdx: digest mismatch in segment \d \(weights\)", BAD_ARTIFACT, "m.gdx", flip("weights"), [*INSPECT, "--verify=full"]),
    Case("37 inspect", r"error: m\.gdx: digest mismatch in segment 0 \(code\)", BAD_ARTIFACT, "m.gdx", flip("code"), INSPECT),
    Case("37 cache entry as a model", r"error: e/cache/v1/e/.*\.gdx: digest mismatch in segment 0 \(code\)", BAD_ARTIFACT, "e/cache/v1/e/*/*.gdx", flip("code"), ENTRY),
    Case("37 cache entry in use", r"warning: cache: program entry \w+ cannot be used: digest mismatch", OK, "e/cache/v1/e/*/*.gdx", flip("code"), THROUGH_CACHE, writes=True),
    Case("37 cache entry truncated", r"warning: cache: program entry \w+ cannot be used: ", OK, "e/cache/v1/e/*/*.gdx", truncate, THROUGH_CACHE, writes=True),

    Case("38 truncated", r"error: m\.gdx: truncated at byte \d+ of \d+", BAD_ARTIFACT, "m.gdx", truncate),
    Case("38 metadata past the end", r"error: m\.gdx: segment table invalid", BAD_ARTIFACT, "m.gdx", header(16, "<Q", 1 << 40)),
    Case("38 offset 2^64 - 1", r"error: m\.gdx: segment table invalid", BAD_ARTIFACT, "m.gdx", header(16, "<Q", 2**64 - 1)),
    Case("38 table 2^64 - 1", r"error: m\.gdx: segment table invalid", BAD_ARTIFACT, "m.gdx", header(32, "<Q", 2**64 - 1)),
    Case("38 segments", r"error: m\.gdx: segment table invalid.*1000001 segments|error: m\.gdx: 1000001 segments", BAD_ARTIFACT, "m.gdx", header(12, "<I", 1000001)),
    Case("38 overlap", r"error: \.\./made\.gdx: segment table invalid: bytes at 4096 are used twice", BAD_ARTIFACT, **made("overlap")),
    Case("38 10^6 + 1 tables", r"error: \.\./made\.gdx: program invalid: metadata is not a program", BAD_ARTIFACT, **made("tables")),

    Case("39 features", r"error: \.\./made\.gdx: needs avx10\.9; this CPU has .*", BAD_ARTIFACT, **made("needs=avx10.9")),
    Case("39 device", r"error: \.\./made\.gdx: no device 'gaudi3'", BAD_ARTIFACT, **made("device=gaudi3")),
    Case("40 major 2", r"error: m\.gdx: format 2\.0, this runtime reads 1\.x", BAD_ARTIFACT, "m.gdx", header(4, "B", 2)),
    Case("40 other magic", r"error: m\.gdx: format 1\.0, this runtime reads 1\.x", BAD_ARTIFACT, "m.gdx", header(3, "B", 2)),
]


def make_model(folder: Path) -> None:
    """m.onnx, m.gdx, t.npy, y.npy, and a cache in e/ that holds the program."""
    # One weight above 4 KiB, which becomes the weights segment, and one below, which becomes rodata.
    weights = [numpy_helper.from_array(np.zeros((600, 2, 3), np.float32), "w"), numpy_helper.from_array(BIAS, "b")]
    nodes = [helper.make_node("Gather", ["table", "ids"], ["rows"], name="lookup"),
             helper.make_node("Add", ["rows", "w"], ["sum"], name="add"), helper.make_node("Add", ["sum", "b"], ["all"], name="bias"),
             helper.make_node("ReduceMax", ["all"], ["y"], name="max", axes=[0], keepdims=0)]
    inputs = [helper.make_tensor_value_info("table", TensorProto.FLOAT, [5, 3]), helper.make_tensor_value_info("ids", TensorProto.INT64, [2])]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    np.save(folder / "t.npy", TABLE)
    np.save(folder / "y.npy", TABLE[[4, 1]] + BIAS)
    os.mkdir(folder / "e", mode=0o700)
    for flags in (["-o", "m.gdx"], ["--resolve", "--cache-dir=e/cache"]):
        subprocess.run(["gaudi-opt", "m.onnx", "-q", *flags], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def run(case: Case, sound: Path, folder: Path) -> list[str]:
    shutil.rmtree(folder.parent, ignore_errors=True)
    shutil.copytree(sound, folder)
    if isinstance(case.spoil, bytes):
        (folder / case.file).write_bytes(case.spoil)
    elif case.spoil:
        path = next(folder.glob(case.file))
        data = bytearray(path.read_bytes())
        case.spoil(data)
        path.write_bytes(data)
    problems = problems_of(case.command, folder, case.expected, case.code)
    return [p for p in problems if not (case.writes and p.startswith("changed"))]


def main() -> int:
    base = Path(sys.argv[1]).resolve() / "data"
    shutil.rmtree(base, ignore_errors=True)
    sound = base / "sound"
    sound.mkdir(parents=True)
    make_model(sound)
    failed = report(CASES, lambda case: run(case, sound, base / "case" / "model"))
    shutil.rmtree(base, ignore_errors=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
