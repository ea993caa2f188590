//===- main.cpp - gaudi-opt: compiler and pass driver ---------------------===//
#include "tools/gaudi-opt/Modes.h"

#include "lib/Driver/BuildId.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace gaudi;

/// .mlir files, stdin ("-") and anything with only pass flags go to the pass driver.
static bool isPassMode(int argc, char **argv) {
  bool onnx = false, mlir = false, positional = false, asks = false;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument(argv[i]);
    mlir |= argument.ends_with(".mlir") || argument.ends_with(".mlirbc") || argument == "-";
    onnx |= argument.ends_with(".onnx");
    positional |= !argument.starts_with("-");
    asks |= argument.starts_with("--help") || argument == "--version";
  }
  return !onnx && (mlir || (!positional && !asks && !isatty(STDIN_FILENO)));
}

static int report(const Status &status) {
  llvm::errs() << "error: " << status.message() << "\n";
  if (!status.hint().empty())
    llvm::errs() << "hint: " << status.hint() << "\n";
  return static_cast<int>(status.code());
}

int main(int argc, char **argv) {
  if (isPassMode(argc, argv))
    return runPassDriver(argc, argv);
  Expected<Flags> flags = parseFlags(std::vector<std::string>(argv + 1, argv + argc));
  if (!flags.ok())
    return report(flags.status());
  if (flags->help) {
    llvm::outs() << helpText();
    return 0;
  }
  if (flags->version) {
    llvm::outs() << driver::compilerIdentity() << "\n";
    return 0;
  }
  if (flags->compile.model.empty())
    return report(Status::error(StatusCode::Usage, "no model given", "gaudi-opt MODEL.onnx -o OUT.gdx; --help lists the flags"));
  Status status = runCompileMode(*flags);
  return status.ok() ? 0 : report(status);
}
