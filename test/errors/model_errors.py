"""model_errors.py FOLDER: feeds broken models to gaudi-opt and checks how it refuses them (refusal.py).

Every case is one row of CASES: the row of knowledge/runtime.md 6.3 that it covers, what to write, and what must come back.
"""
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import numpy as np
from onnx import GraphProto, ModelProto, TensorProto, TypeProto, helper, numpy_helper
from refusal import INVALID, LIMIT, OK, UNSUPPORTED, USAGE, problems_of, report

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


def model(nodes=(), inputs=(("x", F32, [2, 3]),), outputs=(("y", F32, None),), initializers=(), opset=17, **more) -> ModelProto:
    graph = helper.make_graph(
        list(nodes), "g", [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs], list(initializers))
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.x", 1)]
    return helper.make_model(graph, opset_imports=imports, **more)


def node(op, inputs, outputs=("y",), name="", **attributes):
    return helper.make_node(op, list(inputs), list(outputs), name=name, **attributes)


def weight(dims=(4, 4), raw: bytes | None = None, dtype=F32) -> TensorProto:
    return TensorProto(name="w", dims=list(dims), data_type=dtype, raw_data=raw if raw is not None else b"")


def with_weight(tensor: TensorProto) -> bytes:
    return model([node("Identity", ["w"])], initializers=[tensor]).SerializeToString()


def relu() -> bytes:
    return model([node("Relu", ["x"])]).SerializeToString()


def ints(name: str, *values: int) -> TensorProto:
    return numpy_helper.from_array(np.array(values, dtype=np.int64), name)


def external(**entries) -> bytes:
    tensor = weight()
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=str(value))
    return with_weight(tensor)


def nested_if(depth: int) -> bytes:
    graph = GraphProto(name="inner", output=[helper.make_tensor_value_info("y", F32, None)])
    graph.node.append(node("Identity", ["x"]))
    for _ in range(depth):
        outer = GraphProto(name="g", output=[helper.make_tensor_value_info("y", F32, None)])
        choice = outer.node.add(op_type="If", input=["c"], output=["y"])
        choice.attribute.add(name="then_branch", type=5).g.CopyFrom(graph)
        graph = outer
    result = model(inputs=[("x", F32, [1]), ("c", TensorProto.BOOL, [])])
    result.graph.node.extend(graph.node)
    return result.SerializeToString()


def recursive_function() -> bytes:
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.x", 1)]
    f, g = (helper.make_function("com.x", name, ["a"], ["b"], [node(callee, ["a"], ["b"], domain="com.x")], imports)
            for name, callee in (("f", "g"), ("g", "f")))
    return model([node("f", ["x"], domain="com.x")], functions=[f, g]).SerializeToString()


def bomb() -> bytes:
    """Functions that each call the next one twice: 2^40 nodes when inlined."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.x", 1)]
    functions = []
    for i in range(40):
        op, domain = (f"f{i + 1}", "com.x") if i < 39 else ("Relu", "")
        body = [node(op, ["a"], ["t"], domain=domain), node(op, ["t"], ["b"], domain=domain)]
        functions.append(helper.make_function("com.x", f"f{i}", ["a"], ["b"], body, imports))
    return model([node("f0", ["x"], domain="com.x")], functions=functions).SerializeToString()


def no_opset() -> bytes:
    result = model([node("Relu", ["x"])])
    del result.opset_import[:]
    return result.SerializeToString()


def loop(trips: int) -> bytes:
    body = helper.make_graph(
        [node("Identity", ["c"], ["d"]), node("Relu", ["v"], ["r"])], "body",
        [helper.make_tensor_value_info(*i) for i in (("i", I64, []), ("c", TensorProto.BOOL, []), ("v", F32, [2, 3]))],
        [helper.make_tensor_value_info(*o) for o in (("d", TensorProto.BOOL, []), ("r", F32, [2, 3]))])
    trip = TensorProto(name="n", data_type=I64, int64_data=[trips])
    return model([node("Loop", ["n", "", "x"], name="l", body=body)], initializers=[trip]).SerializeToString()


def with_typed_input(change: Callable) -> bytes:
    result = model([node("Identity", ["x"])])
    change(result.graph.input[0].type)
    return result.SerializeToString()


def set_sequence(type_proto) -> None:
    type_proto.sequence_type.elem_type.tensor_type.elem_type = F32


SPARSE = TypeProto.SparseTensor(elem_type=F32)


def sparse_weight() -> bytes:
    result = model([node("Identity", ["w"])])
    sparse = result.graph.sparse_initializer.add(dims=[4])
    sparse.values.CopyFrom(TensorProto(name="w", dims=[1], data_type=F32, raw_data=bytes(4)))
    sparse.indices.CopyFrom(TensorProto(name="i", dims=[1], data_type=I64, raw_data=bytes(8)))
    return result.SerializeToString()


def make_links(folder: Path) -> None:
    outside = folder.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "w.bin").write_bytes(bytes(64))
    (folder / "soft.bin").symlink_to(outside / "w.bin")
    (folder / "dir").symlink_to(outside)
    os.link(outside / "w.bin", folder / "hard.bin")


def make_fifo(folder: Path) -> None:
    os.mkfifo(folder / "fifo")


def make_short(folder: Path) -> None:
    (folder / "w.bin").write_bytes(bytes(32))


def make_good(folder: Path) -> None:
    (folder / "w.bin").write_bytes(bytes(64))


def make_huge(folder: Path) -> None:
    with open(folder / "m.onnx", "r+b") as file:
        file.truncate(2**31 + 16)  # sparse


@dataclass
class Case:
    row: str
    data: bytes
    expected: str  # regular expression for the first line, after "error: m.onnx: "; all of it for warnings
    code: int
    setup: Callable[[Path], None] | None = None
    flags: list[str] = field(default_factory=list)


TWO_NODES = [node("Foo", ["x"], ["a"], "n3", domain="com.x"), node("Bar", ["x"], ["y"], "n4")]
LINK = r"'w': external file '{}' is a link; use --allow-external-root"
CASES = [
    Case("1 empty", b"", r"not an ONNX model: file is empty", INVALID),
    Case("2 jpeg", b"\xff\xd8\xff\xe0" + bytes(100), r"not an ONNX protobuf \(starts with FF D8 FF\)", INVALID),
    Case("2 text", b"version https://git-lfs.github.com/spec/v1\n", r"not an ONNX protobuf \(starts with 76 65 72\)", INVALID),
    Case("3 truncated", with_weight(weight((50, 50), bytes(10000)))[:6000], r"truncated at byte 6000 of \d+", INVALID),
    Case("4 > 2 GiB", relu(), r"larger than protobuf's 2 GiB limit; re-export with external data", INVALID, make_huge),
    Case("5 opset 99", model([node("Relu", ["x"])], opset=99).SerializeToString(), r"ai\.onnx opset 99 unsupported \(7-25\)", UNSUPPORTED),
    Case("6 no opset", no_opset(), r"model declares no opset", INVALID),
    Case("7 unknown ops", model(TWO_NODES).SerializeToString(), r"node 'n3': op com\.x::Foo not supported; 1 other unsupported ops: Bar", UNSUPPORTED),
    Case("8 cycle", model([node("Relu", ["y"], ["x1"], "a"), node("Relu", ["x1"], ["y"], "b")]).SerializeToString(), r"graph is cyclic: a -> b -> a", INVALID),
    Case("9 undefined", model([node("Add", ["x", "q"], name="add")]).SerializeToString(), r"node 'add': input 'q' is not defined", INVALID),
    Case("10 twice", model([node("Relu", ["x"]), node("Tanh", ["x"])]).SerializeToString(), r"value 'y' defined twice \(nodes 0, 1\)", INVALID),
    Case("11 recursion", recursive_function(), r"function cycle: f -> g -> f", INVALID),
    Case("11 expansion", bomb(), r".*more than \d+ nodes after inlining", LIMIT),
    Case("12 nesting", nested_if(32), r"subgraphs nested deeper than 31 \(protobuf recursion limit\)", INVALID),
    Case("13 overflow", with_weight(weight((2**40, 2**40), b"abcd")), r"'w': element count overflows", INVALID),
    Case("14 negative", with_weight(weight((-5,), b"abcd")), r"'w': negative dimension -5", INVALID),
    Case("15 short", with_weight(weight((4, 4), bytes(12))), r"'w': has 12 bytes, shape \[4,4\] f32 needs 64", INVALID),
    Case("16 two fields", with_weight(TensorProto(name="w", dims=[1], data_type=F32, raw_data=bytes(4), float_data=[1])), r"'w': two data fields", INVALID),
    Case("17 ../..", external(location="../../etc/passwd"), r"'w': external path leaves the model folder", INVALID),
    Case("18 a/../..", external(location="a/../../x"), r"'w': external path leaves the model folder", INVALID),
    Case("18 absolute", external(location="/etc/passwd"), r"'w': external path leaves the model folder", INVALID),
    Case("19 symlink", external(location="soft.bin"), LINK.format("soft.bin"), INVALID, make_links),
    Case("19 parent", external(location="dir/w.bin"), LINK.format("dir/w.bin"), INVALID, make_links),
    Case("19 hard link", external(location="hard.bin"), LINK.format("hard.bin"), INVALID, make_links),
    Case("20 past the end", external(location="w.bin", offset=0, length=64), r"'w': external file 'w.bin': needs bytes 0-64, file has 32", INVALID, make_short),
    Case("21 length 10^18", external(location="w.bin", length=10**18), r"'w': bad external length", INVALID, make_good),
    Case("21 offset -1", external(location="w.bin", offset=-1), r"'w': bad external length", INVALID, make_good),
    Case("21 abc", external(location="w.bin", length="abc"), r"'w': bad external length", INVALID, make_good),
    Case("22 missing", external(location="w.bin"), r"'w': weights file 'w.bin' not found in .*", INVALID),
    Case("23 unknown key", external(location="w.bin", __class__="x"), r"warning: 'w': unknown external data key '__class__' ignored", OK, make_good,
         flags=["--emit=import"]),
    Case("24 fifo", external(location="fifo"), r"'w': external file 'fifo': not a regular file", INVALID, make_fifo),
    Case("24 folder", external(location="."), r"'w': external file '\.': not a regular file", INVALID),
    Case("25 reshape", model([node("Reshape", ["x", "s"], name="r")], [("x", F32, [3, 4])], initializers=[ints("s", 5, 3)]).SerializeToString(),
         r"node 'r' \(Reshape, opset 17\): .*cannot reshape", INVALID),
    Case("26 group 0", model([node("Conv", ["x", "x"], name="c", group=0)], [("x", F32, [1, 1, 3, 3])]).SerializeToString(), r"node 'c' \(Conv, opset 17\): group must be at least 1", INVALID),
    Case("26 stride 0", model([node("Conv", ["x", "x"], name="c", strides=[0, 1])], [("x", F32, [1, 1, 3, 3])]).SerializeToString(), r"node 'c' \(Conv, opset 17\): strides must be at least 1", INVALID),
    Case("26 kernel 0", model([node("Conv", ["x", "x"], name="c", kernel_shape=[0, 1])], [("x", F32, [1, 1, 3, 3])]).SerializeToString(), r"node 'c' \(Conv, opset 17\): kernel_shape must be at least 1", INVALID),
    Case("27 constant index", model([node("Gather", ["t", "i"], name="g")], [("t", F32, [30522, 2])], initializers=[ints("i", 30522)]).SerializeToString(),
         r"node 'g' \(Gather, opset 17\): index 30522 is outside \[-30522, 30522\)", INVALID),
    Case("27 all constant", model([node("Gather", ["t", "i"], name="g")], [], initializers=[ints("t", 1, 2), ints("i", 2)],
                                  outputs=[("y", I64, None)]).SerializeToString(),
         r"node 'g' \(Gather, opset 17\): index 2 is outside \[-2, 2\)", INVALID),
    Case("28 endless loop", loop(2**63 - 1), r"node 'l' \(Loop, opset 17\): trip count not bounded; unsupported", UNSUPPORTED),
    Case("29 petabyte", model([node("Expand", ["x", "s"], name="e")], [("x", F32, [1])], initializers=[ints("s", 2**48)]).SerializeToString(),
         r"node 'e' \(Expand, opset 17\): 'y' would need 1\.0 PiB; limit", LIMIT),
    Case("29 fill", model([node("ConstantOfShape", ["s"], name="e")], [], initializers=[ints("s", 2**48)]).SerializeToString(),
         r"node 'e' \(ConstantOfShape, opset 17\): 'y' would need 1\.0 PiB; limit", LIMIT),
    Case("30 types", model([node("Add", ["x", "i"], name="a")], [("x", F32, [2]), ("i", I64, [2])]).SerializeToString(), r"node 'a' \(Add, opset 17\): operand types differ \(f32, i64\)", INVALID),
    Case("31 string", with_typed_input(lambda t: setattr(t.tensor_type, "elem_type", TensorProto.STRING)), r"input 'x': type tensor\(string\) unsupported", UNSUPPORTED),
    Case("31 complex", with_typed_input(lambda t: setattr(t.tensor_type, "elem_type", TensorProto.COMPLEX64)), r"input 'x': type tensor\(complex64\) unsupported", UNSUPPORTED),
    Case("31 sequence", with_typed_input(set_sequence), r"input 'x': type sequence unsupported", UNSUPPORTED),
    Case("31 string weight", with_weight(TensorProto(name="w", dims=[1], data_type=TensorProto.STRING, string_data=[b"s"])), r"'w': type tensor\(string\) unsupported", UNSUPPORTED),
    Case("31 sparse", with_typed_input(lambda t: t.sparse_tensor_type.CopyFrom(SPARSE)), r"input 'x': type sparse_tensor unsupported", UNSUPPORTED),
    Case("31 sparse weight", sparse_weight(), r".*sparse.* unsupported", UNSUPPORTED),
    Case("32 free dims", model([node("Relu", ["x"])], [("x", F32, ["batch", 3])]).SerializeToString(), r"inputs have free dims: x\[batch,3\]", USAGE),
    Case("-- no input", model([node("Squeeze", [""], name="s")]).SerializeToString(), r"node 's' \(Squeeze, opset 17\): input 0 is missing", INVALID),
    Case("-- no input", model([node("Mod", ["", "x"], name="m")]).SerializeToString(), r"node 'm' \(Mod, opset 17\): input 0 is missing", INVALID),
    Case("-- shape by value", model([node("ConstantOfShape", ["s"], name="c")], [("s", I64, [2])]).SerializeToString(),
         r"node 'c': its shape depends on the value of an input \(found 'tensor<\?x\?xf32>', expected a static shape\)", UNSUPPORTED),
    Case("33 wrong name", model([node("Relu", ["input_ids"])], [("input_ids", F32, [2])]).SerializeToString(),
         r"no input 'input_idz'; did you mean 'input_ids'\? inputs: input_ids", USAGE, flags=["--shape", "input_idz=1x128"]),
    Case("33 wrong shape", model([node("Relu", ["x"])], [("x", F32, ["batch", 3])]).SerializeToString(),
         r"--shape x: does not fit the model \(found \[2,5\], expected \[\?,3\]\)", USAGE, flags=["--shape", "x=2x5"]),
    Case("33 wrong dim", model([node("Relu", ["x"])], [("x", F32, ["batch"])]).SerializeToString(),
         r"no dim 'bath'; did you mean 'batch'\? dims: batch", USAGE, flags=["--dim", "bath=1"]),
]


def run(case: Case, folder: Path) -> list[str]:
    """Problems of one case, none if it behaves."""
    shutil.rmtree(folder.parent, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "m.onnx").write_bytes(case.data)
    if case.setup:
        case.setup(folder)
    where = "" if case.code == OK else r"error: m\.onnx: "
    # All the way by default: whatever refuses the model, no artefact may appear.
    command = ["gaudi-opt", "m.onnx", *(case.flags or ["-o", "m.gdx"])]
    return problems_of(command, folder, where + case.expected, case.code)


def main() -> int:
    base = Path(sys.argv[1]).resolve() / "case"
    failed = report(CASES, lambda case: run(case, base / "model"))
    shutil.rmtree(base, ignore_errors=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
