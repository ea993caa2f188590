//===- Reduce.cpp - reductions --------------------------------------------===//
#include "dialects/graph/Eval.h"
#include "dialects/graph/Infer.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::graph;

static Dims reducedDims(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes, bool keepdims) {
  Dims dims;
  for (auto [i, d] : llvm::enumerate(shape)) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(i)))
      dims.push_back(d);
    else if (keepdims)
      dims.push_back(1);
  }
  return dims;
}

/// Number of elements that are reduced to one.
static int64_t lengthOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes) {
  int64_t length = 1;
  for (int64_t axis : axes)
    length *= shape[axis];
  return length;
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, OptionalLoc loc, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  auto type = tensorType(adaptor.getInput());
  ArrayRef<int64_t> axes = adaptor.getAxes();
  if (axes.empty() || !llvm::is_sorted(axes) || std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    return emitOptionalError(loc, "axes ", listText(axes), " must be sorted, distinct and not empty");
  for (int64_t axis : axes)
    if (failed(checkAxis(loc, axis, type.getRank())))
      return failure();
  bool ordersOnly = adaptor.getKind() == ReduceKind::max || adaptor.getKind() == ReduceKind::min;
  if (type.getElementType().isInteger(1) && !ordersOnly)
    return emitOptionalError(loc, "kind '", stringifyReduceKind(adaptor.getKind()), "' does not take element type i1");
  return addResult(loc, reducedDims(type.getShape(), axes, adaptor.getKeepdims()), type.getElementType(), results);
}

/// Result of an empty range.
static double identityOf(ReduceKind kind) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return kind == ReduceKind::max ? -infinity : kind == ReduceKind::min ? infinity : kind == ReduceKind::prod ? 1 : 0;
}

static int64_t integerIdentity(ReduceKind kind, Type type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (kind != ReduceKind::max && kind != ReduceKind::min)
    return kind == ReduceKind::prod;
  if (type.isInteger(1))
    return kind == ReduceKind::min;
  return saturate(kind == ReduceKind::max ? -infinity : infinity, type); // lowest or highest value
}

static double combine(ReduceKind kind, double acc, double x) {
  switch (kind) {
  case ReduceKind::sum:
  case ReduceKind::mean: return acc + x;
  case ReduceKind::sumsq: return acc + x * x;
  case ReduceKind::prod: return acc * x;
  case ReduceKind::max: return std::isnan(acc) || x <= acc ? acc : x; // NaN wins on either side
  case ReduceKind::min: return std::isnan(acc) || x >= acc ? acc : x;
  }
  llvm_unreachable("covered switch");
}

static int64_t combineInts(ReduceKind kind, int64_t acc, int64_t x, Type type) {
  auto a = static_cast<uint64_t>(acc), b = static_cast<uint64_t>(x);
  switch (kind) {
  case ReduceKind::sum:
  case ReduceKind::mean: return static_cast<int64_t>(a + b);
  case ReduceKind::sumsq: return static_cast<int64_t>(a + b * b);
  case ReduceKind::prod: return static_cast<int64_t>(a * b);
  case ReduceKind::max: return intLess(acc, x, type) ? x : acc;
  case ReduceKind::min: return intLess(x, acc, type) ? x : acc;
  }
  llvm_unreachable("covered switch");
}

static int64_t integerMean(int64_t sum, int64_t count, Type type) {
  if (count == 0)
    return 0; // as integer division by zero everywhere else
  return type.isUnsignedInteger(64) ? static_cast<int64_t>(static_cast<uint64_t>(sum) / count) : sum / count;
}

LogicalResult ReduceOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  ReduceKind kind = getKind();
  Dims kept = reducedDims(x.shape, getAxes(), true);
  FailureOr<HostTensor> out = allocate(*this, kept, x.elementType);
  if (failed(out))
    return failure();
  int64_t count = lengthOf(x.shape, getAxes());
  auto each = [&](auto fn) { forEachElement<1>(x.shape, {broadcastStrides(kept, x.shape)}, {0}, fn); };
  if (out->isFloat()) {
    std::vector<double> &acc = out->floats();
    llvm::fill(acc, identityOf(kind));
    each([&](int64_t i, auto at) { acc[at[0]] = combine(kind, acc[at[0]], x.floats()[i]); });
    if (kind == ReduceKind::mean)
      for (double &sum : acc)
        sum /= static_cast<double>(count); // an empty range: 0/0 = NaN
  } else {
    std::vector<int64_t> &acc = out->ints();
    llvm::fill(acc, integerIdentity(kind, x.elementType));
    each([&](int64_t i, auto at) { acc[at[0]] = combineInts(kind, acc[at[0]], x.ints()[i], x.elementType); });
    if (kind == ReduceKind::mean)
      for (int64_t &sum : acc)
        sum = integerMean(sum, count, x.elementType);
  }
  out->shape = reducedDims(x.shape, getAxes(), getKeepdims());
  return finish(std::move(*out), results);
}

//===----------------------------------------------------------------------===//
// arg_reduce
//===----------------------------------------------------------------------===//

LogicalResult ArgReduceOp::inferReturnTypes(MLIRContext *context, OptionalLoc loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &results) {
  ArrayRef<int64_t> dims = dimsOf(adaptor.getInput());
  int64_t axis = adaptor.getAxis();
  if (failed(checkAxis(loc, axis, dims.size())))
    return failure();
  if (dims[axis] == 0)
    return emitOptionalError(loc, "axis ", axis, " has no elements");
  return addResult(loc, reducedDims(dims, {axis}, adaptor.getKeepdims()), IntegerType::get(context, 64), results);
}

/// Position of the extreme among `n` elements `stride` apart; NaN counts as more extreme than any number, as in numpy.
template <typename T, typename Less>
static int64_t extremeOf(const T *data, int64_t n, int64_t stride, bool wantMin, bool wantLast, Less less) {
  int64_t best = 0;
  for (int64_t k = 1; k < n; ++k) {
    T x = data[k * stride], leader = data[best * stride];
    bool nan = x != x, leaderNan = leader != leader;
    bool better = nan || leaderNan ? nan && !leaderNan : wantMin ? less(x, leader) : less(leader, x);
    bool tie = nan == leaderNan && (nan || x == leader);
    if (better || (wantLast && tie))
      best = k;
  }
  return best;
}

LogicalResult ArgReduceOp::evaluate(ArrayRef<HostTensor> operands, SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = operands[0];
  int64_t axis = getAxis(), n = x.shape[axis], stride = stridesOf(x.shape)[axis];
  if (n == 0)
    return emitOpError("axis ") << axis << " has no elements";
  FailureOr<HostTensor> out =
      allocate(*this, reducedDims(x.shape, {axis}, getKeepdims()), IntegerType::get(getContext(), 64));
  if (failed(out))
    return failure();
  for (int64_t lane = 0, lanes = out->elementCount(); lane < lanes; ++lane) {
    int64_t base = lane / stride * stride * n + lane % stride;
    out->ints()[lane] =
        x.isFloat() ? extremeOf(x.floats().data() + base, n, stride, getMin(), getSelectLast(), std::less<double>())
                    : extremeOf(x.ints().data() + base, n, stride, getMin(), getSelectLast(),
                                [&](int64_t a, int64_t b) { return intLess(a, b, x.elementType); });
  }
  results.push_back(std::move(*out));
  return success();
}
