//===- Values.cpp - the value of any tensor of a group at given indices ---===//
#include "lib/Target/cpu/emit/Values.h"

#include "lib/Target/cpu/emit/VectorMath.h"
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

Type cpu::registerType(Type element, int64_t width) {
  if (element.isF16() || element.isBF16())
    element = Float32Type::get(element.getContext());
  if (auto integer = dyn_cast<IntegerType>(element))
    element = IntegerType::get(element.getContext(), integer.getWidth()); // signless
  return width > 1 ? Type(VectorType::get({width}, element)) : element;
}

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
    if (axis == lane && op.getSteps() && (*op.getSteps())[i] != 1)
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

static Value splat(OpBuilder &b, Location loc, Value scalar, int64_t width) {
  return width > 1 ? Value(vector::BroadcastOp::create(b, loc, VectorType::get({width}, scalar.getType()), scalar)) : scalar;
}

/// Memory element -> register element.
static Value widen(OpBuilder &b, Location loc, Value x, Type element, int64_t width) {
  if (element.isF16() || element.isBF16())
    return emitToF32(b, loc, x);
  if (element.isInteger(1)) {
    Value none = arith::ConstantOp::create(b, loc, b.getZeroAttr(x.getType()));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, x, none);
  }
  return x;
}

/// Register element -> memory element.
static Value narrow(OpBuilder &b, Location loc, Value x, Type element, int64_t width) {
  if (element.isF16() || element.isBF16())
    return emitFromF32(b, loc, x, element);
  if (element.isInteger(1)) {
    Type byte = b.getI8Type();
    return arith::ExtUIOp::create(b, loc, width > 1 ? Type(VectorType::get({width}, byte)) : byte, x);
  }
  return x;
}

static SmallVector<Value> bases(ArrayRef<Index> indices) {
  return llvm::map_to_vector(indices, [](const Index &i) { return i.base; });
}
static bool hasLane(ArrayRef<Index> indices) { return llvm::any_of(indices, [](const Index &i) { return i.lane; }); }

Value ElementEmitter::load(Value memref, Type element, ArrayRef<Index> indices, int64_t width) {
  Type stored = cast<MemRefType>(memref.getType()).getElementType();
  if (width > 1 && hasLane(indices)) {
    Value v = vector::LoadOp::create(b, loc, VectorType::get({width}, stored), memref, bases(indices));
    return widen(b, loc, v, element, width);
  }
  Value scalar = widen(b, loc, memref::LoadOp::create(b, loc, memref, bases(indices)), element, 1);
  return splat(b, loc, scalar, width);
}

void ElementEmitter::store(unsigned result, Value value, ArrayRef<Index> indices, int64_t width) {
  Value memref = k.outputs[result];
  Value stored = narrow(b, loc, value, resultElement[result], width);
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
  Value x = at(op.getInput(), indices, width);
  Type element = getElementTypeOrSelf(x.getType());
  if (element.isF32() || element.isInteger(1))
    return emitUnary(b, loc, op.getKind(), x);
  if (element.isF64()) { // computed in f32: no target of ours needs more, and import warns about f64 models
    Type f32 = registerType(b.getF32Type(), width);
    Value y = emitUnary(b, loc, op.getKind(), arith::TruncFOp::create(b, loc, f32, x));
    return getElementTypeOrSelf(y.getType()).isInteger(1) ? y : Value(arith::ExtFOp::create(b, loc, x.getType(), y));
  }
  Value none = zero(x.getType());
  switch (op.getKind()) {
  case UnaryKind::neg: return arith::SubIOp::create(b, loc, none, x);
  case UnaryKind::abs: return arith::MaxSIOp::create(b, loc, x, arith::SubIOp::create(b, loc, none, x));
  case UnaryKind::relu: return arith::MaxSIOp::create(b, loc, x, none);
  default: { // sign
    Value one = arith::ConstantOp::create(b, loc, cast<TypedAttr>(b.getOneAttr(x.getType())));
    Value minusOne = arith::SubIOp::create(b, loc, none, one);
    return arith::MaxSIOp::create(b, loc, minusOne, arith::MinSIOp::create(b, loc, one, x));
  }
  }
}

static arith::CmpIPredicate predicate(BinaryKind kind, bool isUnsigned) {
  switch (kind) {
  case BinaryKind::eq: return arith::CmpIPredicate::eq;
  case BinaryKind::lt: return isUnsigned ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  case BinaryKind::le: return isUnsigned ? arith::CmpIPredicate::ule : arith::CmpIPredicate::sle;
  case BinaryKind::gt: return isUnsigned ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt;
  default: return isUnsigned ? arith::CmpIPredicate::uge : arith::CmpIPredicate::sge;
  }
}

/// Division and remainder never trap: x/0 and x%0 give 0, INT_MIN/-1 wraps.
static Value safeDivide(OpBuilder &b, Location loc, BinaryKind kind, Value x, Value y, bool isUnsigned) {
  Value none = arith::ConstantOp::create(b, loc, b.getZeroAttr(y.getType()));
  Value one = arith::ConstantOp::create(b, loc, cast<TypedAttr>(b.getOneAttr(y.getType())));
  Value minusOne = arith::SubIOp::create(b, loc, none, one);
  auto cmp = [&](arith::CmpIPredicate p, Value l, Value r) { return arith::CmpIOp::create(b, loc, p, l, r).getResult(); };
  Value isZero = cmp(arith::CmpIPredicate::eq, y, none);
  Value isMinusOne = cmp(arith::CmpIPredicate::eq, y, minusOne);
  Value odd = isUnsigned ? isZero : Value(arith::OrIOp::create(b, loc, isZero, isMinusOne));
  Value divisor = arith::SelectOp::create(b, loc, odd, one, y);
  bool quotient = kind == BinaryKind::div;
  Value r;
  if (quotient)
    r = isUnsigned ? Value(arith::DivUIOp::create(b, loc, x, divisor)) : Value(arith::DivSIOp::create(b, loc, x, divisor));
  else
    r = isUnsigned ? Value(arith::RemUIOp::create(b, loc, x, divisor)) : Value(arith::RemSIOp::create(b, loc, x, divisor));
  if (quotient && !isUnsigned)
    r = arith::SelectOp::create(b, loc, isMinusOne, arith::SubIOp::create(b, loc, none, x), r);
  if (quotient || isUnsigned)
    return quotient ? Value(arith::SelectOp::create(b, loc, isZero, none, r)) : r;
  if (kind == BinaryKind::mod) { // sign of the divisor
    Value differs = cmp(arith::CmpIPredicate::slt, arith::XOrIOp::create(b, loc, r, divisor), none);
    Value nonZero = cmp(arith::CmpIPredicate::ne, r, none);
    Value adjust = arith::AndIOp::create(b, loc, differs, nonZero);
    r = arith::SelectOp::create(b, loc, adjust, arith::AddIOp::create(b, loc, r, divisor), r);
  }
  return r;
}

Value cpu::emitIntBinary(OpBuilder &b, Location loc, BinaryKind kind, Value x, Value y, bool isUnsigned) {
  switch (kind) {
  case BinaryKind::add: return arith::AddIOp::create(b, loc, x, y);
  case BinaryKind::sub: return arith::SubIOp::create(b, loc, x, y);
  case BinaryKind::mul: return arith::MulIOp::create(b, loc, x, y);
  case BinaryKind::min: return isUnsigned ? Value(arith::MinUIOp::create(b, loc, x, y)) : Value(arith::MinSIOp::create(b, loc, x, y));
  case BinaryKind::max: return isUnsigned ? Value(arith::MaxUIOp::create(b, loc, x, y)) : Value(arith::MaxSIOp::create(b, loc, x, y));
  case BinaryKind::div:
  case BinaryKind::mod:
  case BinaryKind::fmod: return safeDivide(b, loc, kind, x, y, isUnsigned);
  case BinaryKind::logical_and:
  case BinaryKind::bit_and: return arith::AndIOp::create(b, loc, x, y);
  case BinaryKind::logical_or:
  case BinaryKind::bit_or: return arith::OrIOp::create(b, loc, x, y);
  case BinaryKind::logical_xor:
  case BinaryKind::bit_xor: return arith::XOrIOp::create(b, loc, x, y);
  default: return arith::CmpIOp::create(b, loc, predicate(kind, isUnsigned), x, y);
  }
}

Value ElementEmitter::binaryAt(BinaryOp op, ArrayRef<Index> indices, int64_t width) {
  Value x = broadcastAt(op.getLhs(), indices, width), y = broadcastAt(op.getRhs(), indices, width);
  Type element = getElementTypeOrSelf(x.getType());
  if (element.isF32() && x.getType() == y.getType())
    return emitBinary(b, loc, op.getKind(), x, y);
  if (isa<FloatType>(element) || isa<FloatType>(getElementTypeOrSelf(y.getType()))) {
    // f64, or pow with operands of two types: through f32.
    Type f32 = registerType(b.getF32Type(), width);
    auto toF32 = [&](Value v) -> Value {
      Type e = getElementTypeOrSelf(v.getType());
      if (e.isF32())
        return v;
      return e.isF64() ? Value(arith::TruncFOp::create(b, loc, f32, v)) : Value(arith::SIToFPOp::create(b, loc, f32, v));
    };
    Value r = emitBinary(b, loc, op.getKind(), toF32(x), toF32(y));
    if (getElementTypeOrSelf(r.getType()).isInteger(1) || element.isF32())
      return r;
    return element.isF64() ? Value(arith::ExtFOp::create(b, loc, x.getType(), r))
                           : Value(arith::FPToSIOp::create(b, loc, x.getType(), r));
  }
  return emitIntBinary(b, loc, op.getKind(), x, y, elementOf(op.getLhs()).isUnsignedInteger());
}

/// Float -> integer: saturates, NaN -> 0.
static Value saturatingCast(OpBuilder &b, Location loc, Value x, Type target, bool isUnsigned, int64_t width) {
  unsigned bits = getElementTypeOrSelf(target).getIntOrFloatBitWidth();
  Type type = x.getType();
  double high = std::ldexp(1.0, isUnsigned ? bits : bits - 1), low = isUnsigned ? 0 : -high;
  auto literal = [&](double v) {
    auto attr = b.getFloatAttr(getElementTypeOrSelf(type), v);
    return splat(b, loc, arith::ConstantOp::create(b, loc, attr), width);
  };
  auto integer = [&](const APInt &v) {
    auto attr = b.getIntegerAttr(getElementTypeOrSelf(target), v);
    return splat(b, loc, arith::ConstantOp::create(b, loc, attr), width);
  };
  Value below = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, x, literal(low));
  Value above = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE, x, literal(high));
  Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
  Value odd = arith::OrIOp::create(b, loc, isNan, arith::OrIOp::create(b, loc, below, above));
  Value safe = arith::SelectOp::create(b, loc, odd, literal(0), x);
  Value r = isUnsigned ? Value(arith::FPToUIOp::create(b, loc, target, safe)) : Value(arith::FPToSIOp::create(b, loc, target, safe));
  APInt most = isUnsigned ? APInt::getMaxValue(bits) : APInt::getSignedMaxValue(bits);
  APInt least = isUnsigned ? APInt::getMinValue(bits) : APInt::getSignedMinValue(bits);
  r = arith::SelectOp::create(b, loc, above, integer(most), r);
  return arith::SelectOp::create(b, loc, below, integer(least), r);
}

Value ElementEmitter::castAt(CastOp op, ArrayRef<Index> indices, int64_t width) {
  Value x = at(op.getInput(), indices, width);
  Type from = elementOf(op.getInput()), to = op.getTo();
  Type target = registerType(to, width);
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  if (to.isInteger(1)) {
    Value none = zero(x.getType());
    if (fromFloat)
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, x, none);
    return from.isInteger(1) ? x : Value(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, x, none));
  }
  if (fromFloat && toFloat) {
    if ((to.isF16() || to.isBF16()) && getElementTypeOrSelf(x.getType()).isF64())
      x = arith::TruncFOp::create(b, loc, registerType(b.getF32Type(), width), x);
    if (to.isF16() || to.isBF16()) // round now: later ops must see the narrow value
      return emitToF32(b, loc, emitFromF32(b, loc, x, to));
    if (x.getType() == target)
      return x;
    return to.isF64() ? Value(arith::ExtFOp::create(b, loc, target, x)) : Value(arith::TruncFOp::create(b, loc, target, x));
  }
  bool fromUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  if (toFloat) {
    Value r = fromUnsigned ? Value(arith::UIToFPOp::create(b, loc, target, x)) : Value(arith::SIToFPOp::create(b, loc, target, x));
    return to.isF16() || to.isBF16() ? emitToF32(b, loc, emitFromF32(b, loc, r, to)) : r;
  }
  if (fromFloat)
    return saturatingCast(b, loc, x, target, to.isUnsignedInteger(), width);
  unsigned a = from.getIntOrFloatBitWidth(), c = to.getIntOrFloatBitWidth();
  if (a == c)
    return x;
  if (a > c)
    return arith::TruncIOp::create(b, loc, target, x);
  return fromUnsigned ? Value(arith::ExtUIOp::create(b, loc, target, x)) : Value(arith::ExtSIOp::create(b, loc, target, x));
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

static Value combineRegisters(OpBuilder &b, Location loc, ReduceKind kind, Value acc, Value x, bool isUnsigned) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(acc.getType()));
  auto arith = [&](BinaryKind k, Value l, Value r) -> Value {
    if (!isFloat)
      return emitIntBinary(b, loc, k, l, r, isUnsigned);
    switch (k) {
    case BinaryKind::add: return arith::AddFOp::create(b, loc, l, r);
    case BinaryKind::mul: return arith::MulFOp::create(b, loc, l, r);
    case BinaryKind::max: return arith::MaximumFOp::create(b, loc, l, r);
    default: return arith::MinimumFOp::create(b, loc, l, r);
    }
  };
  switch (kind) {
  case ReduceKind::sum:
  case ReduceKind::mean: return arith(BinaryKind::add, acc, x);
  case ReduceKind::sumsq: return arith(BinaryKind::add, acc, arith(BinaryKind::mul, x, x));
  case ReduceKind::prod: return arith(BinaryKind::mul, acc, x);
  case ReduceKind::max: return arith(BinaryKind::max, acc, x);
  case ReduceKind::min: return arith(BinaryKind::min, acc, x);
  }
  llvm_unreachable("covered switch");
}

static Value identityRegister(OpBuilder &b, Location loc, ReduceKind kind, Type type, bool isUnsigned) {
  bool isMax = kind == ReduceKind::max, isMin = kind == ReduceKind::min;
  if (auto f = dyn_cast<FloatType>(type)) {
    double inf = std::numeric_limits<double>::infinity();
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(f, isMax ? -inf : isMin ? inf : kind == ReduceKind::prod ? 1 : 0));
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  APInt v(bits, kind == ReduceKind::prod ? 1 : 0);
  if (isMax)
    v = isUnsigned || bits == 1 ? APInt::getMinValue(bits) : APInt::getSignedMinValue(bits);
  if (isMin)
    v = isUnsigned || bits == 1 ? APInt::getMaxValue(bits) : APInt::getSignedMaxValue(bits);
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, v));
}

Value ElementEmitter::reduceAt(ReduceOp op, ArrayRef<Index> indices) {
  auto from = tensorOf(op.getInput());
  ArrayRef<int64_t> axes = op.getAxes();
  bool isUnsigned = from.getElementType().isUnsignedInteger();
  Type type = registerType(from.getElementType(), 1);
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
  Value acc = identityRegister(b, loc, op.getKind(), type, isUnsigned);
  std::function<Value(size_t, Value)> loopNest = [&](size_t level, Value init) -> Value {
    if (level == axes.size())
      return combineRegisters(b, loc, op.getKind(), init, at(op.getInput(), own, 1), isUnsigned);
    auto loop = scf::ForOp::create(b, loc, indexConstant(0), indexConstant(from.getDimSize(axes[level])), indexConstant(1),
                                   ValueRange{init});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    own[axes[level]] = {loop.getInductionVar(), false};
    scf::YieldOp::create(b, loc, ValueRange{loopNest(level + 1, loop.getRegionIterArgs()[0])});
    return loop.getResult(0);
  };
  acc = loopNest(0, acc);
  if (op.getKind() != ReduceKind::mean)
    return acc;
  if (auto f = dyn_cast<FloatType>(type))
    return arith::DivFOp::create(b, loc, acc, arith::ConstantOp::create(b, loc, b.getFloatAttr(f, count)));
  return emitIntBinary(b, loc, BinaryKind::div, acc, arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, count)), isUnsigned);
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
    better = emitIntBinary(b, loc, kind, x, best, from.getElementType().isUnsignedInteger());
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
  scf::YieldOp::create(b, loc, ValueRange{combineRegisters(b, loc, ReduceKind::sum, loop.getRegionIterArgs()[0], x, false)});
  return loop.getResult(0);
}
