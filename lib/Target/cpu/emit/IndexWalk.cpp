//===- IndexWalk.cpp - from a result's position to its operands' ----------===//
#include "lib/Target/cpu/emit/IndexWalk.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

static ArrayRef<int64_t> shapeOf(Value v) { return cast<RankedTensorType>(v.getType()).getShape(); }
static int64_t product(ArrayRef<int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims)
    n *= d;
  return n;
}

std::pair<Affine, Affine> IndexWalk::divide(const Affine &index, int64_t divisor) {
  if (divisor <= 0) // an empty dim: no element is ever read
    return {Affine(), Affine()};
  if (auto affine = space.divide(index, divisor))
    return *affine;
  if (!mayRefine)
    space.refinement.reset();
  if (space.refinement)
    return {Affine(), Affine()}; // the walk is repeated in the finer space
  return {Affine::variable(derive({Derived::Quotient, index, divisor, Value()})),
          Affine::variable(derive({Derived::Rest, index, divisor, Value()}))};
}

unsigned IndexWalk::derive(const Derived &derived) {
  for (auto &[known, variable] : derivedVariables)
    if (known == derived)
      return variable;
  int64_t extent = derived.number;
  if (derived.kind == Derived::Quotient)
    extent = space.range(derived.index).second / derived.number + 1;
  unsigned variable = space.addVariable(extent, space.depthOf(derived.index), !space.isUniform(derived.index));
  derivedVariables.push_back({derived, variable});
  define(variable, derived);
  return variable;
}

Affine IndexWalk::clamp(const Affine &index, int64_t bound) {
  auto [low, high] = space.range(index);
  if (low >= 0 && high < bound)
    return index;
  return Affine::variable(derive({Derived::Clamp, index, bound, Value()}));
}

Affine IndexWalk::viewIndex(const StridedView &view, const Affine &index) {
  if (view.isIdentity())
    return index;
  Affine position{view.offset, {}}, rest = index;
  int64_t size = 1;
  for (const StridedView::Dim &dim : view.dims)
    size *= dim.extent;
  for (auto [i, dim] : llvm::enumerate(view.dims)) {
    size /= std::max<int64_t>(dim.extent, 1);
    if (i + 1 == view.dims.size()) {
      position.add(rest, dim.stride);
      break;
    }
    auto [own, inner] = divide(rest, size);
    position.add(own, dim.stride);
    rest = inner;
  }
  return position;
}

Affine IndexWalk::operandIndex(Operation *op, unsigned operand, const Affine &index) {
  return viewIndex(*operandView(op, operand), index);
}

Affine IndexWalk::gatherIndex(GatherOp op, const Affine &index) {
  ArrayRef<int64_t> data = shapeOf(op.getData());
  int64_t axis = op.getAxis(), inner = product(data.drop_front(axis + 1)), n = data[axis];
  auto [place, column] = divide(index, inner);
  auto [outer, item] = divide(place, product(shapeOf(op.getIndices())));
  Affine position = column;
  position.add(outer, n * inner);
  position.add(Affine::variable(derive({Derived::Gathered, item, n, op.getIndices()})), inner);
  return position;
}

Affine IndexWalk::gatherElementsIndex(GatherElementsOp op, const Affine &index) {
  SmallVector<int64_t> strides = rowMajorStrides(shapeOf(op.getData()));
  int64_t axis = op.getAxis(), along = strides[axis];
  strides[axis] = 0;
  Affine position = viewIndex(StridedView(shapeOf(op.getResult()), strides), index);
  position.add(Affine::variable(derive({Derived::Gathered, index, shapeOf(op.getData())[axis], op.getIndices()})),
               along);
  return position;
}

Affine IndexWalk::gatherNDIndex(GatherNDOp op, const Affine &index) {
  ArrayRef<int64_t> data = shapeOf(op.getData()), tuples = shapeOf(op.getIndices());
  int64_t batch = op.getBatchDims(), length = tuples.back();
  SmallVector<int64_t> strides = rowMajorStrides(data);
  auto [tuple, position] = divide(index, product(data.drop_front(batch + length)));
  for (int64_t i = 0; i < length; ++i) {
    Affine item{i, {}};
    item.add(tuple, length);
    position.add(Affine::variable(derive({Derived::Gathered, item, data[batch + i], op.getIndices()})),
                 strides[batch + i]);
  }
  Affine batchIndex = divide(tuple, product(tuples.drop_front(batch).drop_back())).first;
  position.add(batchIndex, product(data.drop_front(batch)));
  return position;
}

Affine IndexWalk::diagonalDistance(TriluOp op, const Affine &index) {
  ArrayRef<int64_t> dims = shapeOf(op.getResult());
  auto [rows, column] = divide(index, dims.back());
  Affine distance = column;
  distance.add(divide(rows, dims[dims.size() - 2]).second, -1);
  distance.offset -= op.getK();
  return distance;
}

bool IndexWalk::requestCut(const Affine &index, int64_t at) {
  if (!mayCut || !mayRefine)
    return false;
  for (auto [v, c] : index.terms) {
    Affine others = index;
    others.add(Affine::variable(v), -c);
    auto [low, high] = space.range(others);
    int64_t place = c > 0 && (at - low) % c == 0 ? (at - low) / c : 0;
    if (v < space.loops && high - low < c && place > 0 && place < space.variables[v].extent) {
      if (!space.refinement)
        space.refinement = Refinement{v, place, true};
      return true;
    }
  }
  return false;
}

SmallVector<IndexWalk::ConcatPart> IndexWalk::concatParts(ConcatOp op, const Affine &index) {
  ArrayRef<int64_t> dims = shapeOf(op.getResult());
  int64_t inner = product(dims.drop_front(op.getAxis() + 1));
  auto [row, within] = divide(index, dims[op.getAxis()] * inner);
  auto [low, high] = space.range(within);
  SmallVector<ConcatPart> parts;
  int64_t begin = 0;
  for (Value input : op.getInputs()) {
    int64_t size = shapeOf(input)[op.getAxis()] * inner, end = begin + size;
    if (size > 0 && low < end && high >= begin) {
      bool isCut = (low < begin && requestCut(within, begin)) || (high >= end && requestCut(within, end));
      Affine where = within;
      where.offset -= begin;
      Affine position = isCut ? Affine() : clamp(where, size);
      position.add(row, size);
      parts.push_back({input, where, size, position});
    }
    begin = end;
  }
  return parts;
}

IndexWalk::PadPlace IndexWalk::padPlace(PadOp op, const Affine &index) {
  ArrayRef<int64_t> from = shapeOf(op.getInput()), to = shapeOf(op.getResult()), pads = *op.getPads();
  SmallVector<int64_t> strides = rowMajorStrides(from);
  PadPlace place;
  Affine rest = index;
  for (size_t i = from.size(); i-- > 0;) {
    // Neighbours without padding count as one dim, so that runs stay long.
    int64_t extent = to[i], bound = from[i], stride = strides[i], low = pads[i];
    bool isPadded = pads[i] || pads[from.size() + i];
    while (!isPadded && i > 0 && !pads[i - 1] && !pads[from.size() + i - 1])
      extent *= to[--i], bound *= from[i];
    auto [outer, own] = i == 0 ? std::pair(Affine(), rest) : divide(rest, extent);
    rest = outer;
    own.offset -= low;
    auto [first, last] = space.range(own);
    place.isOutside |= last < 0 || first >= bound;
    bool isCut =
        (first < 0 && last >= 0 && requestCut(own, 0)) || (last >= bound && first < bound && requestCut(own, bound));
    if (isCut || place.isOutside)
      continue;
    if (first < 0 || last >= bound)
      place.conditions.push_back({own, bound});
    place.operand.add(clamp(own, bound), stride);
  }
  return place;
}
