//===- IndexMap.h - where the elements of a fused group come from ---------===//
//
// Position p of a result (row-major) is written as a sum over loop variables. Every op of a group says where its
// operands' elements lie; most are strided views (broadcast, transpose, slice, reshape), so positions stay sums and no
// division survives into the code, provided that the loop variables are fine enough. The space starts as ONE variable
// over all elements and is refined only where an op asks for it:
//
//   result [2, 3, 8] = transpose(x [3, 2, 8]):  p = v0              x wants (p / 8) % 3 ...   split v0 -> 2, 3, 8
//                                               p = 24 a + 8 b + c  x at 16 b + 8 a + c       c is contiguous: vectors
//   add(x [2, 3, 8], y [8]):                    split v0 -> 6, 8;   a plain add keeps one variable of 48.
//
// Concat and pad cut a variable instead: each piece of the space then knows statically which operand it reads.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "mlir/Support/LLVM.h"

#include <optional>

namespace gaudi::cpu {

/// offset + sum of coefficient * variable.
struct Affine {
  int64_t offset = 0;
  llvm::SmallVector<std::pair<unsigned, int64_t>, 4> terms; ///< (variable, coefficient != 0), by variable

  static Affine variable(unsigned var, int64_t coefficient = 1) { return {0, {{var, coefficient}}}; }
  int64_t coefficient(unsigned var) const;
  void add(const Affine &other, int64_t factor = 1);
  bool operator==(const Affine &) const = default;
};

/// A change of the space that makes an index affine.
struct Refinement {
  unsigned variable;
  int64_t at;
  bool isCut; ///< cut [0, extent) at `at`; otherwise split into (extent / at, at)
};

/// Variables and their ranges [0, extent). The last one of the loops is the run: vectors lie along it.
class IndexSpace {
public:
  struct Variable {
    int64_t extent;
    unsigned depth;       ///< of the loop in which its value is known
    bool perLane = false; ///< not affine along the run: forces scalar code
  };

  /// One loop variable over `count` elements; the result's position is `result`.
  explicit IndexSpace(int64_t count);

  llvm::SmallVector<Variable> variables; ///< loops from outer to inner, then derived ones (opaque)
  unsigned loops = 0;
  Affine result;

  unsigned run() const { return loops - 1; }
  int64_t runExtent() const { return variables[run()].extent; }
  int64_t outerCount() const;
  /// [low, high] of an index.
  std::pair<int64_t, int64_t> range(const Affine &index) const;
  unsigned depthOf(const Affine &index) const;
  bool isPerLane(const Affine &index) const;
  bool isUniform(const Affine &index) const { return !index.coefficient(run()) && !isPerLane(index); }
  unsigned addVariable(int64_t extent, unsigned depth, bool perLane);

  /// index = divisor * quotient + rest, 0 <= rest < divisor; nullopt if that is not affine: `refinement` then holds a
  /// split that helps, if there is one.
  std::optional<std::pair<Affine, Affine>> divide(const Affine &index, int64_t divisor);
  std::optional<Refinement> refinement;

  IndexSpace split(unsigned variable, int64_t inner) const;
  std::pair<IndexSpace, IndexSpace> cut(unsigned variable, int64_t at) const;
};

/// Elements of a tensor seen through dims with strides of its row-major storage: element (i0, i1, ...) is at
/// offset + sum of i_k * stride_k. Unit dims are dropped and mergeable neighbours merged.
struct StridedView {
  struct Dim {
    int64_t extent, stride;
  };
  int64_t offset = 0;
  llvm::SmallVector<Dim, 4> dims;

  StridedView(llvm::ArrayRef<int64_t> extents, llvm::ArrayRef<int64_t> strides, int64_t offset = 0);
  bool isIdentity() const { return offset == 0 && dims.size() <= 1 && (dims.empty() || dims[0].stride == 1); }
};

llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// How `op`'s result reads operand number `operand`, if that is a strided view: elementwise ops (with broadcasting),
/// broadcast, reshape, squeeze, unsqueeze, transpose, slice.
std::optional<StridedView> operandView(mlir::Operation *op, unsigned operand);

} // namespace gaudi::cpu
