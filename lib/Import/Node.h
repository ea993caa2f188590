//===- Node.h - one ONNX node while it is translated ------------*- C++ -*-===//
//
// What an import rule sees. A rule reads inputs and attributes, builds graph ops and sets results; on trouble it calls
// `invalid` (the model is wrong) or `unsupported` (we are too weak) and returns. After a failure all builders return
// null and all accessors harmless values, so rules need no checks in between; they must only not dereference values
// themselves (use dim(), rank(), elementType()).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/graph/Graph.h"
#include "dialects/graph/Locations.h"
#include "lib/Onnx/Proto.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/Twine.h"

namespace gaudi::import {

class Importer;
class Frame;
class Node;

/// One row of the rule list: operators of `domain` from opset `since` on, until a later row of the same operator.
struct Rule {
  llvm::StringRef domain, op;
  int64_t since;
  void (*translate)(Node &);
  int kind = 0; ///< what a shared `translate` distinguishes, usually an enum of the graph dialect
  /// For docs/onnx-support.md: what `translate` refuses as unsupported; "refused: why" if it is all of it.
  llvm::StringRef note = {};
};

class Node {
public:
  Node(Importer &importer, Frame &frame, const ::onnx::NodeProto &proto, int index, int64_t opset, mlir::Location loc);

  // Description.
  const ::onnx::NodeProto &proto;
  const int64_t opset; ///< of the node's domain
  const mlir::Location loc;
  Importer &importer;
  Frame &frame;
  int kind() const { return rule ? rule->kind : 0; }
  const Rule *rule = nullptr;
  /// "node 'x' (Add, opset 13)".
  std::string describe() const;

  // Failure.
  bool failed() const { return hasFailed; }
  /// The model breaks ONNX's rules: the import stops with this message.
  void invalid(const llvm::Twine &what, const llvm::Twine &hint = "");
  /// Valid, but not translated: collected, so that one run reports all.
  void unsupported(const llvm::Twine &reason);
  /// Would exceed a limit: the import stops.
  void overLimit(const llvm::Twine &what);

  // Inputs and outputs.
  int inputCount() const { return proto.input_size(); }
  bool has(int i) const;
  /// The value of input `i`, null if it is not given. Required inputs that are missing fail.
  mlir::Value input(int i, bool required = true);
  mlir::Value optional(int i) { return input(i, false); }
  llvm::SmallVector<mlir::Value> inputs();
  /// True if somebody may read output `i`.
  bool wants(int i) const { return i < proto.output_size() && !proto.output(i).empty(); }
  void result(int i, mlir::Value value);
  void result(mlir::Value value) { result(0, value); }

  // Attributes; references to attributes of an enclosing function are followed.
  const ::onnx::AttributeProto *attribute(llvm::StringRef name);
  int64_t integer(llvm::StringRef name, int64_t otherwise);
  double real(llvm::StringRef name, double otherwise);
  std::string string(llvm::StringRef name, llvm::StringRef otherwise);
  std::optional<llvm::SmallVector<int64_t>> integers(llvm::StringRef name);

  // Types; null values have rank 0, dynamic dims and type f32.
  int64_t rank(mlir::Value value) const;
  int64_t dim(mlir::Value value, int64_t i) const;
  mlir::Type elementType(mlir::Value value) const;
  /// `axis` counted from the front; fails outside of [-rank, rank).
  int64_t normalized(int64_t axis, int64_t rank);
  llvm::SmallVector<int64_t> normalized(llvm::ArrayRef<int64_t> axes, int64_t rank);

  // Values known now: constants, and integer arithmetic on constants and static shapes.
  std::optional<llvm::SmallVector<int64_t>> knownInts(mlir::Value value);
  std::optional<double> knownScalar(mlir::Value value);
  /// knownInts of an input that must be known; fails with a reason that names `what`.
  llvm::SmallVector<int64_t> requireInts(int i, llvm::StringRef what);
  /// The `axes`-like argument that moved from attribute to input: whichever is given.
  std::optional<llvm::SmallVector<int64_t>> intsFromAttributeOrInput(llvm::StringRef name, int inputIndex);

  // Building. Result types are inferred; a failed inference is `invalid` with the dialect's message.
  template <typename OpT, typename... Args> mlir::Value make(Args &&...args) {
    if (hasFailed)
      return {};
    mlir::OperationState state(loc, OpT::getOperationName());
    OpT::build(builder(), state, placeholderType(), std::forward<Args>(args)...);
    return finish<OpT>(state);
  }
  mlir::Value unary(graph::UnaryKind kind, mlir::Value x) { return make<graph::UnaryOp>(kind, x); }
  mlir::Value binary(graph::BinaryKind kind, mlir::Value x, mlir::Value y) { return make<graph::BinaryOp>(kind, x, y); }
  mlir::Value add(mlir::Value x, mlir::Value y) { return binary(graph::BinaryKind::add, x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return binary(graph::BinaryKind::sub, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return binary(graph::BinaryKind::mul, x, y); }
  mlir::Value select(mlir::Value c, mlir::Value x, mlir::Value y) { return make<graph::SelectOp>(c, x, y); }
  mlir::Value cast(mlir::Value x, mlir::Type type);
  /// Rank-0 constant of `like`'s element type.
  mlir::Value scalar(double value, mlir::Value like);
  mlir::Value scalarOf(double value, mlir::Type type);
  mlir::Value ints(llvm::ArrayRef<int64_t> values);
  mlir::Value constant(mlir::TypedAttr value) { return make<graph::ConstantOp>(value); }
  mlir::Value reduce(graph::ReduceKind kind, mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepdims);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  mlir::Value unsqueeze(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  mlir::Value squeeze(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  /// ONNX Reshape with `allowzero = 0`: 0 copies a dim, -1 is deduced.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  /// To a shape given by a tensor<nxi64>, as an attribute if it is known.
  mlir::Value reshapeTo(mlir::Value x, mlir::Value shape, bool allowZero = false);
  mlir::Value broadcastTo(mlir::Value x, mlir::Value shape);
  mlir::Value shapeOf(mlir::Value x, int64_t start = 0, std::optional<int64_t> end = std::nullopt);
  mlir::Value concat(mlir::ValueRange parts, int64_t axis);
  /// Elements [start, end) of one axis.
  mlir::Value slice(mlir::Value x, int64_t axis, int64_t start, int64_t end);
  mlir::Value matmul(mlir::Value a, mlir::Value b, bool transposeA = false, bool transposeB = false);
  /// A 1-D tensor of i64 as an attribute if it is known, else null.
  mlir::DenseI64ArrayAttr knownArray(mlir::Value value);

  mlir::OpBuilder &builder();

private:
  template <typename OpT> mlir::Value finish(mlir::OperationState &state) {
    llvm::SmallVector<mlir::Type> types;
    auto *context = loc.getContext();
    if (mlir::failed(OpT::inferReturnTypes(context, loc, state.operands, state.attributes.getDictionary(context),
                                           state.getRawProperties(), {}, types)))
      return failInference();
    return create(state, types);
  }
  bool hasKnownLength(mlir::Value shape);
  mlir::Value failInference();
  mlir::Value create(mlir::OperationState &state, mlir::TypeRange types);
  mlir::Type placeholderType();

  int index;
  bool hasFailed = false;
};

/// "f32[1,?,768]".
std::string typeText(mlir::Type type);
mlir::Type elementTypeOf(mlir::MLIRContext *context, DType dtype);

} // namespace gaudi::import
