//===- GraphBase.td - dialect, attributes and base classes of graph ------===//
#ifndef GAUDI_GRAPH_BASE
#define GAUDI_GRAPH_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/graph/Interfaces.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::gaudi::graph";
  let summary = "Opset-free tensor ops with value semantics";
  let description = [{
    What a model means, independent of the file it came from and of the machine it will run on. About 20 primitives and
    a few composites that decompose to them. Dims may be dynamic until `specialize-shapes` has run. README.md says why
    each op exists and what is deliberately absent.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

/// fp32, fp16, bf16, fp64, signless integers (i1 = bool, stored as one byte), unsigned ui8..ui64.
def Graph_Tensor : RankedTensorOf<[F32, F16, BF16, F64, I1, I8, I16, I32, I64, UI8, UI16, UI32, UI64]>;
def Graph_FloatTensor : RankedTensorOf<[F32, F16, BF16, F64]>;
def Graph_BoolTensor : RankedTensorOf<[I1]>;
def Graph_IndexTensor : RankedTensorOf<[I32, I64]>;
def Graph_ShapeTensor : 1DTensorOf<[I64]>;

class Graph_Attr<string name, string mnem, list<Trait> traits = []> : AttrDef<Graph_Dialect, name, traits> {
  let mnemonic = mnem;
}

/// ODS's StringRefParameter prints without escapes; tensor names come from files and may hold quotes.
class Graph_NameParameter<string desc> : AttrOrTypeParameter<"::llvm::StringRef", desc> {
  let allocator = [{$_dst = $_allocator.copyInto($_self);}];
  let printer = [{$_printer.printString($_self);}];
  let cppStorageType = "std::string";
}

/// A weight by reference: bytes [offset, offset+length) of the module's file number `file` (module attribute
/// `graph.files`), row-major little-endian, of the attribute's type. Keeps gigabytes out of the IR.
def Graph_WeightAttr : Graph_Attr<"Weight", "weight", [TypedAttrInterface]> {
  let parameters = (ins AttributeSelfTypeParameter<"">:$type, Graph_NameParameter<"tensor name in the model">:$name,
                        "uint32_t":$file, "uint64_t":$offset, "uint64_t":$length);
  let assemblyFormat = "`<` $name `,` $file `,` $offset `,` $length `>`";
  let genVerifyDecl = 1; // length = bytes of the type
}

class Graph_Enum<string name, list<I32EnumAttrCase> cases> : I32EnumAttr<name, "", cases> {
  let cppNamespace = "::gaudi::graph";
  let genSpecializedAttr = 0;
}
/// Prints its own leading space: op formats write "`` $kind".
class Graph_EnumAttr<EnumInfo e, string mnem> : EnumAttr<Graph_Dialect, e, mnem>;

/// Base of all ops: pure, inferable, evaluable. `methods`: the interface methods the op implements itself.
class Graph_Op<string mnemonic, list<Trait> traits = [], list<string> methods = ["evaluate"]> :
    Op<Graph_Dialect, mnemonic, !listconcat(traits, [Pure, DeclareOpInterfaceMethods<GraphOpInterface, methods>])>;

/// Result types follow from operands and attributes (one function infers and verifies). Dims that cannot be known yet
/// are dynamic; a declared result type may be more precise than the inferred one, never contradict it.
def Graph_InferTypes : InferTypeOpAdaptorBase<[{
  static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange declared) {
    return ::gaudi::graph::compatibleTypes(inferred, declared);
  }
}]>;

class Graph_InferredOp<string mnemonic, list<Trait> traits = [], list<string> methods = ["evaluate"]> :
    Graph_Op<mnemonic, !listconcat(traits, [Graph_InferTypes]), methods>;

#endif
