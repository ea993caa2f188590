//===- Attention.h - matching of attention in primitives -------------------===//
#pragma once

#include "dialects/graph/Graph.h"

#include "mlir/IR/PatternMatch.h"

namespace gaudi::transforms {

/// One mask found on the way from the softmax to the scores.
struct MaskTerm {
  enum Kind {
    Add,    ///< scores + factor * value
    Forbid, ///< value true: -inf
    Allow,  ///< value false: -inf
    Fill,   ///< value true: `fill`, a finite number so low that adding a score to it changes nothing
    Keep,   ///< value false: `fill`
  } kind;
  mlir::Value value;
  double factor = 1, fill = 0;
  llvm::ArrayRef<int64_t> view; ///< shape of the scores where the mask was applied (rank 3 or 4)
};

/// scale * (query x key^T) with masks, as found above a softmax.
struct Scores {
  graph::MatMulOp product;
  double scale = 1;
  llvm::SmallVector<MaskTerm> masks; ///< outermost first
  llvm::ArrayRef<int64_t> headView;  ///< a rank-4 view [B, H, Sq, Skv] seen on the way, or empty
};

/// Walks up from the softmax input through scales, masks, casts and views. Fails if no matmul is reached.
std::optional<Scores> matchScores(mlir::Value softmaxInput);

/// Masks as the attention op takes them.
struct CombinedMask {
  mlir::Value value; ///< null: none
  bool causal = false, bottomRight = false;
};
/// `scores` = [B, H, Sq, Skv]. Nullopt (and nothing built) if a mask does not fit that shape.
std::optional<CombinedMask> combineMasks(llvm::ArrayRef<MaskTerm> terms, llvm::ArrayRef<int64_t> scores,
                                         mlir::PatternRewriter &rewriter, mlir::Location loc);

/// Head split and merge around attention ops in layout heads_first.
void addAbsorbHeadsPatterns(mlir::RewritePatternSet &patterns);

} // namespace gaudi::transforms
