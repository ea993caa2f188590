//===- Epilogue.cpp - pointwise ops behind a product ----------------------===//
//
// Cheap epilogues (bias, residual, relu, scale) act on the accumulators in registers. Those with a transcendental go
// through a tile of scratch in a loop over rows: unrolled over the accumulators, 12 of them already spilled on AVX2
// (knowledge/cpu.md 2; not measured again here), and the code would grow with their number. The detour costs two memory
// operations per accumulator against K fused multiply-adds.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/emit/Epilogue.h"

#include "lib/Target/cpu/emit/Loops.h"
#include "lib/Target/cpu/emit/VectorMath.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

static RankedTensorType typeOf(Value v) { return cast<RankedTensorType>(v.getType()); }
static bool isFloat(Type t) { return t.isF32() || t.isF16() || t.isBF16(); }
static bool isFloatOrBool(Type t) { return isFloat(t) || t.isInteger(1); }

namespace {

enum class Access { scalar, column, whole, none };

Access accessOf(Value operand, RankedTensorType result) {
  ArrayRef<int64_t> own = typeOf(operand).getShape(), whole = result.getShape();
  // Equal counts and last dims: reshapes of the leading dims do not move elements.
  if (!own.empty() && own.back() == whole.back() && typeOf(operand).getNumElements() == result.getNumElements())
    return Access::whole;
  if (typeOf(operand).getNumElements() == 1)
    return Access::scalar;
  bool unitLeading = !own.empty() && llvm::all_of(own.drop_back(), [](int64_t d) { return d == 1; });
  return unitLeading && own.back() == whole.back() ? Access::column : Access::none;
}

bool isTranscendental(Operation &op) {
  if (auto unary = dyn_cast<UnaryOp>(op))
    return !llvm::is_contained({UnaryKind::neg, UnaryKind::abs, UnaryKind::relu, UnaryKind::floor, UnaryKind::ceil,
                                UnaryKind::round, UnaryKind::logical_not, UnaryKind::is_nan, UnaryKind::is_inf},
                               unary.getKind());
  if (auto binary = dyn_cast<BinaryOp>(op))
    return llvm::is_contained({BinaryKind::div, BinaryKind::pow, BinaryKind::mod, BinaryKind::fmod}, binary.getKind());
  return false;
}

/// Unrolling pays for a few cheap operations only.
bool isCheap(GroupOp group) {
  auto body = group.getBody().front().without_terminator();
  constexpr int mostOps = 8;
  return llvm::range_size(body) <= mostOps && llvm::none_of(body, isTranscendental);
}

bool fitsOp(Operation &op, RankedTensorType result) {
  if (auto constant = dyn_cast<ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue()) && isFloatOrBool(typeOf(constant.getResult()).getElementType());
  RankedTensorType type = typeOf(op.getResult(0));
  if (!isFloatOrBool(type.getElementType()) || accessOf(op.getResult(0), result) != Access::whole)
    return false;
  if (isa<ReshapeOp>(op))
    return type.getShape().back() == result.getShape().back();
  if (auto binary = dyn_cast<BinaryOp>(op)) {
    bool bits = llvm::is_contained({BinaryKind::bit_and, BinaryKind::bit_or, BinaryKind::bit_xor}, binary.getKind());
    bool boolCompare = typeOf(binary.getLhs()).getElementType().isInteger(1) &&
                       !llvm::is_contained({BinaryKind::logical_and, BinaryKind::logical_or, BinaryKind::logical_xor},
                                           binary.getKind());
    if (bits || boolCompare)
      return false;
  }
  if (!isa<UnaryOp, BinaryOp, SelectOp, CastOp>(op))
    return false;
  return llvm::all_of(op.getOperands(), [&](Value v) {
    return isFloatOrBool(typeOf(v).getElementType()) && accessOf(v, result) != Access::none;
  });
}

} // namespace

bool Epilogue::fits(GroupOp group, MatMulOp op) {
  if (group->getNumResults() != 1)
    return false;
  auto result = typeOf(group.getResult(0));
  if (!isFloat(result.getElementType()) || accessOf(op.getResult(), result) != Access::whole)
    return false;
  for (Operation &other : group.getBody().front().without_terminator())
    if (&other != op && !fitsOp(other, result))
      return false;
  return true;
}

SmallVector<unsigned> Epilogue::inPlaceOperands(GroupOp group, MatMulOp op) {
  SmallVector<unsigned> operands;
  auto result = typeOf(group.getResult(0));
  for (BlockArgument arg : group.getBody().getArguments()) {
    bool read = arg == op.getLhs() || arg == op.getRhs();
    if (!read && typeOf(arg).getElementType() == result.getElementType() && typeOf(arg).getShape() == result.getShape())
      operands.push_back(arg.getArgNumber());
  }
  return operands;
}

uint64_t Epilogue::scratchBytes(GroupOp group, int64_t rows, int64_t vectors, int64_t lanes) {
  return isCheap(group) ? 0 : llvm::alignTo(rows * vectors * lanes * 4, 64);
}

Epilogue::Epilogue(GroupOp group, MatMulOp op, KernelBuilder &kernel, TileBuilder &tiles, uint64_t scratchAt,
                   int64_t rows, int64_t vectors)
    : group(group), product(op.getResult()), kernel(kernel), t(tiles),
      columns(typeOf(group.getResult(0)).getShape().back()) {
  if (scratchBytes(group, rows, vectors, t.lanes))
    tile = t.scratch(kernel.scratch, scratchAt, rows * vectors * t.lanes);
}

void Epilogue::write(ArrayRef<Value> sums, Value row, int64_t rows, Value column, ArrayRef<Value> masks) {
  int64_t vectors = masks.size(), pitch = vectors * t.lanes;
  if (tile) {
    for (int64_t i = 0; i < rows * vectors; ++i)
      t.storeVector(tile, t.index(i * t.lanes), sums[i]);
    return writeRows(tile, t.index(0), pitch, row, t.add(row, rows), column, masks);
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      writeVector(sums[r * vectors + v], t.mul(t.add(row, r), columns), t.add(column, v * t.lanes), masks[v]);
}

void Epilogue::writeRows(Value memory, Value at, int64_t pitch, Value begin, Value end, Value column,
                         ArrayRef<Value> masks) {
  forLoop(t.b, t.loc, begin, end, 1, [&](Value row) {
    Value from = t.add(at, t.mul(t.sub(row, begin), pitch));
    for (size_t v = 0; v < masks.size(); ++v)
      writeVector(t.loadVector(memory, t.add(from, v * t.lanes)), t.mul(row, columns), t.add(column, v * t.lanes),
                  masks[v]);
  });
}

void Epilogue::writeVector(Value sum, Value rowAt, Value column, Value mask) {
  Place place;
  place.sum = sum, place.element = t.add(rowAt, column), place.column = column, place.mask = mask;
  Value result = at(group.getBody().front().getTerminator()->getOperand(0), place);
  t.storeVector(t.flat(kernel.outputs[0]), place.element, result, mask);
}

Value Epilogue::at(Value value, Place &place) {
  if (value == product)
    return place.sum;
  Value &known = place.known[value];
  if (known)
    return known;
  Value computed = compute(value, place); // may grow the map: `known` is stale
  return place.known[value] = computed;
}

Value Epilogue::load(unsigned argument, Place &place) {
  BlockArgument arg = group.getBody().getArgument(argument);
  Access access = accessOf(arg, typeOf(group.getResult(0)));
  Value memref = t.flat(kernel.inputs[argument]);
  Value where = access == Access::whole ? place.element : access == Access::column ? place.column : t.index(0);
  if (!typeOf(arg).getElementType().isInteger(1))
    return access == Access::scalar ? t.splat(t.loadScalar(memref, where)) : t.loadVector(memref, where, place.mask);
  // Bools are bytes.
  auto bytes = VectorType::get({t.lanes}, t.b.getI8Type());
  Value zero = arith::ConstantOp::create(t.b, t.loc, t.b.getZeroAttr(bytes)), x;
  if (access == Access::scalar)
    x = t.splat(memref::LoadOp::create(t.b, t.loc, memref, ValueRange{where}));
  else if (place.mask)
    x = vector::MaskedLoadOp::create(t.b, t.loc, bytes, memref, ValueRange{where}, place.mask, zero);
  else
    x = vector::LoadOp::create(t.b, t.loc, bytes, memref, ValueRange{where});
  return arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::ne, x, zero);
}

Value Epilogue::compute(Value value, Place &place) {
  if (auto arg = dyn_cast<BlockArgument>(value))
    return load(arg.getArgNumber(), place);
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    if (typeOf(value).getElementType().isInteger(1))
      return t.splat(arith::ConstantIntOp::create(t.b, t.loc, splat.getSplatValue<bool>(), 1));
    return t.splat(t.f32(splat.getSplatValue<APFloat>().convertToDouble()));
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return at(reshape.getInput(), place);
  if (auto unary = dyn_cast<UnaryOp>(op))
    return emitUnary(t.b, t.loc, unary.getKind(), at(unary.getInput(), place));
  if (auto binary = dyn_cast<BinaryOp>(op)) {
    Value lhs = at(binary.getLhs(), place), rhs = at(binary.getRhs(), place);
    return emitBinary(t.b, t.loc, binary.getKind(), lhs, rhs);
  }
  if (auto select = dyn_cast<SelectOp>(op)) {
    Value c = at(select.getCondition(), place), x = at(select.getOnTrue(), place), y = at(select.getOnFalse(), place);
    return arith::SelectOp::create(t.b, t.loc, c, x, y);
  }
  auto cast = mlir::cast<CastOp>(op);
  Value x = at(cast.getInput(), place);
  bool from = typeOf(cast.getInput()).getElementType().isInteger(1), to = typeOf(value).getElementType().isInteger(1);
  if (from == to) // between floats: registers are f32, the store rounds
    return x;
  if (to)
    return arith::CmpFOp::create(t.b, t.loc, arith::CmpFPredicate::UNE, x, t.zeroVector());
  return arith::SelectOp::create(t.b, t.loc, x, t.splat(t.f32(1)), t.zeroVector());
}
