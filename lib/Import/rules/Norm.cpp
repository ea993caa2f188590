//===- Norm.cpp - softmax and normalisations ------------------------------===//
#include "lib/Import/Rules.h"
#include "lib/Onnx/Proto.h"

using namespace mlir;
using namespace gaudi::graph;
using namespace gaudi::import;

namespace {

/// Since opset 13 along one axis (default -1).
template <bool log> void softmax(Node &n) {
  Value x = n.in(0);
  if (!x)
    return;
  int64_t axis = n.axis(n.integer("axis", -1), Node::rank(x));
  if (axis >= 0)
    n.out(0, n.make<SoftmaxOp>(x, axis, log));
}

/// Before opset 13 over all dims from `axis` (default 1) on, as a matrix.
template <bool log> void softmaxCoerced(Node &n) {
  Value x = n.in(0);
  if (!x)
    return;
  int64_t rank = Node::rank(x), axis = n.axis(n.integer("axis", 1), rank);
  if (axis < 0)
    return;
  if (axis == rank - 1)
    return n.out(0, n.make<SoftmaxOp>(x, axis, log));
  if (!Node::type(x).hasStaticShape())
    return (void)n.unsupported("softmax over several dynamic dims");
  Dims shape(Node::type(x).getShape()), flat(ArrayRef<int64_t>(shape).take_front(axis));
  flat.push_back(1);
  for (int64_t d : ArrayRef<int64_t>(shape).drop_front(axis))
    flat.back() *= d;
  Value y = n.make<ReshapeOp>(x, Value(), n.b.getDenseI64ArrayAttr(flat), true);
  y = n.make<SoftmaxOp>(y, axis, log);
  n.out(0, n.make<ReshapeOp>(y, Value(), n.b.getDenseI64ArrayAttr(shape), true));
}

void layerNorm(Node &n) {
  Value x = n.in(0);
  if (!x)
    return;
  if (n.wantsOutput(1) || n.wantsOutput(2))
    return (void)n.unsupported("mean and inverse deviation as outputs (training)");
  int64_t axis = n.axis(n.integer("axis", -1), Node::rank(x));
  if (axis >= 0)
    n.out(0, n.make<LayerNormOp>(x, n.optional(1), n.optional(2), n.b.getI64IntegerAttr(axis),
                                 n.b.getF64FloatAttr(n.number("epsilon", 1e-5f))));
}

/// RMSNormalization-23 and onnxruntime's SimplifiedLayerNormalization (in the default domain, invalid ONNX but common).
void rmsNorm(Node &n) {
  Value x = n.in(0);
  if (!x)
    return;
  int64_t axis = n.axis(n.integer("axis", -1), Node::rank(x));
  if (axis >= 0)
    n.out(0, n.make<RmsNormOp>(x, n.optional(1), n.b.getI64IntegerAttr(axis), n.b.getF64FloatAttr(n.number("epsilon", 1e-5f))));
}

const RuleRow rows[] = {
    {"", "Softmax", 1, softmaxCoerced<false>},   {"", "Softmax", 13, softmax<false>},
    {"", "LogSoftmax", 1, softmaxCoerced<true>}, {"", "LogSoftmax", 13, softmax<true>},
    {"", "LayerNormalization", 1, layerNorm}, // onnxruntime writes it at any opset
    {"", "RMSNormalization", 23, rmsNorm},       {"", "SimplifiedLayerNormalization", 1, rmsNorm},
};

} // namespace

llvm::ArrayRef<RuleRow> gaudi::import::normRules() { return rows; }
