//===- Pipelines.cpp - the one place that states the order of passes -------===//
#include "lib/Transforms/Pipelines.h"
#include "lib/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace gaudi::transforms {

static void checkStage([[maybe_unused]] OpPassManager &pm, [[maybe_unused]] StringRef stage) {
#ifdef GAUDI_STAGE_CHECKS
  VerifyStageOptions options;
  options.stage = stage.str();
  pm.addPass(createVerifyStage(options));
#endif
}

/// Copies a list option, which is not assignable to the plain vector of generated pass options in one go.
template <typename List> static auto listOf(const List &option) {
  return SmallVector<std::string>(option.begin(), option.end());
}

static void addSimplify(OpPassManager &pm, bool fastMath) {
  SimplifyOptions options;
  options.fastMath = fastMath;
  pm.addPass(createSimplify(options));
}

void buildStaticPipeline(OpPassManager &manager, ArrayRef<std::string> shapes) {
  OpPassManager &pm = manager.nest<func::FuncOp>();
  SpecializeShapesOptions options;
  llvm::append_range(options.shapes, shapes);
  pm.addPass(createSpecializeShapes(options));
  pm.addPass(createFoldConstants());
}

LogicalResult requireStaticShapes(func::FuncOp func) {
  for (Operation &op : func.getBody().front().without_terminator())
    for (Type type : op.getResultTypes())
      if (!cast<RankedTensorType>(type).hasStaticShape())
        return op.emitError("its shape depends on the value of an input (found ")
               << type << ", expected a static shape)";
  return success();
}

void buildFusionPipeline(OpPassManager &manager, const GraphPipelineOptions &options) {
  OpPassManager &pm = manager.nest<func::FuncOp>();
  checkStage(pm, "static"); // no later pass deals with dynamic dims
  addSimplify(pm, options.fastMath);

  if (options.recompose) {
    // Norms before activations and softmax before attention: each only sees primitives it does not own.
    pm.addPass(createRecomposeNorms());
    pm.addPass(createRecomposeActivations());
    pm.addPass(createRecomposeSoftmax());
    pm.addPass(createRecomposeAttention());
  }
  if (!options.decompose.empty()) {
    DecomposeCompositesOptions only;
    llvm::append_range(only.only, listOf(options.decompose));
    pm.addPass(createDecomposeComposites(only));
  }
  // Attention leaves masks that only now can shrink, decompositions leave constants.
  pm.addPass(createFoldConstants());
  addSimplify(pm, options.fastMath);
  checkStage(pm, "static");

  if (options.group) {
    pm.addPass(createFormGroups());
    checkStage(pm, "grouped");
  }
}

void buildReferencePipeline(OpPassManager &manager) {
  OpPassManager &pm = manager.nest<func::FuncOp>();
  checkStage(pm, "static");
  FormGroupsOptions each;
  each.eachOp = true;
  pm.addPass(createFormGroups(each));
  checkStage(pm, "grouped");
}

void buildGraphPipeline(OpPassManager &manager, const GraphPipelineOptions &options) {
  buildStaticPipeline(manager, listOf(options.shapes));
  buildFusionPipeline(manager, options);
}

void registerTransformsPasses() {
  registerGaudiTransformsPasses();
  PassPipelineRegistration<GraphPipelineOptions>("graph-pipeline", "imported module to groups (all of lib/Transforms)",
                                                 buildGraphPipeline);
}

} // namespace gaudi::transforms
