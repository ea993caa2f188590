//===- Epilogue.cpp - pointwise ops behind a product ----------------------===//
#include "lib/Target/cpu/emit/Epilogue.h"

#include "lib/Target/cpu/emit/Loops.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

static ArrayRef<int64_t> dimsOf(Value v) { return cast<RankedTensorType>(v.getType()).getShape(); }
static Value yielded(GroupOp group) { return group.getBody().front().getTerminator()->getOperand(0); }

/// Same columns, same number of rows: row r of one is row r of the other.
static bool sameRows(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  return !a.empty() && !b.empty() && a.back() == b.back() && rowCount(a) == rowCount(b);
}

bool cpu::hasEpilogueShape(GroupOp group, Operation *op) {
  if (group->getNumResults() != 1 || !sameRows(dimsOf(op->getResult(0)), dimsOf(group.getResult(0))))
    return false;
  for (Operation &other : group.getBody().front().without_terminator()) {
    if (&other == op)
      continue;
    if (auto constant = dyn_cast<ConstantOp>(other)) {
      if (!isa<SplatElementsAttr>(constant.getValue()))
        return false;
      continue;
    }
    bool pointwise = isa<UnaryOp, BinaryOp, SelectOp, CastOp>(other);
    bool reshape = isa<ReshapeOp>(other) && sameRows(dimsOf(other.getOperand(0)), dimsOf(other.getResult(0)));
    if (!pointwise && !reshape)
      return false;
    // The product must not be broadcast: its elements are only there one at a time.
    for (Value operand : other.getOperands())
      if (operand == op->getResult(0) && !sameRows(dimsOf(operand), dimsOf(other.getResult(0))))
        return false;
  }
  return lanesRegular(yielded(group));
}

Epilogue::Epilogue(GroupOp group, Operation *op, KernelBuilder &kernel, TileBuilder &tiles)
    : root(op->getResult(0)), result(yielded(group)), dims(dimsOf(group.getResult(0))), t(tiles), values(kernel, group) {}

void Epilogue::write(Value tile, int64_t pitch, Value row, int64_t rows, Value column, int64_t columns) {
  forLoop(t.b, t.loc, t.index(0), t.index(rows), 1, [&](Value r) {
    Indices indices = leadingIndices(t.b, t.loc, t.add(row, r), dims);
    Value tileRow = t.mul(r, pitch);
    forRow(t.b, t.loc, columns, t.lanes, [&](Index j, int64_t width) {
      Value at = t.add(tileRow, j.base);
      values.override(root, [&, at](ArrayRef<Index>, int64_t w) {
        return w > 1 ? t.loadVector(tile, at, t.lanes) : t.loadScalar(tile, at);
      });
      indices.back() = {t.add(column, j.base), j.lane};
      values.store(0, values.at(result, indices, width), indices, width);
    });
  });
}
