//===- Tiles.cpp - register tiles of matrix products ----------------------===//
#include "lib/Target/cpu/emit/Tiles.h"

#include "lib/Target/cpu/emit/Loops.h"
#include "lib/Target/cpu/emit/VectorMath.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;

//===----------------------------------------------------------------------===//
// TileBuilder
//===----------------------------------------------------------------------===//

TileBuilder::TileBuilder(OpBuilder &b, const Isa &isa)
    : b(b), loc(b.getUnknownLoc()), lanes(isa.lanesF32()), f16c(llvm::is_contained(isa.features, "f16c")) {}

/// Constants fold here: kernels have thousands of index operations, and the passes behind pay for each.
static std::optional<int64_t> constantOf(Value v) {
  auto op = v.getDefiningOp<arith::ConstantIndexOp>();
  return op ? std::optional<int64_t>(op.value()) : std::nullopt;
}

Value TileBuilder::index(int64_t v) { return arith::ConstantIndexOp::create(b, loc, v); }
Value TileBuilder::add(Value x, Value y) {
  if (auto c = constantOf(y))
    return add(x, *c);
  if (auto c = constantOf(x))
    return add(y, *c);
  return arith::AddIOp::create(b, loc, x, y);
}
Value TileBuilder::add(Value x, int64_t y) {
  if (y == 0)
    return x;
  if (auto c = constantOf(x))
    return index(*c + y);
  return arith::AddIOp::create(b, loc, x, index(y));
}
Value TileBuilder::sub(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
Value TileBuilder::mul(Value x, int64_t y) {
  if (auto c = constantOf(x))
    return index(*c * y);
  return y == 1 ? x : Value(arith::MulIOp::create(b, loc, x, index(y)));
}
Value TileBuilder::div(Value x, int64_t y) { return y == 1 ? x : Value(arith::DivUIOp::create(b, loc, x, index(y))); }
Value TileBuilder::rem(Value x, int64_t y) {
  return y == 1 ? index(0) : Value(arith::RemUIOp::create(b, loc, x, index(y)));
}
Value TileBuilder::min(Value x, Value y) { return arith::MinSIOp::create(b, loc, x, y); }
Value TileBuilder::max(Value x, Value y) { return arith::MaxSIOp::create(b, loc, x, y); }
Value TileBuilder::f32(float v) { return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(v)); }

Value TileBuilder::flat(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  Type element = type.getElementType();
  auto target = MemRefType::get({type.getNumElements()}, element);
  if (type != target)
    memref = memref::ReinterpretCastOp::create(b, loc, target, memref, /*offset=*/0,
                                               ArrayRef<int64_t>{type.getNumElements()}, ArrayRef<int64_t>{1});
  if (!element.isF16() && !element.isBF16())
    return memref;
  // Both are a pointer and sizes to LLVM, so the cast vanishes in reconcile-unrealized-casts.
  auto bits = MemRefType::get({type.getNumElements()}, b.getI16Type());
  Value cast = UnrealizedConversionCastOp::create(b, loc, bits, memref).getResult(0);
  floatElement[cast] = element;
  return cast;
}

Type TileBuilder::elementOf(Value memref) {
  auto it = floatElement.find(memref);
  return it != floatElement.end() ? it->second : cast<MemRefType>(memref.getType()).getElementType();
}

Value TileBuilder::widen(Value loaded, Type element) {
  if (element.isF16() || element.isBF16()) {
    auto vec = dyn_cast<VectorType>(loaded.getType());
    loaded = arith::BitcastOp::create(b, loc, vec ? Type(vec.cloneWith(std::nullopt, element)) : element, loaded);
  }
  return emitToF32(b, loc, loaded, f16c);
}

Value TileBuilder::narrow(Value x, Value memref) {
  Type element = elementOf(memref), stored = cast<MemRefType>(memref.getType()).getElementType();
  x = emitFromF32(b, loc, x, element, f16c);
  if (element == stored)
    return x;
  auto vec = dyn_cast<VectorType>(x.getType());
  return arith::BitcastOp::create(b, loc, vec ? Type(vec.cloneWith(std::nullopt, stored)) : stored, x);
}

Value TileBuilder::scratch(Value scratch, uint64_t offset, int64_t count) {
  return memref::ViewOp::create(b, loc, MemRefType::get({count}, b.getF32Type()), scratch, index(offset), ValueRange());
}

Value TileBuilder::loadScalar(Value memref, Value at) {
  return widen(memref::LoadOp::create(b, loc, memref, ValueRange{at}), elementOf(memref));
}

Value TileBuilder::maskOf(Value count) {
  if (std::optional<int64_t> c = constantOf(count); c && *c >= lanes)
    return {};
  return vector::CreateMaskOp::create(b, loc, VectorType::get({lanes}, b.getI1Type()), ValueRange{count});
}

Value TileBuilder::loadVector(Value memref, Value at, Value mask) {
  auto type = VectorType::get({lanes}, cast<MemRefType>(memref.getType()).getElementType());
  if (!mask)
    return widen(vector::LoadOp::create(b, loc, type, memref, ValueRange{at}), elementOf(memref));
  Value none = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  return widen(vector::MaskedLoadOp::create(b, loc, type, memref, ValueRange{at}, mask, none), elementOf(memref));
}

void TileBuilder::storeVector(Value memref, Value at, Value value, Value mask) {
  value = narrow(value, memref);
  if (!mask)
    vector::StoreOp::create(b, loc, value, memref, ValueRange{at});
  else
    vector::MaskedStoreOp::create(b, loc, memref, ValueRange{at}, mask, value);
}

void TileBuilder::storeScalar(Value memref, Value at, Value scalar) {
  memref::StoreOp::create(b, loc, narrow(scalar, memref), memref, ValueRange{at});
}

Value TileBuilder::splat(Value scalar) {
  return vector::BroadcastOp::create(b, loc, VectorType::get({lanes}, scalar.getType()), scalar);
}
Value TileBuilder::zeroVector() { return arith::ConstantOp::create(b, loc, b.getZeroAttr(vectorType())); }

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

SmallVector<Value> cpu::multiplyTile(TileBuilder &t, int64_t rows, int64_t vectors, Value depth,
                                     const TileOperands &operands, ArrayRef<Value> init) {
  // Separate vector<lanes> accumulators as iter_args: a vector<rows x lanes> would be taken apart by canonicalisation
  // into element chains that LLVM does not put together again (97 -> 2.7 GFLOP/s, knowledge/cpu.md 1.2).
  SmallVector<Value> start =
      init.empty() ? SmallVector<Value>(rows * vectors, t.zeroVector()) : SmallVector<Value>(init);
  auto loop = scf::ForOp::create(t.b, t.loc, t.index(0), depth, t.index(1), start);
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(loop.getBody());
  Value k = loop.getInductionVar();
  SmallVector<Value> columns, next;
  for (int64_t v = 0; v < vectors; ++v)
    columns.push_back(operands.b(k, v));
  if (operands.prefetch)
    operands.prefetch(k);
  for (int64_t r = 0; r < rows; ++r) {
    Value x = t.splat(operands.a(k, r));
    for (int64_t v = 0; v < vectors; ++v)
      next.push_back(vector::FMAOp::create(t.b, t.loc, x, columns[v], loop.getRegionIterArgs()[r * vectors + v]));
  }
  scf::YieldOp::create(t.b, t.loc, next);
  return SmallVector<Value>(loop.getResults());
}

RowTiles RowTiles::cut(int64_t total, int64_t most) {
  RowTiles tiles;
  tiles.count = llvm::divideCeil(total, most);
  if (tiles.count == 0)
    return tiles;
  tiles.rows = llvm::divideCeil(total, tiles.count);
  tiles.larger = total - tiles.count * (tiles.rows - 1);
  return tiles;
}

void cpu::forRowTiles(TileBuilder &t, const RowTiles &tiles, Value begin, Value end,
                      llvm::function_ref<void(Value, Value, int64_t)> body) {
  bool even = tiles.larger == tiles.count;
  Value middle = even ? end : t.max(t.min(end, t.index(tiles.larger)), begin);
  forLoop(t.b, t.loc, begin, middle, 1, [&](Value i) { body(i, t.mul(i, tiles.rows), tiles.rows); });
  if (even)
    return;
  forLoop(t.b, t.loc, middle, end, 1,
          [&](Value i) { body(i, t.add(t.mul(i, tiles.rows - 1), tiles.larger), tiles.rows - 1); });
}

int64_t cpu::chooseBlocks(int64_t tiles, int64_t tasks, unsigned threads) {
  // 4 tasks a worker bound the idle end of the last one to a quarter of its share, or none if they divide evenly.
  constexpr int64_t tasksPerThread = 4;
  int64_t blocks = 1;
  while (blocks < tiles && blocks * tasks < tasksPerThread * threads && (blocks * tasks) % threads != 0)
    ++blocks;
  return std::min(blocks, std::max<int64_t>(tiles, 1));
}

int64_t cpu::tileRows(const Isa &isa, int64_t vectors) {
  if (vectors == isa.matmulVectors)
    return isa.matmulRows;
  return std::max<int64_t>((isa.vectorRegisters - 2) / vectors - 1, 1);
}

int64_t cpu::tileVectors(const Isa &isa, int64_t n) {
  int64_t lanes = isa.lanesF32(), best = isa.matmulVectors;
  auto columns = [&](int64_t v) { return llvm::divideCeil(n, v * lanes) * v * lanes; };
  for (int64_t v = best - 1; v >= 1; --v) // a narrower tile loads more per FMA: only if it saves 1/6 of the columns
    if (columns(v) * 6 <= columns(best) * 5)
      best = v;
  return best;
}

Value cpu::reduceLanes(TileBuilder &t, Value vector, llvm::function_ref<Value(Value, Value)> join) {
  for (int64_t n = cast<VectorType>(vector.getType()).getDimSize(0); n > 1; n /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < n / 2; ++i) {
      low.push_back(i);
      high.push_back(i + n / 2);
    }
    vector = join(vector::ShuffleOp::create(t.b, t.loc, vector, vector, low),
                  vector::ShuffleOp::create(t.b, t.loc, vector, vector, high));
  }
  return vector::ExtractOp::create(t.b, t.loc, vector, 0);
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

SmallVector<Value> cpu::transposeSquare(TileBuilder &t, SmallVector<Value> rows) {
  // log2(lanes) perfect shuffles: rows i and i + lanes/2 interleave into rows 2i and 2i + 1.
  int64_t n = t.lanes;
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < n / 2; ++i) {
    low.append({i, i + n});
    high.append({i + n / 2, i + n / 2 + n});
  }
  for (int64_t stage = 1; stage < n; stage *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < n / 2; ++i)
      for (ArrayRef<int64_t> mask : {ArrayRef<int64_t>(low), ArrayRef<int64_t>(high)})
        next.push_back(vector::ShuffleOp::create(t.b, t.loc, rows[i], rows[i + n / 2], mask));
    rows = std::move(next);
  }
  return rows;
}

void cpu::packTransposed(TileBuilder &t, Value source, Value sourceAt, int64_t rowStride, Value count, Value target,
                         Value targetAt, int64_t width, int64_t depth) {
  // Squares of lanes x lanes; rows beyond `count` read row count - 1 again (always there) and are masked to zero.
  Value last = t.max(t.sub(count, t.index(1)), t.index(0));
  auto square = [&](Value n0, Value k0, int64_t deep) {
    Value inDepth = t.maskOf(deep), live = t.maskOf(t.max(t.min(t.sub(count, n0), t.index(t.lanes)), t.index(0)));
    SmallVector<Value> rows;
    for (int64_t n = 0; n < t.lanes; ++n) {
      Value row = t.min(t.add(n0, n), last);
      rows.push_back(t.loadVector(source, t.add(t.add(sourceAt, t.mul(row, rowStride)), k0), inDepth));
    }
    rows = transposeSquare(t, std::move(rows));
    for (int64_t k = 0; k < deep; ++k) {
      Value x = live ? Value(arith::SelectOp::create(t.b, t.loc, live, rows[k], t.zeroVector())) : rows[k];
      t.storeVector(target, t.add(t.add(targetAt, n0), t.mul(t.add(k0, k), width)), x);
    }
  };
  forLoop(t.b, t.loc, t.index(0), t.index(width), t.lanes, [&](Value n0) {
    int64_t full = depth / t.lanes * t.lanes;
    if (full)
      forLoop(t.b, t.loc, t.index(0), t.index(full), t.lanes, [&](Value k0) { square(n0, k0, t.lanes); });
    if (full < depth)
      square(n0, t.index(full), depth - full);
  });
}

void cpu::packStraight(TileBuilder &t, Value source, Value sourceAt, int64_t rowStride, Value count, Value target,
                       Value targetAt, int64_t width, Value depth) {
  SmallVector<Value> masks;
  for (int64_t n = 0; n < width; n += t.lanes)
    masks.push_back(t.maskOf(t.max(t.sub(count, t.index(n)), t.index(0))));
  forLoop(t.b, t.loc, t.index(0), depth, 1, [&](Value k) {
    Value from = t.add(sourceAt, t.mul(k, rowStride)), to = t.add(targetAt, t.mul(k, width));
    for (int64_t n = 0; n < width; n += t.lanes)
      t.storeVector(target, t.add(to, n), t.loadVector(source, t.add(from, n), masks[n / t.lanes]));
  });
}
