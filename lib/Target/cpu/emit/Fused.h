//===- Fused.h - any tensor of a group, element by element ------*- C++ -*-===//
//
// Instead of materialising intermediates, an element (or a vector of them along the run) is computed where it is needed
// by walking the group backwards. FusedAnalysis finds loops in which that is cheap; FusedEmitter makes the code.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lib/Target/cpu/Kernel.h"
#include "lib/Target/cpu/emit/ElementOps.h"
#include "lib/Target/cpu/emit/IndexWalk.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <functional>
#include <vector>

namespace gaudi::cpu {

/// A read of memory: a group operand, or a constant table of the body.
struct LeafRead {
  mlir::Value tensor;
  Affine index;
};

/// A piece of the result space with what its code will read.
struct Piece {
  IndexSpace space{1};
  llvm::SmallVector<LeafRead> reads;
  bool perLane = false;     ///< some access is not affine along the run: scalar code
  unsigned widestBytes = 1; ///< of the elements that vary along the run
  bool isEmpty() const { return space.outerCount() * space.runExtent() == 0; }
};

class FusedAnalysis : public IndexWalk {
public:
  /// `isKnown(tensor, index)`: the caller gives this value itself. It answers nullopt if it has nothing to say, else
  /// whether the access is one that it can serve.
  using Known = std::function<std::optional<bool>(mlir::Value, const Affine &, const IndexSpace &)>;

  /// The pieces in which all `roots` (tensors of one element count) can be computed; nullopt if an op is not supported.
  static std::optional<std::vector<Piece>> run(mlir::ValueRange roots, int64_t count);

  /// One walk over one space. Nullopt if unsupported, or if the space must be refined first: then `refinement` is set.
  using Roots = llvm::function_ref<void(IndexWalk &, llvm::SmallVectorImpl<std::pair<mlir::Value, Affine>> &)>;
  static std::optional<Piece> walk(Roots roots, const IndexSpace &space, bool mayCut,
                                   std::optional<Refinement> &refinement, const Known &known = {});

private:
  FusedAnalysis(const IndexSpace &start, bool mayCut, const Known &known) : IndexWalk(true), known(known) {
    space = start;
    this->mayCut = mayCut;
  }
  void define(unsigned variable, const Derived &derived) override;
  void visit(mlir::Value tensor, const Affine &index);
  void visitOp(mlir::Operation *op, const Affine &index);

  const Known &known;
  Piece piece;
  bool isSupported = true;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Affine, 1>> visited;
};

/// A value in registers: one for the whole run, or `width` of them; computed at loop depth `depth`.
struct Register {
  mlir::Value value;
  bool isScalar = true;
  unsigned depth = 0;
};

class FusedEmitter : public IndexWalk {
public:
  FusedEmitter(KernelBuilder &kernel, graph::GroupOp group);

  /// Starts a piece in the current level, which becomes depth 0; loop variables get their values by bind().
  void begin(const IndexSpace &piece);
  void bind(unsigned variable, mlir::Value value);
  /// The next vector of the same loop body: forgets what was computed at the old place.
  void bindRun(mlir::Value value);
  unsigned addLoop(int64_t extent, unsigned depth, mlir::Value value);
  const IndexSpace &currentSpace() const { return space; }

  /// Code goes into the loop's body until leave(), except what is known outside: that goes in front of the loop.
  /// Leaving forgets what was computed inside.
  void enter(mlir::scf::ForOp loop);
  void leave();
  /// Lanes of what follows; `mask` (vector of i1) guards memory in a last partial vector.
  void setWidth(int64_t lanes, mlir::Value mask = {});

  Register at(mlir::Value tensor, const Affine &index);
  /// The register at the innermost level, splatted to the width.
  mlir::Value full(Register r);
  void store(unsigned result, const Affine &index, mlir::Value value);
  mlir::Value indexValue(const Affine &index); ///< scalar, innermost level

  /// Gives a tensor's value itself, or a null register where it has none.
  using Override = std::function<Register(const Affine &)>;
  void override(mlir::Value tensor, Override value) { overrides[tensor] = std::move(value); }
  /// From now on at(tensor, index) is `r` while the current level lives.
  void remember(mlir::Value tensor, const Affine &index, Register r);

  /// `count` vectors of a read that is contiguous along another variable than the run: from the bound place on, one for
  /// each step of the run. In the stored type.
  llvm::SmallVector<mlir::Value> loadLines(const LeafRead &read, int64_t count);
  void rememberStored(const LeafRead &read, mlir::Value stored);

  /// Ends the kernel: returns the fault code.
  void finish();

  mlir::OpBuilder &builder() { return levels.back(); }
  mlir::Location loc;

private:
  void define(unsigned variable, const Derived &derived) override;
  Register compute(mlir::Operation *op, const Affine &index);
  Register elementwise(mlir::Operation *op, const Affine &index);
  Register load(mlir::Value memref, mlir::Type element, const Affine &index);
  Register literal(mlir::DenseElementsAttr splat, mlir::Type element);
  Register constant(graph::ConstantOp op, const Affine &index);
  Register concat(graph::ConcatOp op, const Affine &index);
  Register pad(graph::PadOp op, const Affine &index);
  Register trilu(graph::TriluOp op, const Affine &index);
  Register range(graph::RangeOp op, const Affine &index);
  Register gathered(mlir::Value data, const Affine &index);
  Register number(mlir::Type element, double value);
  /// The index itself: scalar, or its lanes.
  Register materialise(const Affine &index);
  mlir::Value scalarIndex(const Affine &index, unsigned depth);
  mlir::Value checkedIndex(mlir::OpBuilder &b, mlir::Value raw, int64_t n);
  void forgetDeeper(unsigned depth);
  void raiseFault(mlir::OpBuilder &b, mlir::Value bad);
  /// Applies `make` to registers of equal shape at the depth where all are known.
  Register combine(llvm::ArrayRef<Register> operands,
                   llvm::function_ref<mlir::Value(mlir::OpBuilder &, llvm::ArrayRef<mlir::Value>)> make);
  mlir::Value splat(Register r);
  mlir::OpBuilder &builderAt(unsigned depth);
  mlir::Value flat(mlir::Value memref);
  mlir::Value memoryOf(mlir::Value tensor) {
    return inputs.contains(tensor) ? inputs.lookup(tensor) : tables.lookup(tensor);
  }

  struct Known {
    Affine index;
    Register value;
  };
  KernelBuilder &k;
  llvm::SmallVector<mlir::OpBuilder, 4> levels; ///< one per open loop, the function's entry first
  size_t base = 0;                              ///< level of depth 0
  llvm::SmallVector<mlir::Value> values;        ///< per variable of the space
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Known, 1>> memo;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, std::pair<mlir::Value, unsigned>> splats;
  llvm::DenseMap<mlir::Value, mlir::Value> inputs, tables; ///< tensor -> flat memref
  llvm::SmallVector<mlir::Value> outputs;
  llvm::SmallVector<mlir::Type> resultElement;
  llvm::DenseMap<mlir::Value, Override> overrides;
  mlir::Value fault, mask;
  int64_t width = 1;
};

} // namespace gaudi::cpu
