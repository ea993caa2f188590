//===- Codegen.cpp - kernel module -> object code -------------------------===//
#include "lib/Target/cpu/Codegen.h"

#include "lib/Target/cpu/CodegenFloats.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <chrono>
#include <mutex>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;

namespace {

constexpr unsigned kMaxStackBytes = 4096; // KernelAbi.h

/// The order is knowledge/cpu.md 1.1. Reductions may be reassociated (2.2x on softmax); nothing else is relaxed.
void buildLowering(OpPassManager &pm, const Isa &isa) {
  pm.addPass(createLegalizeFloatsPass(isa));
  pm.addNestedPass<func::FuncOp>(createConvertVectorToSCFPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(arith::createArithExpandOpsPass());
  ConvertVectorToLLVMPassOptions vector;
  vector.reassociateFPReductions = true;
  pm.addPass(createConvertVectorToLLVMPass(vector));
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions func;
  func.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(func));
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

Status internalError(const CodegenOptions &options, const Twine &what) {
  return Status::error(StatusCode::Internal, ("kernel " + options.symbol + ": " + what).str(),
                       "this is a bug of the compiler; please report the model and the flags");
}

std::unique_ptr<llvm::TargetMachine> createTargetMachine(const Isa &isa) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  std::string features;
  for (const std::string &f : isa.features)
    features += (features.empty() ? "+" : ",+") + f;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, isa.cpu, features, llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt,
                                  llvm::CodeGenOptLevel::Default));
}

/// Makes `impl(ptr..., i64, i64, ptr)` internal and adds the ABI wrapper that loads its pointers.
void addWrapper(llvm::Module &module, llvm::Function &impl, const CodegenOptions &options) {
  llvm::LLVMContext &context = module.getContext();
  auto *ptr = llvm::PointerType::get(context, 0);
  auto *i64 = llvm::Type::getInt64Ty(context), *i32 = llvm::Type::getInt32Ty(context);
  impl.setLinkage(llvm::GlobalValue::InternalLinkage);
  impl.addFnAttr(llvm::Attribute::AlwaysInline);
  auto *wrapper = llvm::Function::Create(llvm::FunctionType::get(i32, {ptr, i64, i64, ptr}, false),
                                         llvm::GlobalValue::ExternalLinkage, options.symbol, module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", wrapper));
  size_t buffers = impl.arg_size() - 3;
  llvm::SmallVector<llvm::Value *> arguments;
  for (size_t i = 0; i < buffers; ++i) {
    arguments.push_back(b.CreateLoad(ptr, b.CreateConstInBoundsGEP1_64(ptr, wrapper->getArg(0), i)));
    if (i < options.mayAlias.size() && !options.mayAlias[i])
      impl.addParamAttr(i, llvm::Attribute::NoAlias);
  }
  for (unsigned i = 1; i < 4; ++i)
    arguments.push_back(wrapper->getArg(i));
  b.CreateRet(b.CreateCall(&impl, arguments));
}

void setFunctionAttributes(llvm::Module &module, const Isa &isa) {
  std::string bits = std::to_string(isa.vectorBytes * 8);
  for (llvm::Function &f : module) {
    if (f.isDeclaration())
      continue;
    f.addFnAttr(llvm::Attribute::NoUnwind);
    // Intel's tuning prefers 256-bit vectors and would split every 512-bit one.
    f.addFnAttr("prefer-vector-width", bits);
    f.addFnAttr("min-legal-vector-width", bits);
    f.addFnAttr("warn-stack-size", std::to_string(kMaxStackBytes));
  }
}

/// O1 gives the same kernel speed as O3 at a third of the time (knowledge/cpu.md 5); emitters vectorise, LLVM must not.
void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O1).run(module, modules);
}

/// LLVM 22.1.8 miscompiles a masked store of one constant lane whose value was truncated: the X86 combine to a scalar
/// store forgets the truncation and writes 4 bytes instead of 2 (found by the guard pages of test/target/cpu). Store
/// that lane ourselves.
void expandOneLaneStores(llvm::Module &module) {
  llvm::SmallVector<llvm::IntrinsicInst *> stores;
  for (llvm::Function &f : module)
    for (llvm::Instruction &i : llvm::instructions(f))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
          call && call->getIntrinsicID() == llvm::Intrinsic::masked_store)
        stores.push_back(call);
  for (llvm::IntrinsicInst *store : stores) {
    auto *mask = llvm::dyn_cast<llvm::Constant>(store->getArgOperand(2));
    auto *type = llvm::dyn_cast<llvm::FixedVectorType>(store->getArgOperand(0)->getType());
    std::optional<unsigned> lane;
    unsigned set = 0;
    for (unsigned i = 0; mask && type && i < type->getNumElements(); ++i) {
      llvm::Constant *bit = mask->getAggregateElement(i);
      if (bit && bit->isNullValue())
        continue;
      lane = i;
      set += bit && bit->isOneValue() ? 1 : 2; // unknown lanes: leave alone
    }
    if (set != 1)
      continue;
    llvm::IRBuilder<> b(store);
    llvm::Value *at = b.CreateConstGEP1_64(type->getElementType(), store->getArgOperand(1), *lane);
    b.CreateAlignedStore(b.CreateExtractElement(store->getArgOperand(0), *lane), at, llvm::Align(1));
    store->eraseFromParent();
  }
}

/// Collects the back end's complaints, above all frames larger than the limit.
struct BackendDiagnostics : llvm::DiagnosticHandler {
  explicit BackendDiagnostics(std::string &text) : text(text) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() == llvm::DS_Error || info.getKind() == llvm::DK_StackSize) {
      llvm::raw_string_ostream out(text);
      llvm::DiagnosticPrinterRawOStream printer(out);
      info.print(printer);
    }
    return true;
  }
  std::string &text;
};

/// Kernels run in any process: nothing but the memory functions may be imported.
std::string forbiddenImport(llvm::ArrayRef<char> object) {
  auto file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "kernel"));
  if (!file)
    return llvm::toString(file.takeError());
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!flags || !name)
      return "unreadable symbol table";
    bool allowed = name->empty() || *name == "memcpy" || *name == "memmove" || *name == "memset";
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) && !allowed)
      return name->str();
  }
  return {};
}

/// Adds the time until the end of the scope to `sum`.
class PhaseTimer {
public:
  explicit PhaseTimer(double *sum) : sum(sum) {}
  ~PhaseTimer() {
    if (sum)
      *sum += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }

private:
  double *sum;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// The lowered function as LLVM IR behind its C wrapper, or null.
std::unique_ptr<llvm::Module> translate(ModuleOp module, const std::string &implName, llvm::TargetMachine &machine,
                                        llvm::LLVMContext &context, const Isa &isa, const CodegenOptions &options) {
  std::unique_ptr<llvm::Module> ir = translateModuleToLLVMIR(module, context);
  if (!ir)
    return nullptr;
  // Before anything else: without them LLVM turns memset into a byte loop, silently (knowledge/cpu.md 1.2).
  ir->setTargetTriple(machine.getTargetTriple());
  ir->setDataLayout(machine.createDataLayout());
  addWrapper(*ir, *ir->getFunction(implName), options);
  setFunctionAttributes(*ir, isa);
  return ir;
}

} // namespace

void cpu::registerCodegenDialects(DialectRegistry &registry) {
  registry.insert<affine::AffineDialect, arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                  graph::GraphDialect, LLVM::LLVMDialect, math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                  ub::UBDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

Expected<std::vector<char>> cpu::compileKernel(ModuleOp module, const Isa &isa, const CodegenOptions &options) {
  auto func = *module.getOps<func::FuncOp>().begin();
  std::string implName = func.getName().str();
  PassManager pm(module.getContext());
#ifdef NDEBUG
  pm.enableVerifier(false); // 65 % of the pass time
#endif
  buildLowering(pm, isa);
  auto timer = [&](double PhaseTimes::*phase) {
    return PhaseTimer(options.times ? &(options.times->*phase) : nullptr);
  };
  llvm::LLVMContext context;
  std::string complaints;
  context.setDiagnosticHandler(std::make_unique<BackendDiagnostics>(complaints));
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(isa);
  if (!machine)
    return internalError(options, "this LLVM has no x86-64 back end");
  std::unique_ptr<llvm::Module> ir;
  {
    PhaseTimer passes = timer(&PhaseTimes::passesMs);
    if (failed(pm.run(module)))
      return internalError(options, "lowering failed");
    ir = translate(module, implName, *machine, context, isa, options);
  }
  if (!ir)
    return internalError(options, "translation to LLVM IR failed");
  {
    PhaseTimer optimizing = timer(&PhaseTimes::optimizeMs);
    optimize(*ir, *machine);
    expandOneLaneStores(*ir);
  }
  if (options.printLlvm)
    ir->print(*options.printLlvm, nullptr);

  PhaseTimer generating = timer(&PhaseTimes::codegenMs);
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream out(object);
  llvm::legacy::PassManager emit;
  if (machine->addPassesToEmitFile(emit, out, nullptr, llvm::CodeGenFileType::ObjectFile))
    return internalError(options, "the back end cannot emit objects");
  emit.run(*ir);
  if (!complaints.empty())
    return internalError(options, complaints);
  if (std::string name = forbiddenImport(object); !name.empty())
    return internalError(options, "imports '" + name + "'");
  return std::vector<char>(object.begin(), object.end());
}
