//===- IndexWalk.h - from a result's position to its operands' -----*- C++ -*-===//
//
// The rules that analysis (which shapes the loops) and emission (which fills them) share: given the position of a
// result's element, the positions of the operands' elements. What is not affine becomes a derived variable.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lib/Target/cpu/emit/IndexMap.h"

#include "dialects/graph/Graph.h"

namespace gaudi::cpu {

/// How a derived variable comes about.
struct Derived {
  enum Kind { Quotient, Rest, Clamp, Gathered } kind;
  Affine index;       ///< divided, clamped to [0, number), or the position in `tensor`
  int64_t number;     ///< divisor, or bound
  mlir::Value tensor; ///< index tensor of a gather
  bool operator==(const Derived &) const = default;
};

class IndexWalk {
public:
  virtual ~IndexWalk() = default;
  IndexSpace space{1};

  /// space.divide, with derived variables where that is not affine.
  std::pair<Affine, Affine> divide(const Affine &index, int64_t divisor);
  /// The position that `view` gives to its element number `index`.
  Affine viewIndex(const StridedView &view, const Affine &index);

protected:
  explicit IndexWalk(bool mayRefine) : mayRefine(mayRefine) {}
  /// A derived variable was added: analysis looks at what it reads, emission computes it.
  virtual void define(unsigned variable, const Derived &derived) = 0;

  unsigned derive(const Derived &derived);
  Affine operandIndex(mlir::Operation *op, unsigned operand, const Affine &index);
  Affine gatherIndex(graph::GatherOp op, const Affine &index);
  Affine gatherElementsIndex(graph::GatherElementsOp op, const Affine &index);
  Affine gatherNDIndex(graph::GatherNDOp op, const Affine &index);

  /// column - row - k of a triangle's element.
  Affine diagonalDistance(graph::TriluOp op, const Affine &index);

  /// One operand of a concat that the index may fall into, with the operand's position if it does.
  struct ConcatPart {
    mlir::Value input;
    Affine where; ///< place relative to the input's first element of the row: inside iff in [0, size)
    int64_t size;
    Affine operand;
  };
  llvm::SmallVector<ConcatPart> concatParts(graph::ConcatOp op, const Affine &index);

  /// Position inside the padded operand, and the places that must be in [0, bound) for it to be inside. `isOutside`:
  /// all is padding.
  struct PadPlace {
    bool isOutside = false;
    llvm::SmallVector<std::pair<Affine, int64_t>> conditions;
    Affine operand;
  };
  PadPlace padPlace(graph::PadOp op, const Affine &index);

  /// Asks for a cut so that `index` < `at` is known; false if no loop variable can be cut there.
  bool requestCut(const Affine &index, int64_t at);
  Affine clamp(const Affine &index, int64_t bound);

  /// Drops derived variables: all of them, or those computed at `depth` or deeper.
  void forget() { derivedVariables.clear(); }
  void forgetFrom(unsigned depth) {
    llvm::erase_if(derivedVariables, [&](auto &entry) { return space.variables[entry.second].depth >= depth; });
  }

  bool mayRefine; ///< record refinements (analysis) or derive at once (emission)
  bool mayCut = false;

private:
  llvm::SmallVector<std::pair<Derived, unsigned>> derivedVariables;
};

} // namespace gaudi::cpu
