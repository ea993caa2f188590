//===- Pipelines.h - named pass orders of the target-independent part -----===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassOptions.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace gaudi::transforms {

struct GraphPipelineOptions : mlir::PassPipelineOptions<GraphPipelineOptions> {
  ListOption<std::string> shapes{*this, "shapes", llvm::cl::desc("argument shapes, `name=2x7`")};
  Option<bool> fastMath{*this, "fast-math", llvm::cl::desc("rewrites that round differently"), llvm::cl::init(false)};
  Option<bool> recompose{*this, "recompose", llvm::cl::desc("find composites (norms, activations, softmax, attention)"),
                         llvm::cl::init(true)};
  ListOption<std::string> decompose{*this, "decompose", llvm::cl::desc("composites to take apart again, by mnemonic")};
  Option<bool> group{*this, "group", llvm::cl::desc("end with form-groups"), llvm::cl::init(true)};
};

/// Imported module -> every type static, shape arithmetic folded. Common to all targets; `manager` runs on
/// builtin.module, here and below. `shapes` as in GraphPipelineOptions.
void buildStaticPipeline(mlir::OpPassManager &manager, llvm::ArrayRef<std::string> shapes = {});

/// After buildStaticPipeline: success if that has reached every type, else an error at the first op whose shape depends
/// on the value of an input.
llvm::LogicalResult requireStaticShapes(mlir::func::FuncOp func);

/// Static module -> simplified, recomposed and (by default) grouped: what fast targets want.
void buildFusionPipeline(mlir::OpPassManager &manager, const GraphPipelineOptions &options);

/// Static module -> one group per op: the graph as the model spells it, for device `ref`.
void buildReferencePipeline(mlir::OpPassManager &manager);

/// buildStaticPipeline and buildFusionPipeline, `graph-pipeline` of the pass driver.
void buildGraphPipeline(mlir::OpPassManager &manager, const GraphPipelineOptions &options);

} // namespace gaudi::transforms
