//===- Loops.cpp - plain loops and grids ----------------------------------===//
#include "lib/Target/cpu/emit/Loops.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;

void cpu::forRow(OpBuilder &b, Location loc, int64_t n, int64_t width, llvm::function_ref<void(Index, int64_t)> body) {
  auto constant = [&](int64_t v) { return arith::ConstantIndexOp::create(b, loc, v); };
  int64_t full = width > 1 ? n / width * width : 0;
  if (full)
    forLoop(b, loc, constant(0), constant(full), width, [&](Value j) { body({j, true}, width); });
  if (full < n)
    forLoop(b, loc, constant(full), constant(n), 1, [&](Value j) { body({j, false}, 1); });
}
