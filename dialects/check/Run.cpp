//===- Run.cpp - executes the checks of a module --------------------------===//
#include "dialects/check/Run.h"

#include "dialects/check/Check.h"
#include "dialects/graph/Evaluate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::check;
using graph::HostTensor;

namespace {

/// The element that misses its tolerance by most, and how many miss it.
struct Worst {
  int64_t index = -1, failures = 0;
  double excess = 0;

  void see(int64_t i, double by) {
    ++failures;
    if (index < 0 || by > excess)
      index = i, excess = by;
  }
};

/// By how much `a` lies outside the tolerance around `b`; 0 if inside, infinity if they cannot be compared.
double excessOf(double a, double b, double atol, double rtol) {
  constexpr double never = std::numeric_limits<double>::infinity();
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b) ? 0 : never;
  bool exact = atol == 0 && rtol == 0;
  if (a == b)
    return exact && std::signbit(a) != std::signbit(b) ? never : 0;
  if (std::isinf(a) || std::isinf(b))
    return never;
  return std::max(0.0, std::fabs(a - b) - (atol + rtol * std::fabs(b)));
}

/// The same for integers, whose difference may not fit into int64.
double excessOf(int64_t a, int64_t b, double atol, double rtol) {
  if (a == b)
    return 0;
  double distance = std::fabs(static_cast<double>(a) - static_cast<double>(b));
  return std::max(0.0, std::max(distance, 1.0) - (atol + rtol * std::fabs(static_cast<double>(b))));
}

Worst compare(const HostTensor &actual, const HostTensor &expected, double atol, double rtol) {
  Worst worst;
  auto scan = [&](const auto &a, const auto &b) {
    for (size_t i = 0; i < a.size(); ++i)
      if (double excess = excessOf(a[i], b[i], atol, rtol); excess > 0)
        worst.see(i, excess);
  };
  if (actual.isFloat())
    scan(actual.floats(), expected.floats());
  else
    scan(actual.ints(), expected.ints());
  return worst;
}

/// "[1, 0, 2]" of a row-major position.
std::string indexText(ArrayRef<int64_t> shape, int64_t at) {
  SmallVector<int64_t> index(shape.size());
  for (size_t i = shape.size(); i-- > 0; at /= shape[i])
    index[i] = at % shape[i];
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(index, os);
  os << ']';
  return text;
}

/// 17 digits: what differs must look different.
std::string valueText(const HostTensor &t, int64_t at) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (t.isFloat())
    os << llvm::format("%.17g", t.floats()[at]);
  else
    os << t.ints()[at];
  return text;
}

/// Operand values of the checks, as seen by the evaluator.
using Observed = DenseMap<Value, HostTensor>;

LogicalResult run(ExpectCloseOp op, const Observed &values) {
  const HostTensor &actual = values.at(op.getActual()), &expected = values.at(op.getExpected());
  if (actual.shape != expected.shape)
    return op.emitError("shapes differ: found ") << actual.type() << ", expected " << expected.type();
  Worst worst = compare(actual, expected, op.getAtol().convertToDouble(), op.getRtol().convertToDouble());
  if (worst.index < 0)
    return success();
  return op.emitError("values differ at ")
         << indexText(actual.shape, worst.index) << ": found " << valueText(actual, worst.index) << ", expected "
         << valueText(expected, worst.index) << " (" << worst.failures << " of " << actual.elementCount()
         << " elements differ)";
}

LogicalResult run(ExpectFiniteOp op, const Observed &values) {
  const HostTensor &actual = values.at(op.getActual());
  auto bad = llvm::find_if(actual.floats(), [](double x) { return !std::isfinite(x); });
  if (bad == actual.floats().end())
    return success();
  int64_t at = bad - actual.floats().begin();
  return op.emitError("value at ") << indexText(actual.shape, at) << " is " << valueText(actual, at)
                                   << ", expected a finite one";
}

LogicalResult runFunction(func::FuncOp function, graph::WeightSource *weights) {
  Observed observed;
  SmallVector<Operation *> checks;
  function.walk([&](Operation *op) {
    if (!isa<ExpectCloseOp, ExpectFiniteOp>(op))
      return;
    checks.push_back(op);
    for (Value v : op->getOperands())
      observed.try_emplace(v);
  });
  if (checks.empty())
    return success();
  SmallVector<HostTensor> results;
  auto observe = [&](OpResult result, const HostTensor &value) {
    if (auto it = observed.find(result); it != observed.end())
      it->second = value;
  };
  if (failed(graph::evaluateRegion(function.getBody(), {}, results, weights, observe)))
    return failure();
  bool ok = true; // report all failing checks, not the first only
  for (Operation *op : checks)
    ok &= TypeSwitch<Operation *, bool>(op).Case<ExpectCloseOp, ExpectFiniteOp>(
        [&](auto check) { return succeeded(run(check, observed)); });
  return success(ok);
}

} // namespace

LogicalResult check::runChecks(ModuleOp module, graph::WeightSource *weights) {
  bool ok = true;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isDeclaration() && function.getNumArguments() == 0)
      ok &= succeeded(runFunction(function, weights));
  return success(ok);
}
