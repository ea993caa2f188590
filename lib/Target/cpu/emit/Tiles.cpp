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

Value TileBuilder::index(int64_t v) { return arith::ConstantIndexOp::create(b, loc, v); }
Value TileBuilder::add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
Value TileBuilder::add(Value x, int64_t y) { return y ? add(x, index(y)) : x; }
Value TileBuilder::mul(Value x, int64_t y) { return arith::MulIOp::create(b, loc, x, index(y)); }
Value TileBuilder::div(Value x, int64_t y) { return arith::DivUIOp::create(b, loc, x, index(y)); }
Value TileBuilder::rem(Value x, int64_t y) { return arith::RemUIOp::create(b, loc, x, index(y)); }
Value TileBuilder::min(Value x, Value y) { return arith::MinUIOp::create(b, loc, x, y); }

Value TileBuilder::flat(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  auto target = MemRefType::get({type.getNumElements()}, type.getElementType());
  if (type == target)
    return memref;
  return memref::ReinterpretCastOp::create(b, loc, target, memref, /*offset=*/0, ArrayRef<int64_t>{type.getNumElements()},
                                           ArrayRef<int64_t>{1});
}

Value TileBuilder::scratch(Value scratch, uint64_t offset, int64_t count) {
  return memref::ViewOp::create(b, loc, MemRefType::get({count}, b.getF32Type()), scratch, index(offset), ValueRange());
}

Value TileBuilder::loadScalar(Value memref, Value at) {
  return emitToF32(b, loc, memref::LoadOp::create(b, loc, memref, ValueRange{at}));
}

static Value maskOf(TileBuilder &t, int64_t count) {
  return vector::CreateMaskOp::create(t.b, t.loc, VectorType::get({t.lanes}, t.b.getI1Type()), ValueRange{t.index(count)});
}

Value TileBuilder::loadVector(Value memref, Value at, int64_t count) {
  auto type = VectorType::get({lanes}, cast<MemRefType>(memref.getType()).getElementType());
  if (count >= lanes)
    return emitToF32(b, loc, vector::LoadOp::create(b, loc, type, memref, ValueRange{at}));
  Value none = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  return emitToF32(b, loc, vector::MaskedLoadOp::create(b, loc, type, memref, ValueRange{at}, maskOf(*this, count), none));
}

void TileBuilder::storeVector(Value memref, Value at, Value value, int64_t count) {
  if (count >= lanes)
    vector::StoreOp::create(b, loc, value, memref, ValueRange{at});
  else
    vector::MaskedStoreOp::create(b, loc, memref, ValueRange{at}, maskOf(*this, count), value);
}

void TileBuilder::storeScalar(Value memref, Value at, Value scalar) {
  memref::StoreOp::create(b, loc, scalar, memref, ValueRange{at});
}

Value TileBuilder::splat(Value scalar) { return vector::BroadcastOp::create(b, loc, vectorType(), scalar); }
Value TileBuilder::zeroVector() { return arith::ConstantOp::create(b, loc, b.getZeroAttr(vectorType())); }

SmallVector<Value> cpu::multiplyTile(TileBuilder &t, int64_t rows, int64_t vectors, Value depth,
                                     llvm::function_ref<Value(Value, int64_t)> a,
                                     llvm::function_ref<Value(Value, int64_t)> bVector) {
  // Separate vector<lanes> accumulators as iter_args: a vector<rows x lanes> would be taken apart by canonicalisation into
  // element chains that LLVM does not put together again (97 -> 2.7 GFLOP/s, knowledge/cpu.md 1.2).
  SmallVector<Value> zeros(rows * vectors, t.zeroVector());
  auto loop = scf::ForOp::create(t.b, t.loc, t.index(0), depth, t.index(1), zeros);
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(loop.getBody());
  Value k = loop.getInductionVar();
  SmallVector<Value> columns, next;
  for (int64_t v = 0; v < vectors; ++v)
    columns.push_back(bVector(k, v));
  for (int64_t r = 0; r < rows; ++r) {
    Value x = t.splat(a(k, r));
    for (int64_t v = 0; v < vectors; ++v)
      next.push_back(vector::FMAOp::create(t.b, t.loc, x, columns[v], loop.getRegionIterArgs()[r * vectors + v]));
  }
  scf::YieldOp::create(t.b, t.loc, next);
  return SmallVector<Value>(loop.getResults());
}

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

void cpu::packTransposed(TileBuilder &t, Value source, Value sourceAt, int64_t rowStride, int64_t count, Value target,
                         Value targetAt, int64_t width, int64_t depth) {
  int64_t squareDepth = depth / t.lanes * t.lanes, squareCount = count / t.lanes * t.lanes;
  for (int64_t n0 = 0; n0 < squareCount && squareDepth; n0 += t.lanes)
    forLoop(t.b, t.loc, t.index(0), t.index(squareDepth), t.lanes, [&](Value k0) {
      SmallVector<Value> rows;
      for (int64_t n = 0; n < t.lanes; ++n)
        rows.push_back(t.loadVector(source, t.add(t.add(sourceAt, (n0 + n) * rowStride), k0), t.lanes));
      rows = transposeSquare(t, std::move(rows));
      for (int64_t k = 0; k < t.lanes; ++k)
        t.storeVector(target, t.add(t.add(targetAt, n0), t.mul(t.add(k0, k), width)), rows[k], t.lanes);
    });
  auto scalars = [&](int64_t n0, int64_t n1, int64_t k0) {
    if (n0 >= n1 || k0 >= depth)
      return;
    forLoop(t.b, t.loc, t.index(n0), t.index(n1), 1, [&](Value n) {
      forLoop(t.b, t.loc, t.index(k0), t.index(depth), 1, [&](Value k) {
        Value x = t.loadScalar(source, t.add(t.add(sourceAt, t.mul(n, rowStride)), k));
        t.storeScalar(target, t.add(t.add(targetAt, n), t.mul(k, width)), x);
      });
    });
  };
  scalars(0, squareCount, squareDepth);
  scalars(squareDepth ? squareCount : 0, count, 0);
  if (count < width)
    forLoop(t.b, t.loc, t.index(0), t.index(depth), 1, [&](Value k) {
      forLoop(t.b, t.loc, t.index(count), t.index(width), 1, [&](Value n) {
        Value zero = arith::ConstantOp::create(t.b, t.loc, t.b.getF32FloatAttr(0));
        t.storeScalar(target, t.add(t.add(targetAt, n), t.mul(k, width)), zero);
      });
    });
}

void cpu::forTiles(TileBuilder &t, Value begin, int64_t total, int64_t tile,
                   llvm::function_ref<void(Value, int64_t)> body) {
  int64_t full = total / tile * tile;
  if (full)
    forLoop(t.b, t.loc, t.index(0), t.index(full), tile, [&](Value i) { body(t.add(begin, i), tile); });
  if (full < total)
    body(t.add(begin, full), total - full);
}
