//===- Importer.h - state of one import -------------------------*- C++ -*-===//
#pragma once

#include "lib/Import/Import.h"
#include "lib/Import/Node.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace gaudi::import {

/// Values of one graph, branch or function body. A branch sees the frame around it, a function body does not.
class Frame {
public:
  explicit Frame(Frame *parent = nullptr) : parent(parent) {}

  bool isOmitted(llvm::StringRef name) const {
    for (const Frame *frame = this; frame; frame = frame->parent)
      if (frame->omitted.contains(name))
        return true;
    return false;
  }

  Frame *parent;
  llvm::StringMap<mlir::Value> values;                       ///< null: made by an unsupported node
  llvm::StringMap<const ::onnx::TensorProto *> initializers; ///< become ops at their first use
  llvm::StringMap<const ::onnx::AttributeProto *> bindings;  ///< of a function's attribute names
  const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto> *opsets = nullptr;
  llvm::StringSet<> omitted; ///< optional inputs of a function that its call does not give
  std::string prefix;        ///< of node names: the call's name and '/'
  int depth = 0;             ///< of function calls
};

/// After inlining: functions that call others twice grow exponentially.
inline constexpr uint64_t kMaxNodes = 1'000'000;
/// Of local functions; the reader has excluded cycles.
inline constexpr int kMaxCallDepth = 64;

class Importer {
public:
  Importer(mlir::MLIRContext &context, const OnnxModel &model, const ImportOptions &options);

  Expected<mlir::OwningOpRef<mlir::ModuleOp>> run();

  // For Node and the rules of control flow.
  /// Translates nodes in order into `frame`.
  void importNodes(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes, const void *owner, Frame &frame);
  /// Body of an `If` branch: values of its outputs (null: unsupported inside).
  llvm::SmallVector<mlir::Value> importBranch(const ::onnx::GraphProto &graph, Frame &around);
  /// The value of a name; `known` tells an unsupported producer (null, true) from an unknown name (null, false).
  mlir::Value lookup(Frame &frame, llvm::StringRef name, bool &known);
  mlir::Value literal(const ::onnx::TensorProto &tensor, llvm::StringRef name, mlir::Location loc);
  /// Value of an integer tensor of at most kDenseLimitBytes that depends on constants and static shapes only.
  std::optional<graph::HostTensor> evaluate(mlir::Value value, int depth = 0);

  void fail(StatusCode code, std::string message, std::string hint = {});
  /// Why a tensor of this type is too large ("'y' would need ..."), or "".
  std::string overLimit(llvm::StringRef name, mlir::Type type) const;
  void addUnsupported(const Node &node, const std::string &reason, bool unknownOp);
  std::string takeDiagnostic();

  mlir::MLIRContext &context;
  const OnnxModel &model;
  const ImportOptions &options;
  mlir::OpBuilder builder;
  Status error; ///< the first fatal one

private:
  struct UnsupportedNode {
    std::string node, op, message, detail;
    bool unknownOp;
  };

  void importNode(const ::onnx::NodeProto &proto, int index, Frame &frame);
  /// Counted without inlining anything; ends at kMaxNodes + 1.
  uint64_t nodesWhenInlined(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes, int depth);
  bool callFunction(Node &node, Frame &frame);
  void bindAttributes(const ::onnx::FunctionProto &function, Node &call, Frame &callee);
  bool hasPoisonedInput(const ::onnx::NodeProto &proto, Frame &frame);
  void poisonOutputs(const ::onnx::NodeProto &proto, Frame &frame);
  void addInitializers(const ::onnx::GraphProto &graph, Frame &frame);
  std::optional<mlir::Type> inputType(const ::onnx::ValueInfoProto &info, mlir::ArrayAttr &symbols);
  bool addArguments(mlir::func::FuncOp main, Frame &frame);
  void addResults(mlir::func::FuncOp main, Frame &frame);
  Status unsupportedStatus() const;
  mlir::Location locationOf(const ::onnx::NodeProto &proto, int index, const Frame &frame);

  Frame top;
  std::vector<UnsupportedNode> unsupportedNodes;
  std::string diagnostic;
  llvm::StringMap<const ::onnx::FunctionProto *> functions;
  llvm::DenseMap<mlir::Value, std::optional<graph::HostTensor>> evaluated;
  llvm::DenseMap<const ::onnx::FunctionProto *, uint64_t> inlinedNodes;
};

/// Key of a local function or operator: domain, name and overload.
std::string functionKey(llvm::StringRef domain, llvm::StringRef name, llvm::StringRef overload);

/// Checks `options` against the model's inputs: unknown names and dims (runtime.md 6.3 row 33).
Status checkOptions(const ::onnx::GraphProto &graph, const ImportOptions &options);

} // namespace gaudi::import
