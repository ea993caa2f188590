//===- Rules.h - what an import rule sees and does --------------*- C++ -*-===//
//
// A rule translates one ONNX node to graph ops. It reads inputs and attributes from a Node, builds values (a builder
// never aborts: what does not infer becomes a null value and a diagnostic on the node), and sets outputs. Null values
// flow through builders, so a rule only checks what it reads itself.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"
#include "lib/Onnx/Model.h"

#include "mlir/IR/Builders.h"

namespace onnx {
class AttributeProto;
}

namespace gaudi::import {

using Dims = llvm::SmallVector<int64_t>;
inline constexpr int64_t kDynamic = mlir::ShapedType::kDynamic;

/// One ONNX node under translation.
class Node {
public:
  Node(mlir::OpBuilder &b, mlir::Location loc, const OnnxModel &model, const ::onnx::NodeProto &proto, int64_t opset)
      : b(b), loc(loc), model(model), proto(proto), opset(opset) {}

  //===--- inputs and outputs ---===//
  size_t inputCount() const { return inputs.size(); }
  bool has(size_t i) const { return i < inputs.size() && inputs[i]; }
  /// Null for an absent optional input; a missing required one fails the node.
  mlir::Value in(size_t i);
  mlir::Value optional(size_t i) const { return has(i) ? inputs[i] : mlir::Value(); }
  bool wantsOutput(size_t i) const;
  void out(size_t i, mlir::Value v);
  size_t outputCount() const;

  //===--- attributes ---===//
  const ::onnx::AttributeProto *attr(llvm::StringRef name) const;
  int64_t integer(llvm::StringRef name, int64_t otherwise) const;
  double number(llvm::StringRef name, double otherwise) const;
  std::string text(llvm::StringRef name, llvm::StringRef otherwise) const;
  std::optional<Dims> integers(llvm::StringRef name) const;

  //===--- failure: each records a reason and returns null/failure ---===//
  std::nullptr_t unsupported(const llvm::Twine &why);
  std::nullptr_t invalid(const llvm::Twine &why);
  bool failed() const { return !reason.empty(); }

  //===--- knowledge ---===//
  static mlir::RankedTensorType type(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()); }
  static mlir::Type element(mlir::Value v) { return type(v).getElementType(); }
  static int64_t rank(mlir::Value v) { return type(v).getRank(); }
  /// Integers of a constant input; nullopt if it is not constant (or absent).
  std::optional<Dims> constant(size_t i) const;
  /// The one number of a constant input.
  std::optional<double> constantNumber(size_t i) const;
  /// `axis` in [0, rank), or -1 after failing the node.
  int64_t axis(int64_t axis, int64_t rank);
  std::optional<Dims> axes(llvm::ArrayRef<int64_t> list, int64_t rank, bool sorted = true);

  //===--- building ---===//
  template <typename OpT, typename... Args> mlir::Value make(Args &&...args) {
    mlir::OperationState state(loc, OpT::getOperationName());
    OpT::build(b, state, mlir::RankedTensorType::get({}, b.getF32Type()), std::forward<Args>(args)...);
    return finish<OpT>(state);
  }
  mlir::Value unary(graph::UnaryKind kind, mlir::Value x) { return make<graph::UnaryOp>(kind, x); }
  mlir::Value binary(graph::BinaryKind kind, mlir::Value x, mlir::Value y) { return make<graph::BinaryOp>(kind, x, y); }
  mlir::Value add(mlir::Value x, mlir::Value y) { return binary(graph::BinaryKind::add, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return binary(graph::BinaryKind::mul, x, y); }
  mlir::Value scalar(double value, mlir::Type type);
  mlir::Value scalarLike(double value, mlir::Value x) { return x ? scalar(value, element(x)) : mlir::Value(); }
  mlir::Value ints(llvm::ArrayRef<int64_t> values);
  mlir::Value cast(mlir::Value x, mlir::Type type);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  mlir::Value unsqueeze(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  mlir::Value squeeze(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  /// ONNX Reshape semantics for 0 and -1.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value reshapeTo(mlir::Value x, mlir::Value shape);
  mlir::Value slice(mlir::Value x, int64_t axis, int64_t begin, int64_t end);
  mlir::Value dim(mlir::Value x, int64_t axis); ///< tensor<1xi64>
  mlir::Value concat(llvm::ArrayRef<mlir::Value> parts, int64_t axis);
  mlir::Value matmul(mlir::Value x, mlir::Value y, bool transX = false, bool transY = false);
  mlir::Value select(mlir::Value c, mlir::Value x, mlir::Value y) { return make<graph::SelectOp>(c, x, y); }
  /// A TensorProto as a constant: dense up to 4 KiB, else by reference.
  mlir::Value constantTensor(const ::onnx::TensorProto &tensor);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const OnnxModel &model;
  const ::onnx::NodeProto &proto;
  int64_t opset;
  llvm::SmallVector<mlir::Value> inputs;   ///< null = absent
  llvm::SmallVector<mlir::Value> outputs;
  std::string reason;                       ///< why it failed; "" = it has not
  bool isUnsupported = false;               ///< the reason is a gap of ours, not a fault of the model

private:
  template <typename OpT> mlir::Value finish(mlir::OperationState &state) {
    if (failed() || llvm::is_contained(state.operands, mlir::Value()))
      return {};
    llvm::SmallVector<mlir::Type> types;
    if (mlir::failed(OpT::inferReturnTypes(b.getContext(), loc, state.operands, state.attributes.getDictionary(b.getContext()),
                                           state.getRawProperties(), state.regions, types)))
      return nullptr; // the diagnostic handler has the reason
    state.types.assign(types.begin(), types.end());
    return b.create(state)->getResult(0);
  }
};

using Rule = void (*)(Node &);

/// A row of the rule table: valid from opset `since` on, until a later row of the same op.
struct RuleRow {
  const char *domain; ///< "" = ai.onnx
  const char *op;
  int64_t since;
  Rule rule;
};

/// The rows of each family; Rules.cpp is the one list of families.
llvm::ArrayRef<RuleRow> elementwiseRules();
llvm::ArrayRef<RuleRow> shapeRules();
llvm::ArrayRef<RuleRow> dataRules();
llvm::ArrayRef<RuleRow> reduceRules();
llvm::ArrayRef<RuleRow> matmulRules();
llvm::ArrayRef<RuleRow> normRules();
llvm::ArrayRef<RuleRow> attentionRules();
llvm::ArrayRef<RuleRow> contribRules();

/// The rule for an op at an opset, or null. `known` tells whether the op has any rule.
Rule findRule(llvm::StringRef domain, llvm::StringRef op, int64_t opset, bool &known);

/// The element type of an ONNX data type; null if we have none.
mlir::Type elementType(mlir::MLIRContext *context, int onnxType);

/// Numbers of a dense constant value, row-major; nullopt otherwise.
std::optional<Dims> constantIntegers(mlir::Value value);

} // namespace gaudi::import
