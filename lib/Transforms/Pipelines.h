//===- Pipelines.h - named pass orders of the target-independent part -----===//
#pragma once

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

/// Imported module -> static, then one group per op: the graph as the model spells it, for device `ref`. Only shape
/// arithmetic is folded, which static types need.
void buildReferencePipeline(mlir::OpPassManager &manager);

/// Imported module -> static, simplified, recomposed and (by default) grouped. `manager` runs on builtin.module.
void buildGraphPipeline(mlir::OpPassManager &manager, const GraphPipelineOptions &options);

} // namespace gaudi::transforms
