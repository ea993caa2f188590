//===- Attention.h - masks and heads for all attention operators ----------===//
#pragma once

#include "lib/Import/Node.h"

namespace gaudi::import {

/// [batch, seq, heads * size] -> [batch, seq, heads, size].
mlir::Value splitHeads(Node &node, mlir::Value x, int64_t heads);
/// The reverse.
mlir::Value mergeHeads(Node &node, mlir::Value x);

/// [batch] lengths -> i1 [batch, 1, 1, keys]: true at key j of batch b if j < lengths[b]. `keysLike` has the keys as
/// its dim `axis`.
mlir::Value lengthMask(Node &node, mlir::Value lengths, mlir::Value keysLike, int64_t axis);

/// Both masks together: `and` of two booleans, else the sum in `type` with false = `masked`.
mlir::Value combineMasks(Node &node, mlir::Value a, mlir::Value b, mlir::Type type, double masked);

/// i1 "attend" -> 0 or `masked`, to be added to the scores.
mlir::Value additiveMask(Node &node, mlir::Value attend, mlir::Type type, double masked);

struct AttentionSpec {
  std::optional<double> scale; ///< 1 / sqrt(head size) if not given
  bool headsFirst = false, causal = false, bottomRight = false, zeroMaskedRows = false;
};
mlir::Value attention(Node &node, mlir::Value q, mlir::Value k, mlir::Value v, mlir::Value mask,
                      const AttentionSpec &spec);

} // namespace gaudi::import
