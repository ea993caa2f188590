//===- GroupPlan.h - which ops of a block become one kernel ----------------===//
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"

namespace gaudi::transforms {

/// A partition of some of a block's ops into clusters. Contracting every cluster to a node never creates a cycle:
/// each change is checked, so an order of execution always exists.
class GroupPlan {
public:
  struct Cluster {
    std::string kind;
    llvm::SmallVector<mlir::Operation *> ops; ///< in block order; empty: merged into another
  };

  explicit GroupPlan(mlir::Block &block);

  /// Index of the op's cluster, or -1.
  int clusterOf(mlir::Operation *op) const { return clusterIndex.lookup_or(op, -1); }
  bool isFree(mlir::Operation *op) const { return op && op->getBlock() == &block && clusterOf(op) < 0; }
  const Cluster &cluster(int index) const { return clusters[index]; }

  int create(llvm::StringRef kind, mlir::Operation *op);
  /// Adds free ops, unless a path would leave the cluster and come back.
  bool tryAdd(int cluster, llvm::ArrayRef<mlir::Operation *> ops) { return tryMerge(cluster, ops); }
  /// Merges the clusters and the free ops into the first of them under the same condition.
  bool tryMerge(llvm::ArrayRef<int> indices, llvm::ArrayRef<mlir::Operation *> ops);

  /// Every op without the terminator, clusters contracted, in dependency order and otherwise in block order: each entry
  /// holds one free op or all ops of a cluster.
  llvm::SmallVector<llvm::SmallVector<mlir::Operation *>> order() const;

private:
  llvm::SmallVector<mlir::Operation *> contracted(mlir::Operation *op) const;
  /// No path from a member over outside ops to a member.
  bool isConvex(llvm::ArrayRef<mlir::Operation *> members) const;
  void assign(int index, llvm::ArrayRef<mlir::Operation *> ops);

  mlir::Block &block;
  llvm::DenseMap<mlir::Operation *, unsigned> position; // looked up only
  llvm::DenseMap<mlir::Operation *, int> clusterIndex;  // looked up only
  llvm::SmallVector<Cluster> clusters;
};

} // namespace gaudi::transforms
