//===- Values.cpp - the value of any tensor of a group at given indices ---===//
#include "lib/Target/cpu/emit/Values.h"

#include "lib/Target/cpu/emit/ElementOps.h"
#include "runtime/exec/KernelAbi.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

static RankedTensorType tensorOf(Value v) { return cast<RankedTensorType>(v.getType()); }
static Type elementOf(Value v) { return tensorOf(v).getElementType(); }

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

namespace {

constexpr int kNoLane = -1;

/// Follows the dim that carries the lane (kNoLane: none) from `tensor` to the leaves.
bool regular(Value tensor, int lane);

bool regularBroadcast(Value operand, int64_t resultRank, int lane) {
  auto type = tensorOf(operand);
  int own = lane == kNoLane ? kNoLane : lane - static_cast<int>(resultRank - type.getRank());
  bool varies = own >= 0 && type.getDimSize(own) != 1;
  return regular(operand, varies ? own : kNoLane);
}

bool regularReshape(ReshapeOp op, int lane) {
  if (lane == kNoLane)
    return regular(op.getInput(), kNoLane);
  auto from = tensorOf(op.getInput()), to = tensorOf(op.getResult());
  bool sameTail = lane == to.getRank() - 1 && from.getRank() > 0 &&
                  from.getDimSize(from.getRank() - 1) == to.getDimSize(to.getRank() - 1);
  return sameTail && regular(op.getInput(), from.getRank() - 1);
}

bool regularSlice(SliceOp op, int lane) {
  for (auto [i, axis] : llvm::enumerate(op.getAxes()))
    if (static_cast<int>(axis) == lane && op.getSteps() && (*op.getSteps())[i] != 1)
      return false;
  return regular(op.getInput(), lane);
}

bool regularGather(GatherOp op, int lane) {
  int64_t axis = op.getAxis(), indexRank = tensorOf(op.getIndices()).getRank();
  if (lane >= axis && lane < axis + indexRank)
    return false;
  int own = lane < axis ? lane : lane - static_cast<int>(indexRank) + 1;
  return regular(op.getIndices(), kNoLane) && regular(op.getData(), lane == kNoLane ? kNoLane : own);
}

bool regular(Value tensor, int lane) {
  Operation *op = tensor.getDefiningOp();
  int64_t rank = tensorOf(tensor).getRank();
  if (!op)
    return lane == kNoLane || lane == rank - 1;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](ConstantOp c) { return lane == kNoLane || isa<SplatElementsAttr>(c.getValue()); })
      .Case<UnaryOp, CastOp, BinaryOp, SelectOp, BroadcastOp>([&](Operation *o) {
        return llvm::all_of(o->getOperands(), [&](Value v) { return regularBroadcast(v, rank, lane); });
      })
      .Case([&](TransposeOp t) { return regular(t.getInput(), lane == kNoLane ? kNoLane : t.getPermutation()[lane]); })
      .Case([&](ReshapeOp r) { return regularReshape(r, lane); })
      .Case([&](SliceOp s) { return regularSlice(s, lane); })
      .Case([&](ConcatOp c) {
        return lane != c.getAxis() && llvm::all_of(c.getInputs(), [&](Value v) { return regular(v, lane); });
      })
      .Case([&](PadOp p) {
        bool padded = lane != kNoLane && ((*p.getPads())[lane] || (*p.getPads())[rank + lane]);
        return !padded && regular(p.getInput(), lane) && (!p.getValue() || regular(p.getValue(), kNoLane));
      })
      .Case([&](TriluOp t) { return regular(t.getInput(), lane); })
      .Case([&](GatherOp g) { return regularGather(g, lane); })
      // Their inputs are visited along loops of their own; along a row they are handled by overrides.
      .Case<SoftmaxOp, LayerNormOp, RmsNormOp>([&](Operation *o) {
        return llvm::all_of(o->getOperands(), [&](Value v) { return regularBroadcast(v, rank, lane); });
      })
      .Case([&](ReduceOp r) {
        bool last = r.getAxes().size() == 1 && r.getAxes()[0] == tensorOf(r.getInput()).getRank() - 1;
        return lane == kNoLane && last && regular(r.getInput(), r.getAxes()[0]);
      })
      .Default([&](Operation *) { return false; });
}

bool staticSlice(SliceOp op) { return op.getStarts() && op.getEnds() && !op.getStepsOperand(); }

} // namespace

bool cpu::lanesRegular(Value tensor) {
  int64_t rank = tensorOf(tensor).getRank();
  return rank > 0 && regular(tensor, rank - 1);
}

bool cpu::canComputeElements(GroupOp group) {
  for (Operation &op : group.getBody().front().without_terminator()) {
    bool known = llvm::TypeSwitch<Operation *, bool>(&op)
                     .Case([](ConstantOp c) { // element tables are literals in the code
                       return isa<SplatElementsAttr>(c.getValue()) ||
                              (isa<ElementsAttr>(c.getValue()) && tensorOf(c.getResult()).getNumElements() <= 64);
                     })
                     .Case<UnaryOp, BinaryOp, SelectOp, CastOp, TransposeOp, ConcatOp, TriluOp, GatherOp, GatherElementsOp,
                           ReduceOp, ArgReduceOp, MatMulOp, CumSumOp>([](auto) { return true; })
                     .Case<ReshapeOp, BroadcastOp>([](auto o) { return !o.getShapeOperand(); })
                     .Case([](SliceOp s) { return staticSlice(s); })
                     .Case([](PadOp p) { return !p.getPadsOperand(); })
                     .Default([](Operation *) { return false; });
    if (!known)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Emission: helpers
//===----------------------------------------------------------------------===//

ElementEmitter::ElementEmitter(KernelBuilder &kernel, GroupOp group)
    : k(kernel), b(kernel.builder), loc(kernel.builder.getUnknownLoc()) {
  for (BlockArgument arg : group.getBody().front().getArguments())
    argument[arg] = arg.getArgNumber();
  for (Type type : group.getResultTypes())
    resultElement.push_back(cast<RankedTensorType>(type).getElementType());
  bool gathers = false;
  group.getBody().walk([&](Operation *op) { gathers |= isa<GatherOp, GatherElementsOp>(op); });
  if (!gathers)
    return;
  fault = memref::AllocaOp::create(b, loc, MemRefType::get({1}, b.getI32Type()));
  memref::StoreOp::create(b, loc, arith::ConstantIntOp::create(b, loc, 0, 32), fault, ValueRange{indexConstant(0)});
}

void ElementEmitter::finish() {
  Value code = fault ? Value(memref::LoadOp::create(b, loc, fault, ValueRange{indexConstant(0)}))
                     : Value(arith::ConstantIntOp::create(b, loc, 0, 32));
  func::ReturnOp::create(b, loc, ValueRange{code});
}

Value ElementEmitter::indexConstant(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
Value ElementEmitter::zero(Type type) { return arith::ConstantOp::create(b, loc, b.getZeroAttr(type)); }

static Value splat(OpBuilder &b, Location loc, Value scalar, int64_t width) { return emitSplat(b, loc, scalar, width); }

static SmallVector<Value> bases(ArrayRef<Index> indices) {
  return llvm::map_to_vector(indices, [](const Index &i) { return i.base; });
}
static bool hasLane(ArrayRef<Index> indices) { return llvm::any_of(indices, [](const Index &i) { return i.lane; }); }

Value ElementEmitter::load(Value memref, Type element, ArrayRef<Index> indices, int64_t width) {
  Type stored = cast<MemRefType>(memref.getType()).getElementType();
  if (width > 1 && hasLane(indices)) {
    Value v = vector::LoadOp::create(b, loc, VectorType::get({width}, stored), memref, bases(indices));
    return emitWiden(b, loc, v, element);
  }
  Value scalar = emitWiden(b, loc, memref::LoadOp::create(b, loc, memref, bases(indices)), element);
  return splat(b, loc, scalar, width);
}

void ElementEmitter::store(unsigned result, Value value, ArrayRef<Index> indices, int64_t width) {
  Value memref = k.outputs[result];
  Value stored = emitNarrow(b, loc, value, resultElement[result]);
  if (width > 1)
    vector::StoreOp::create(b, loc, stored, memref, bases(indices));
  else
    memref::StoreOp::create(b, loc, stored, memref, bases(indices));
}

//===----------------------------------------------------------------------===//
// Emission: ops
//===----------------------------------------------------------------------===//

Value ElementEmitter::at(Value tensor, ArrayRef<Index> indices, int64_t width) {
  if (auto it = overrides.find(tensor); it != overrides.end())
    return it->second(indices, width);
  if (auto it = argument.find(tensor); it != argument.end())
    return load(k.inputs[it->second], elementOf(tensor), indices, width);
  return llvm::TypeSwitch<Operation *, Value>(tensor.getDefiningOp())
      .Case([&](ConstantOp op) { return constantAt(op, indices, width); })
      .Case([&](UnaryOp op) { return unaryAt(op, indices, width); })
      .Case([&](BinaryOp op) { return binaryAt(op, indices, width); })
      .Case([&](SelectOp op) {
        Value c = broadcastAt(op.getCondition(), indices, width), x = broadcastAt(op.getOnTrue(), indices, width),
              y = broadcastAt(op.getOnFalse(), indices, width);
        return arith::SelectOp::create(b, loc, c, x, y).getResult();
      })
      .Case([&](CastOp op) { return castAt(op, indices, width); })
      .Case([&](BroadcastOp op) { return broadcastAt(op.getInput(), indices, width); })
      .Case([&](TransposeOp op) {
        Indices own(indices.size());
        for (auto [i, p] : llvm::enumerate(op.getPermutation()))
          own[p] = indices[i];
        return at(op.getInput(), own, width);
      })
      .Case([&](ReshapeOp op) { return reshapeAt(op, indices, width); })
      .Case([&](SliceOp op) { return sliceAt(op, indices, width); })
      .Case([&](ConcatOp op) { return concatAt(op, indices, width); })
      .Case([&](PadOp op) { return padAt(op, indices, width); })
      .Case([&](TriluOp op) { return triluAt(op, indices, width); })
      .Case([&](GatherOp op) { return gatherAt(op, indices, width); })
      .Case([&](GatherElementsOp op) { return gatherElementsAt(op, indices); })
      .Case([&](ReduceOp op) { return reduceAt(op, indices); })
      .Case([&](ArgReduceOp op) { return argReduceAt(op, indices); })
      .Case([&](MatMulOp op) { return matmulAt(op, indices); })
      .Case([&](CumSumOp op) { return cumsumAt(op, indices); });
}

Value ElementEmitter::constantAt(ConstantOp op, ArrayRef<Index> indices, int64_t width) {
  auto elements = cast<DenseElementsAttr>(op.getValue());
  Type element = elementOf(op.getResult());
  HostTensor host = HostTensor::fromElements(elements);
  Type type = registerType(element, 1);
  auto literal = [&](int64_t i) -> Attribute {
    if (host.isFloat())
      return b.getFloatAttr(type, host.floats()[i]);
    return b.getIntegerAttr(type, host.ints()[i]);
  };
  if (elements.isSplat() || host.elementCount() == 1)
    return splat(b, loc, arith::ConstantOp::create(b, loc, cast<TypedAttr>(literal(0))), width);
  // A small table: a vector literal indexed at run time.
  SmallVector<Attribute> values;
  for (int64_t i = 0; i < host.elementCount(); ++i)
    values.push_back(literal(i));
  auto table = DenseElementsAttr::get(VectorType::get({host.elementCount()}, type), values);
  Value vector = arith::ConstantOp::create(b, loc, table);
  Value flat = indexConstant(0);
  for (auto [i, d] : llvm::enumerate(host.shape))
    flat = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, flat, indexConstant(d)), indices[i].base);
  Value scalar = vector::ExtractOp::create(b, loc, vector, SmallVector<OpFoldResult>{flat});
  return splat(b, loc, scalar, width);
}

Value ElementEmitter::broadcastAt(Value operand, ArrayRef<Index> indices, int64_t width) {
  auto type = tensorOf(operand);
  Indices own;
  for (int64_t i = 0, lead = indices.size() - type.getRank(); i < type.getRank(); ++i)
    own.push_back(type.getDimSize(i) == 1 ? Index{indexConstant(0), false} : indices[lead + i]);
  return at(operand, own, width);
}

Value ElementEmitter::unaryAt(UnaryOp op, ArrayRef<Index> indices, int64_t width) {
  return emitElementUnary(b, loc, op.getKind(), at(op.getInput(), indices, width), elementOf(op.getInput()));
}

Value ElementEmitter::binaryAt(BinaryOp op, ArrayRef<Index> indices, int64_t width) {
  Value x = broadcastAt(op.getLhs(), indices, width), y = broadcastAt(op.getRhs(), indices, width);
  return emitElementBinary(b, loc, op.getKind(), x, y, elementOf(op.getLhs()), elementOf(op.getRhs()));
}

Value ElementEmitter::castAt(CastOp op, ArrayRef<Index> indices, int64_t width) {
  return emitElementCast(b, loc, at(op.getInput(), indices, width), elementOf(op.getInput()), op.getTo());
}

Value ElementEmitter::reshapeAt(ReshapeOp op, ArrayRef<Index> indices, int64_t width) {
  auto from = tensorOf(op.getInput()), to = tensorOf(op.getResult());
  bool keepTail = hasLane(indices); // lanesRegular: equal last dims
  size_t toRank = to.getRank() - keepTail, fromRank = from.getRank() - keepTail;
  Value flat = indexConstant(0);
  for (size_t i = 0; i < toRank; ++i)
    flat = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, flat, indexConstant(to.getDimSize(i))), indices[i].base);
  Indices own(from.getRank());
  for (size_t i = fromRank; i-- > 0;) {
    Value n = indexConstant(std::max<int64_t>(from.getDimSize(i), 1));
    own[i] = {i ? Value(arith::RemUIOp::create(b, loc, flat, n)) : flat, false};
    flat = arith::DivUIOp::create(b, loc, flat, n);
  }
  if (keepTail)
    own.back() = indices.back();
  return at(op.getInput(), own, width);
}

Value ElementEmitter::sliceAt(SliceOp op, ArrayRef<Index> indices, int64_t width) {
  auto from = tensorOf(op.getInput());
  Indices own(indices);
  for (auto [i, axis] : llvm::enumerate(op.getAxes())) {
    int64_t dim = from.getDimSize(axis), step = op.getSteps() ? (*op.getSteps())[i] : 1, start = (*op.getStarts())[i];
    start = start < 0 ? std::max(start, -dim - 1) + dim : start;
    start = std::clamp<int64_t>(start, 0, step > 0 ? dim : dim - 1);
    Value scaled = arith::MulIOp::create(b, loc, indices[axis].base, indexConstant(step));
    own[axis].base = arith::AddIOp::create(b, loc, scaled, indexConstant(start));
  }
  return at(op.getInput(), own, width);
}

Value ElementEmitter::concatAt(ConcatOp op, ArrayRef<Index> indices, int64_t width) {
  int64_t axis = op.getAxis(), begin = 0;
  Value where = indices[axis].base, result;
  for (Value input : op.getInputs()) {
    int64_t n = tensorOf(input).getDimSize(axis);
    if (n == 0)
      continue;
    Indices own(indices);
    Value local = arith::SubIOp::create(b, loc, where, indexConstant(begin));
    local = arith::MaxSIOp::create(b, loc, local, indexConstant(0)); // reads of the inputs not chosen stay inside
    own[axis].base = arith::MinSIOp::create(b, loc, local, indexConstant(n - 1));
    Value x = at(input, own, width);
    Value past = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, where, indexConstant(begin));
    result = result ? Value(arith::SelectOp::create(b, loc, past, x, result)) : x;
    begin += n;
  }
  return result;
}

Value ElementEmitter::padAt(PadOp op, ArrayRef<Index> indices, int64_t width) {
  auto from = tensorOf(op.getInput());
  Type type = registerType(from.getElementType(), width);
  Value fill = op.getValue() ? at(op.getValue(), Indices(tensorOf(op.getValue()).getRank(), Index{indexConstant(0), false}), width)
                             : zero(type);
  if (from.getNumElements() == 0)
    return fill;
  Value inside = arith::ConstantIntOp::create(b, loc, 1, 1);
  Indices own(indices);
  for (int64_t i = 0; i < from.getRank(); ++i) {
    Value at = arith::SubIOp::create(b, loc, indices[i].base, indexConstant((*op.getPads())[i]));
    if (!indices[i].lane) { // a lane dim has no padding (lanesRegular)
      Value low = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, at, indexConstant(0));
      Value high = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, at, indexConstant(from.getDimSize(i)));
      inside = arith::AndIOp::create(b, loc, inside, arith::AndIOp::create(b, loc, low, high));
      at = arith::MaxSIOp::create(b, loc, at, indexConstant(0));
      at = arith::MinSIOp::create(b, loc, at, indexConstant(from.getDimSize(i) - 1));
    }
    own[i].base = at;
  }
  return arith::SelectOp::create(b, loc, inside, at(op.getInput(), own, width), fill);
}

/// column >= row + offset (upper) or <= (lower), one i1 per lane.
Value ElementEmitter::conditionLanes(Index row, Index column, int64_t offset, bool upper, int64_t width) {
  Value diagonal = arith::AddIOp::create(b, loc, row.base, indexConstant(offset));
  auto predicate = upper ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle;
  if (width == 1)
    return arith::CmpIOp::create(b, loc, predicate, column.base, diagonal);
  Value columns = splat(b, loc, column.base, width);
  if (column.lane) {
    SmallVector<Attribute> steps;
    for (int64_t i = 0; i < width; ++i)
      steps.push_back(b.getIndexAttr(i));
    auto iota = DenseElementsAttr::get(VectorType::get({width}, b.getIndexType()), steps);
    columns = arith::AddIOp::create(b, loc, columns, arith::ConstantOp::create(b, loc, iota));
  }
  return arith::CmpIOp::create(b, loc, predicate, columns, splat(b, loc, diagonal, width));
}

Value ElementEmitter::triluAt(TriluOp op, ArrayRef<Index> indices, int64_t width) {
  Value x = at(op.getInput(), indices, width);
  size_t rank = indices.size();
  Value keep = conditionLanes(indices[rank - 2], indices[rank - 1], op.getK(), op.getUpper(), width);
  return arith::SelectOp::create(b, loc, keep, x, zero(x.getType()));
}

Value ElementEmitter::checkedIndex(Value raw, int64_t n) {
  Value i = arith::IndexCastOp::create(b, loc, b.getIndexType(), raw);
  Value none = indexConstant(0), size = indexConstant(n);
  Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, i, none);
  i = arith::SelectOp::create(b, loc, negative, arith::AddIOp::create(b, loc, i, size), i);
  Value good = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, i, size);
  Value bad = arith::XOrIOp::create(b, loc, good, arith::ConstantIntOp::create(b, loc, 1, 1));
  auto branch = scf::IfOp::create(b, loc, bad, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value code = arith::ConstantIntOp::create(b, loc, static_cast<int64_t>(KernelFault::IndexOutOfRange), 32);
    memref::StoreOp::create(b, loc, code, fault, ValueRange{none});
  }
  return arith::SelectOp::create(b, loc, good, i, none);
}

Value ElementEmitter::gatherAt(GatherOp op, ArrayRef<Index> indices, int64_t width) {
  int64_t axis = op.getAxis(), indexRank = tensorOf(op.getIndices()).getRank();
  Value raw = at(op.getIndices(), indices.slice(axis, indexRank), 1);
  Indices own(indices.take_front(axis));
  own.push_back({checkedIndex(raw, tensorOf(op.getData()).getDimSize(axis)), false});
  llvm::append_range(own, indices.drop_front(axis + indexRank));
  return at(op.getData(), own, width);
}

Value ElementEmitter::gatherElementsAt(GatherElementsOp op, ArrayRef<Index> indices) {
  Indices own(indices);
  own[op.getAxis()].base = checkedIndex(at(op.getIndices(), indices, 1), tensorOf(op.getData()).getDimSize(op.getAxis()));
  return at(op.getData(), own, 1);
}

//===----------------------------------------------------------------------===//
// Emission: loops
//===----------------------------------------------------------------------===//

Value ElementEmitter::reduceAt(ReduceOp op, ArrayRef<Index> indices) {
  auto from = tensorOf(op.getInput());
  ArrayRef<int64_t> axes = op.getAxes();
  Type element = from.getElementType();
  Indices own(from.getRank());
  size_t next = 0;
  int64_t count = 1;
  for (int64_t i = 0; i < from.getRank(); ++i) {
    bool reduced = llvm::is_contained(axes, i);
    if (!reduced)
      own[i] = {indices[next].base, false};
    else
      count *= from.getDimSize(i);
    next += !reduced || op.getKeepdims();
  }
  Value acc = arith::ConstantOp::create(b, loc, reduceIdentity(op.getKind(), element));
  std::function<Value(size_t, Value)> loopNest = [&](size_t level, Value init) -> Value {
    if (level == axes.size())
      return emitReduceStep(b, loc, op.getKind(), init, at(op.getInput(), own, 1), element);
    auto loop = scf::ForOp::create(b, loc, indexConstant(0), indexConstant(from.getDimSize(axes[level])), indexConstant(1),
                                   ValueRange{init});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    own[axes[level]] = {loop.getInductionVar(), false};
    scf::YieldOp::create(b, loc, ValueRange{loopNest(level + 1, loop.getRegionIterArgs()[0])});
    return loop.getResult(0);
  };
  return emitReduceEnd(b, loc, op.getKind(), loopNest(0, acc), count, element);
}

Value ElementEmitter::argReduceAt(ArgReduceOp op, ArrayRef<Index> indices) {
  auto from = tensorOf(op.getInput());
  int64_t axis = op.getAxis(), n = from.getDimSize(axis);
  bool isFloat = isa<FloatType>(from.getElementType());
  Indices own;
  for (size_t i = 0, next = 0; i < static_cast<size_t>(from.getRank()); ++i) {
    bool reduced = static_cast<int64_t>(i) == axis;
    own.push_back(reduced ? Index{indexConstant(0), false} : indices[next]);
    next += !reduced || op.getKeepdims();
  }
  Value none = arith::ConstantIntOp::create(b, loc, 0, 64);
  if (n == 0)
    return none;
  Value first = at(op.getInput(), own, 1);
  auto loop = scf::ForOp::create(b, loc, indexConstant(1), indexConstant(n), indexConstant(1), ValueRange{first, none});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  own[axis].base = loop.getInductionVar();
  Value x = at(op.getInput(), own, 1), best = loop.getRegionIterArgs()[0];
  bool orEqual = op.getSelectLast();
  BinaryKind kind = op.getMin() ? (orEqual ? BinaryKind::le : BinaryKind::lt) : (orEqual ? BinaryKind::ge : BinaryKind::gt);
  Value better;
  if (isFloat) {
    static const arith::CmpFPredicate table[] = {arith::CmpFPredicate::OLT, arith::CmpFPredicate::OLE,
                                                 arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
    better = arith::CmpFOp::create(b, loc, table[static_cast<int>(kind) - static_cast<int>(BinaryKind::lt)], x, best);
  } else
    better = emitElementBinary(b, loc, kind, x, best, from.getElementType(), from.getElementType());
  Value here = arith::IndexCastOp::create(b, loc, b.getI64Type(), loop.getInductionVar());
  scf::YieldOp::create(b, loc, ValueRange{arith::SelectOp::create(b, loc, better, x, best),
                                          arith::SelectOp::create(b, loc, better, here, loop.getRegionIterArgs()[1])});
  return loop.getResult(1);
}

Value ElementEmitter::matmulAt(MatMulOp op, ArrayRef<Index> indices) {
  auto lhs = tensorOf(op.getLhs()), rhs = tensorOf(op.getRhs());
  int64_t kDim = lhs.getDimSize(lhs.getRank() - (op.getTransposeLhs() ? 2 : 1));
  Type type = registerType(lhs.getElementType(), 1);
  auto loop = scf::ForOp::create(b, loc, indexConstant(0), indexConstant(kDim), indexConstant(1), ValueRange{zero(type)});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Index inner{loop.getInductionVar(), false};
  auto operandAt = [&](Value v, RankedTensorType t, Index row, Index column) {
    Indices own;
    size_t batch = t.getRank() - 2, lead = indices.size() - t.getRank();
    for (size_t i = 0; i < batch; ++i)
      own.push_back(t.getDimSize(i) == 1 ? Index{indexConstant(0), false} : indices[lead + i]);
    own.append({row, column});
    return at(v, own, 1);
  };
  Index m = indices[indices.size() - 2], n = indices.back();
  Value x = op.getTransposeLhs() ? operandAt(op.getLhs(), lhs, inner, m) : operandAt(op.getLhs(), lhs, m, inner);
  Value y = op.getTransposeRhs() ? operandAt(op.getRhs(), rhs, n, inner) : operandAt(op.getRhs(), rhs, inner, n);
  Value acc = loop.getRegionIterArgs()[0];
  Value next = isa<FloatType>(type) ? Value(math::FmaOp::create(b, loc, x, y, acc))
                                    : Value(arith::AddIOp::create(b, loc, acc, arith::MulIOp::create(b, loc, x, y)));
  scf::YieldOp::create(b, loc, ValueRange{next});
  return loop.getResult(0);
}

Value ElementEmitter::cumsumAt(CumSumOp op, ArrayRef<Index> indices) {
  int64_t axis = op.getAxis(), n = tensorOf(op.getInput()).getDimSize(axis);
  Value here = indices[axis].base, one = indexConstant(1);
  Value low = op.getReverse() ? (op.getExclusive() ? Value(arith::AddIOp::create(b, loc, here, one)) : here) : indexConstant(0);
  Value high = op.getReverse() ? indexConstant(n) : (op.getExclusive() ? here : Value(arith::AddIOp::create(b, loc, here, one)));
  Type type = registerType(elementOf(op.getInput()), 1);
  auto loop = scf::ForOp::create(b, loc, low, high, one, ValueRange{zero(type)});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Indices own(indices);
  own[axis] = {loop.getInductionVar(), false};
  Value x = at(op.getInput(), own, 1);
  scf::YieldOp::create(b, loc, ValueRange{emitReduceStep(b, loc, ReduceKind::sum, loop.getRegionIterArgs()[0], x, elementOf(op.getInput()))});
  return loop.getResult(0);
}
