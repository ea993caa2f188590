//===- Rt.td - the host program of an artefact -----------------------------===//
//
// Kernels and buffers, never operators (ADR 0002). One func.func per entry point; its body is the launch sequence.
//
//===----------------------------------------------------------------------===//
#ifndef GAUDI_RT
#define GAUDI_RT

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::gaudi::rt";
  let summary = "What the runtime executes: buffers, views, launches";
  let description = [{ The last form of a model before it becomes a .gdx: a straight launch sequence over byte buffers.
    Everything here has a direct counterpart in runtime/schema/plan.fbs. README.md says why there are no operators. }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

def Rt_Buffer : TypeDef<Rt_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "a run of bytes of known size";
  let genVerifyDecl = 1; // below 2^63: MLIR reads a negative number as a huge one
  let parameters = (ins "uint64_t":$sizeBytes);
  let assemblyFormat = "`<` $sizeBytes `>`";
}

/// Panels `[ceil(n/panel)][k][panel]` of a 2-D constant, zero-filled tail; `transposed`: the constant is [n][k].
/// C1: `panel` is positive, `k` and `n` are not negative.
def Rt_PanelsAttr : AttrDef<Rt_Dialect, "Panels"> {
  let mnemonic = "panels";
  let parameters = (ins "uint32_t":$panel, "bool":$transposed, "int64_t":$k, "int64_t":$n);
  let assemblyFormat = "`<` $panel `,` $transposed `,` $k `,` $n `>`";
  let genVerifyDecl = 1;
}

class Rt_Op<string mnemonic, list<Trait> traits = []> : Op<Rt_Dialect, mnemonic, traits>;

def Rt_KernelOp : Rt_Op<"kernel", [Symbol]> {
  let summary = "declares a code symbol with the signature of runtime/exec/KernelAbi.h";
  let description = "C1: `scratch_bytes` is not negative.";
  let hasVerifier = 1;
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$scratch_bytes);
  let assemblyFormat = "$sym_name `scratch` $scratch_bytes attr-dict";
}

// Not Pure, though it does nothing: an input that nobody reads still belongs to the signature.
def Rt_InputOp : Rt_Op<"input", []> {
  let summary = "the caller's memory for input number `index`";
  let description = [{ C1: `tensor` is a static tensor of the buffer's size. C2: the indices of a function's inputs are 0, 1, ...
    in any order. }];
  let arguments = (ins I64Attr:$index, StrAttr:$name, TypeAttr:$tensor);
  let results = (outs Rt_Buffer:$buffer);
  let hasVerifier = 1;
  let assemblyFormat = "$index $name $tensor attr-dict `:` type($buffer)";
}

def Rt_OutputOp : Rt_Op<"output", []> {
  let summary = "the caller's memory for output number `index`";
  let description = "C1, C2: as those of rt.input.";
  let arguments = (ins I64Attr:$index, StrAttr:$name, TypeAttr:$tensor);
  let results = (outs Rt_Buffer:$buffer);
  let hasVerifier = 1;
  let assemblyFormat = "$index $name $tensor attr-dict `:` type($buffer)";
}

def Rt_ConstOp : Rt_Op<"const", [Pure]> {
  let summary = "constant bytes: a weight by reference, or dense elements; packed if `panels`";
  let description = [{ C1: the value is a static tensor. C2: `panels` describes a 2-D one. C3: the buffer has the size of the value, or
    of its panels. }];
  let hasVerifier = 1;
  let arguments = (ins TypedAttrInterface:$value, OptionalAttr<Rt_PanelsAttr>:$panels);
  let results = (outs Rt_Buffer:$buffer);
  let assemblyFormat = "$value (`panels` $panels^)? attr-dict `:` type($buffer)";
}

def Rt_AllocOp : Rt_Op<"alloc", []> {
  let summary = "an intermediate in the slab, at `offset` once planned";
  let description = "C1: `offset` is not negative.";
  let hasVerifier = 1;
  let arguments = (ins StrAttr:$name, OptionalAttr<I64Attr>:$offset);
  let results = (outs Rt_Buffer:$buffer);
  let assemblyFormat = "$name (`at` $offset^)? attr-dict `:` type($buffer)";
}

def Rt_ViewOp : Rt_Op<"view", [Pure]> {
  let summary = "bytes [offset, offset + size of the result) of another buffer";
  let description = "C1: the range lies inside the source.";
  let arguments = (ins Rt_Buffer:$source, I64Attr:$offset);
  let results = (outs Rt_Buffer:$buffer);
  let hasVerifier = 1;
  let assemblyFormat = "$source `[` $offset `]` attr-dict `:` type($source) `->` type($buffer)";
}

def Rt_LaunchOp : Rt_Op<"launch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs tasks [0, grid) of a kernel on reads, then writes";
  let description = [{ `in_place[i]` are positions in `reads` whose storage write i may take over (the planner decides).
    C1: the kernel exists. C2: `in_place` has one entry per write, with positions inside `reads`. C3: `grid` is not negative,
    `chunk` is positive, `flops` and `bytes` are finite. C4: writes go to outputs and allocs, and do not overlap. C5: what is
    read has been written by an earlier launch, is an input or is constant. }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Rt_Buffer>:$reads, Variadic<Rt_Buffer>:$writes,
                       I64Attr:$grid, I64Attr:$chunk, ArrayAttr:$in_place, F64Attr:$flops, F64Attr:$bytes);
  let hasVerifier = 1;
  let assemblyFormat = [{ $kernel `grid` $grid `chunk` $chunk `(` $reads `)` `->` `(` $writes `)` `in_place` $in_place `flops` $flops
    `bytes` $bytes attr-dict `:` functional-type($reads, $writes) }];
}

#endif
