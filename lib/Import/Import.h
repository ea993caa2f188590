//===- Import.h - ONNX model -> graph module --------------------*- C++ -*-===//
#pragma once

#include "dialects/graph/Evaluate.h"
#include "gaudi/Status.h"
#include "lib/Onnx/Model.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <utility>
#include <vector>

namespace gaudi {

/// What the user says about the inputs. Names that the model does not have are errors (Usage, with the nearest name).
struct ImportOptions {
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes; ///< --shape ids=1x128
  std::vector<std::pair<std::string, int64_t>> dims;                ///< --dim batch=8: every input dim of that name
  /// Largest result whose static shape is accepted (runtime.md 6.3 row 29).
  uint64_t maxTensorBytes = uint64_t(1) << 40;
};

/// "ids=1x128" / "ids=" (rank 0) -> name and dims; "batch=8" -> name and size. The name is what precedes the last '='.
Expected<std::pair<std::string, std::vector<int64_t>>> parseShapeFlag(const std::string &text);
Expected<std::pair<std::string, int64_t>> parseDimFlag(const std::string &text);

/// Loads the dialects that importModel creates ops of.
void loadImportDialects(mlir::MLIRContext &context);

/// Translates a model to a module with one `func.func @main`:
/// - argument attributes `graph.name` and `graph.dims` (array of strings: the symbol or ""), result attribute
/// `graph.name`;
/// - module attributes `graph.files` (string array: paths of WeightStore) and `graph.model` (string: path);
/// - every op has a location `fused<"Op">["node name"]`, op in the form `Add` or `com.microsoft::BiasGelu`.
/// Initializers with equal names in graph.input (IR 3) are constants, not inputs. Local functions are inlined, `If`
/// with a constant condition is replaced by its branch. Errors: Unsupported (all unsupported nodes in one message),
/// InvalidInput (`node 'a': operand types differ (f32, i64)`), Usage (options), ResourceLimit. Nothing is printed.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importModel(mlir::MLIRContext &context, const OnnxModel &model,
                                                        const ImportOptions &options = {});

/// Usage error that lists the dynamic dims of @main's inputs with ready flags to paste, or success if there are none.
Status requireStaticInputs(mlir::ModuleOp module);

/// The model's weights for graph::evaluateRegion, constant folding and packing. Keeps a reference to the store.
class ModelWeights : public graph::WeightSource {
public:
  explicit ModelWeights(const WeightStore &store) : store(store) {}
  llvm::ArrayRef<char> bytes(uint32_t file, uint64_t offset, uint64_t length, mlir::Location loc) override;

private:
  const WeightStore &store;
};

} // namespace gaudi
