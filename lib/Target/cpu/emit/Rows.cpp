//===- Rows.cpp - kernels that need statistics of a row -------------------===//
//
// softmax, layer_norm, rms_norm and reductions over the trailing dims, with producers (residual additions, embedding
// gathers, masks) and consumers. One task = one row. The first pass over a row computes the producers once into scratch
// (f32, in L1 or L2), later passes and the consumers read it from there.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/emit/Emit.h"
#include "lib/Target/cpu/emit/Loops.h"
#include "lib/Target/cpu/emit/RowLoops.h"
#include "lib/Target/cpu/emit/VectorMath.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

namespace {

RankedTensorType tensorOf(Value v) { return cast<RankedTensorType>(v.getType()); }
ValueRange yielded(GroupOp group) { return group.getBody().front().getTerminator()->getOperands(); }
bool isComputedInF32(Type t) { return t.isF32() || t.isF16() || t.isBF16(); }

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

/// First of the trailing dims that `op` needs a pass over before any of its elements is known; nullopt for other ops.
std::optional<int64_t> rowAxis(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([](SoftmaxOp s) -> std::optional<int64_t> {
        int64_t last = tensorOf(s.getInput()).getRank() - 1;
        return static_cast<int64_t>(s.getAxis()) == last ? std::optional(last) : std::nullopt;
      })
      .Case<LayerNormOp, RmsNormOp>([](auto n) { return std::optional<int64_t>(n.getAxis()); })
      .Case([](ReduceOp r) -> std::optional<int64_t> {
        int64_t rank = tensorOf(r.getInput()).getRank(), first = r.getAxes().front();
        return static_cast<int64_t>(r.getAxes().size()) == rank - first ? std::optional(first) : std::nullopt; // sorted
      })
      .Default(std::nullopt);
}

/// The rows of a group: `count` of `length` elements.
struct RowSpace {
  int64_t count = 0, length = 0;
  SmallVector<Operation *> ops; ///< needing a pass, in order
};

std::optional<RowSpace> rowSpace(GroupOp group) {
  RowSpace rows;
  for (Operation &op : group.getBody().front().without_terminator()) {
    std::optional<int64_t> axis = rowAxis(&op);
    if (!axis)
      continue;
    auto type = tensorOf(op.getOperand(0));
    int64_t length = 1;
    for (int64_t d : type.getShape().drop_front(*axis))
      length *= d;
    if (length == 0 || type.getNumElements() == 0 || !isComputedInF32(type.getElementType()))
      return std::nullopt;
    if (!rows.ops.empty() && (rows.length != length || rows.count != type.getNumElements() / length))
      return std::nullopt;
    rows.length = length;
    rows.count = type.getNumElements() / length;
    rows.ops.push_back(&op);
  }
  return rows.ops.empty() ? std::nullopt : std::optional(rows);
}

/// Loop variables row and run. A row of one element has no run in its positions.
IndexSpace startSpace(const RowSpace &rows) {
  IndexSpace space(rows.count * rows.length);
  space.loops = 2;
  space.variables = {{rows.count, 0}, {rows.length, 1}};
  space.result = Affine::variable(0, rows.length);
  if (rows.length > 1)
    space.result.add(Affine::variable(1));
  return space;
}

/// Number of the row as an index.
Affine rowIndex(const IndexSpace &space) {
  Affine index;
  for (auto [v, c] : space.result.terms)
    if (v != space.run())
      index.terms.push_back({v, c / space.runExtent()});
  return index;
}

/// Dims that a norm is taken over, as seen by its scale and bias.
StridedView parameterView(Operation *norm, Value parameter) {
  ArrayRef<int64_t> dims = tensorOf(norm->getOperand(0)).getShape().drop_front(*rowAxis(norm));
  ArrayRef<int64_t> from = tensorOf(parameter).getShape();
  SmallVector<int64_t> own = rowMajorStrides(from), strides(dims.size(), 0);
  for (size_t i = 0, lead = dims.size() - from.size(); i < from.size(); ++i)
    strides[lead + i] = from[i] == 1 ? 0 : own[i];
  return {dims, strides};
}

ValueRange parameters(Operation *op) {
  return isa<LayerNormOp, RmsNormOp>(op) ? op->getOperands().drop_front() : ValueRange();
}

Affine parameterIndex(IndexWalk &walk, Operation *norm, Value parameter) {
  Affine column = walk.space.runExtent() > 1 ? Affine::variable(walk.space.run()) : Affine();
  return walk.viewIndex(parameterView(norm, parameter), column);
}

/// Where a result's element is in the row space: one per element, or one per row.
std::optional<Affine> resultIndex(Value result, const RowSpace &rows, const IndexSpace &space) {
  int64_t elements = tensorOf(result).getNumElements();
  if (elements == rows.count * rows.length)
    return space.result;
  return elements == rows.count ? std::optional(rowIndex(space)) : std::nullopt;
}

std::optional<Piece> analyse(GroupOp group, const RowSpace &rows) {
  IndexSpace space = startSpace(rows);
  for (Value v : yielded(group))
    if (!resultIndex(v, rows, space))
      return std::nullopt;
  FusedAnalysis::Known known = [&](Value tensor, const Affine &index, const IndexSpace &at) -> std::optional<bool> {
    Operation *op = tensor.getDefiningOp();
    if (!op || !rowAxis(op))
      return std::nullopt;
    return index == (isa<ReduceOp>(op) ? rowIndex(at) : at.result);
  };
  while (true) {
    std::optional<Refinement> wanted;
    auto roots = [&](IndexWalk &walk, auto &accesses) {
      for (Operation *op : rows.ops) {
        accesses.push_back({op->getOperand(0), space.result});
        for (Value parameter : parameters(op))
          accesses.push_back({parameter, parameterIndex(walk, op, parameter)});
      }
      for (Value v : yielded(group))
        accesses.push_back({v, *resultIndex(v, rows, space)});
    };
    std::optional<Piece> piece = FusedAnalysis::walk(roots, space, /*mayCut=*/false, wanted, known);
    if (piece || !wanted || wanted->variable == space.run())
      return piece;
    space = space.split(wanted->variable, wanted->at);
  }
}

std::optional<KernelPlan> match(const EmitRequest &request) {
  GroupOp group = request.group;
  std::optional<RowSpace> rows = rowSpace(group);
  std::optional<Piece> piece = rows ? analyse(group, *rows) : std::nullopt;
  if (!piece)
    return std::nullopt;
  KernelPlan plan;
  plan.inputLayouts.resize(group.getInputs().size());
  sizeGrid(plan, rows->count, rows->length, request.threads);
  plan.scratchBytes = RowLoops::paddedBytes(rows->length) * rows->ops.size();
  permitInPlace(group, *piece, plan);
  return plan;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

class RowsEmitter {
public:
  RowsEmitter(const EmitRequest &request, KernelBuilder &k)
      : k(k), group(request.group), rows(*rowSpace(group)), piece(*analyse(group, rows)), f(k, group), loc(f.loc),
        width(piece.perLane ? 1 : laneCount(request.isa, group, std::max(piece.widestBytes, 4u))),
        passes(f, rows.length, width, masksTails(request.isa)) {}

  void run() {
    auto loop = scf::ForOp::create(f.builder(), loc, k.lo, k.hi, index(1));
    f.enter(loop);
    f.begin(piece.space);
    bindRow(loop.getInductionVar());
    for (auto [i, op] : llvm::enumerate(rows.ops))
      emitStatistics(op, i);
    emitResults();
    f.leave();
    f.finish();
  }

private:
  OpBuilder &b() { return f.builder(); }
  Value index(int64_t v) { return arith::ConstantIndexOp::create(b(), loc, v); }
  Value f32(double v) { return emitNumber(b(), loc, b().getF32Type(), v); }
  template <typename Op> Value make(Value x, Value y) { return Op::create(b(), loc, x, y); }
  Value full(Value scalar) { return f.full({scalar, true, 0}); }
  Value at(Value tensor) { return f.full(f.at(tensor, piece.space.result)); }

  bool masksTails(const Isa &isa) {
    return llvm::all_of(group.getResultTypes(), [&](Type t) { return masksElements(isa, t); }) &&
           llvm::all_of(piece.reads, [&](const LeafRead &read) {
             int64_t stride = read.index.coefficient(piece.space.run());
             return stride == 0 || (stride == 1 && masksElements(isa, read.tensor.getType()));
           });
  }

  void bindRow(Value row) {
    for (unsigned v = piece.space.run(); v-- > 0;) {
      Value extent = index(piece.space.variables[v].extent);
      f.bind(v, v ? make<arith::RemUIOp>(row, extent) : row);
      if (v)
        row = make<arith::DivUIOp>(row, extent);
    }
  }

  /// The op's row in scratch; also the source of its input from then on, so that producers run once.
  Value scratchRow(unsigned number) {
    auto type = MemRefType::get({RowLoops::paddedBytes(rows.length) / 4}, b().getF32Type());
    return memref::ViewOp::create(b(), loc, type, k.scratch, index(RowLoops::paddedBytes(rows.length) * number),
                                  ValueRange());
  }
  Register rowRegister(Value x) { return {x, !isa<VectorType>(x.getType()), 1}; }
  void serveFrom(Value tensor, Value row) {
    if (rows.length == 1)
      return; // its positions have no run
    f.override(tensor, [=, this](const Affine &where) {
      return where == piece.space.result ? rowRegister(passes.load(row)) : Register();
    });
  }
  /// f32 operands are read again instead: they are in cache as surely as a copy.
  bool isPlainRow(Value tensor) { return isa<BlockArgument>(tensor) && tensorOf(tensor).getElementType().isF32(); }

  /// Reduces the op's input, keeping a copy of it if that saves computing it again.
  SmallVector<Value> firstPass(Value input, Value row, ArrayRef<ReduceKind> kinds,
                               llvm::function_ref<Value(Value)> contribution) {
    bool copies = !isPlainRow(input) && rows.length > 1;
    SmallVector<Value> totals = passes.reduce(kinds, [&]() -> SmallVector<Value> {
      Value x = at(input);
      if (copies)
        passes.store(row, x);
      return {contribution(x)};
    });
    if (copies)
      serveFrom(input, row);
    return totals;
  }

  void emitStatistics(Operation *op, unsigned number) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](SoftmaxOp s) { softmax(s, scratchRow(number)); })
        .Case([&](LayerNormOp l) { layerNorm(l, scratchRow(number)); })
        .Case([&](RmsNormOp r) { rmsNorm(r, scratchRow(number)); })
        .Case([&](ReduceOp r) { statistic(r, scratchRow(number)); });
  }

  void softmax(SoftmaxOp op, Value row) {
    Value input = op.getInput(), log2e = f32(1.4426950408889634);
    Value top = firstPass(input, row, ReduceKind::max, [](Value x) { return x; })[0];
    // x - top is exact where it matters; scaling first would not be.
    auto power = [&](Value shifted) {
      return emitExp2NonPositive(b(), loc, make<arith::MulFOp>(shifted, full(log2e)));
    };
    bool log = op.getLog();
    Value sum = passes.reduce(ReduceKind::sum, [&]() -> SmallVector<Value> {
      Value e = power(make<arith::SubFOp>(at(input), full(top)));
      if (!log && rows.length > 1)
        passes.store(row, e);
      return {e};
    })[0];
    if (log) {
      Value shift = emitUnary(b(), loc, UnaryKind::log, sum);
      return define(op.getResult(), [=, this](const Affine &) {
        return rowRegister(make<arith::SubFOp>(make<arith::SubFOp>(at(input), full(top)), full(shift)));
      });
    }
    if (rows.length == 1) { // exp(0) / exp(0), but NaN and infinities give NaN
      Value one = make<arith::DivFOp>(sum, sum);
      return define(op.getResult(), [=, this](const Affine &) { return rowRegister(full(one)); });
    }
    Value inverse = make<arith::DivFOp>(f32(1), sum);
    unserve(input); // the row holds exponentials now
    define(op.getResult(),
           [=, this](const Affine &) { return rowRegister(make<arith::MulFOp>(passes.load(row), full(inverse))); });
  }

  /// The row that served the tensor holds something else now: back to its op's own formula, or to computing it.
  void unserve(Value tensor) {
    auto formula = formulas.find(tensor);
    f.override(tensor, formula != formulas.end() ? formula->second : [](const Affine &) { return Register(); });
  }
  /// How the elements of a row op's result follow from its statistics.
  void define(Value result, FusedEmitter::Override formula) {
    f.override(result, formula);
    formulas[result] = std::move(formula);
  }

  /// Two passes: E[x^2] - mean^2 cancels when the mean is large. The second pass also finds what rounding left in the
  /// mean (delta), or large means would shift every element.
  void layerNorm(LayerNormOp op, Value row) {
    Value input = op.getInput(), gamma = op.getScale(), beta = op.getBias(), n = f32(static_cast<double>(rows.length));
    Operation *norm = op;
    Value mean = make<arith::DivFOp>(firstPass(input, row, ReduceKind::sum, [](Value x) { return x; })[0], n);
    auto centred = [=, this] { return make<arith::SubFOp>(at(input), full(mean)); };
    SmallVector<Value> sums = passes.reduce({ReduceKind::sum, ReduceKind::sum}, [&]() -> SmallVector<Value> {
      Value d = centred();
      return {d, make<arith::MulFOp>(d, d)};
    });
    Value delta = make<arith::DivFOp>(sums[0], n);
    Value variance = make<arith::SubFOp>(make<arith::DivFOp>(sums[1], n), make<arith::MulFOp>(delta, delta));
    Value scale = inverseDeviation(variance, op.getEpsilon().convertToDouble());
    define(op.getResult(), [=, this](const Affine &) {
      Value y = make<arith::MulFOp>(make<arith::SubFOp>(centred(), full(delta)), full(scale));
      return rowRegister(applyParameters(norm, y, gamma, beta));
    });
  }

  void rmsNorm(RmsNormOp op, Value row) {
    Value input = op.getInput(), gamma = op.getScale();
    Operation *norm = op;
    Value squares = firstPass(input, row, ReduceKind::sum, [&](Value x) { return make<arith::MulFOp>(x, x); })[0];
    Value mean = make<arith::DivFOp>(squares, f32(static_cast<double>(rows.length)));
    Value scale = inverseDeviation(mean, op.getEpsilon().convertToDouble());
    define(op.getResult(), [=, this](const Affine &) {
      Value y = make<arith::MulFOp>(at(input), full(scale));
      return rowRegister(applyParameters(norm, y, gamma, Value()));
    });
  }

  Value inverseDeviation(Value variance, double epsilon) {
    Value deviation = math::SqrtOp::create(b(), loc, make<arith::AddFOp>(variance, f32(epsilon)));
    return make<arith::DivFOp>(f32(1), deviation);
  }

  Value applyParameters(Operation *norm, Value y, Value scale, Value bias) {
    auto parameter = [&](Value p) { return f.full(f.at(p, parameterIndex(f, norm, p))); };
    if (scale)
      y = make<arith::MulFOp>(y, parameter(scale));
    return bias ? make<arith::AddFOp>(y, parameter(bias)) : y;
  }

  void statistic(ReduceOp op, Value row) {
    ReduceKind kind = op.getKind();
    bool squares = kind == ReduceKind::sumsq;
    ReduceKind pass = squares || kind == ReduceKind::mean ? ReduceKind::sum : kind;
    Value total =
        firstPass(op.getInput(), row, pass, [&](Value x) { return squares ? make<arith::MulFOp>(x, x) : x; })[0];
    total = emitReduceEnd(b(), loc, kind, total, rows.length, b().getF32Type());
    define(op.getResult(), [=](const Affine &) { return Register{total, true, 0}; });
  }

  void emitResults() {
    SmallVector<unsigned> spanning;
    for (auto [i, v] : llvm::enumerate(yielded(group))) {
      if (tensorOf(v).getNumElements() != rows.count || rows.length == 1)
        spanning.push_back(i);
    }
    passes.visit([&] {
      SmallVector<Value> values;
      for (unsigned i : spanning)
        values.push_back(at(yielded(group)[i]));
      for (auto [i, value] : llvm::zip(spanning, values)) // after all loads: results may lie in place of operands
        f.store(i, piece.space.result, value);
    });
    f.setWidth(1);
    for (auto [i, v] : llvm::enumerate(yielded(group)))
      if (!llvm::is_contained(spanning, i))
        f.store(i, rowIndex(piece.space), f.at(v, rowIndex(piece.space)).value);
  }

  KernelBuilder &k;
  GroupOp group;
  RowSpace rows;
  Piece piece;
  FusedEmitter f;
  Location loc;
  int64_t width;
  RowLoops passes;
  llvm::DenseMap<Value, FusedEmitter::Override> formulas;
};

void emit(const EmitRequest &request, const KernelPlan &, KernelBuilder &k) { RowsEmitter(request, k).run(); }

} // namespace

Emitter cpu::rowsEmitter() { return {"rows", match, emit}; }
