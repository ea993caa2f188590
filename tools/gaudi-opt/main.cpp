//===- main.cpp - gaudi-opt: compiler and pass driver ---------------------===//
#include "tools/gaudi-opt/Modes.h"

#include "lib/Driver/BuildId.h"
#include "lib/Import/Support.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <signal.h>
#include <unistd.h>

using namespace gaudi;

/// .mlir files, stdin ("-") and pass flags alone go to the pass driver.
static bool isPassMode(int argc, char **argv) {
  bool onnx = false, mlir = false, positional = false, ours = false;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument(argv[i]);
    mlir |= argument.ends_with(".mlir") || argument.ends_with(".mlirbc") || argument == "-";
    onnx |= argument.ends_with(".onnx");
    positional |= !argument.starts_with("-");
    ours |= isCompileFlag(argument.split('=').first.str());
  }
  return !onnx && (mlir || (!positional && !ours && !isatty(STDIN_FILENO)));
}

/// The exit code, after the message if there is one.
static int finish(Status status) {
  llvm::outs().flush();
  if (std::error_code error = llvm::outs().error(); error && status.ok())
    status = Status::error(StatusCode::Failed, "stdout: cannot write: " + error.message());
  llvm::outs().clear_error(); // else LLVM aborts at exit
  if (status.ok())
    return 0;
  llvm::errs() << "error: " << status.message() << "\n";
  if (!status.hint().empty())
    llvm::errs() << "hint: " << status.hint() << "\n";
  return static_cast<int>(status.code());
}

int main(int argc, char **argv) {
  signal(SIGXFSZ, SIG_IGN); // a file that grows past `ulimit -f` is an error of write(2), as a full disk is
  if (argc > 1 && llvm::StringRef(argv[1]) == "cache")
    return finish(runCacheMode(std::vector<std::string>(argv + 2, argv + argc)));
  if (isPassMode(argc, argv))
    return runPassDriver(argc, argv);
  Expected<Flags> flags = parseFlags(std::vector<std::string>(argv + 1, argv + argc));
  if (!flags.ok())
    return finish(flags.takeStatus());
  if (flags->help) {
    llvm::outs() << helpText();
    return finish({});
  }
  if (flags->version) {
    llvm::outs() << driver::compilerIdentity() << "\n";
    return finish({});
  }
  if (flags->supported) {
    printSupport(llvm::outs());
    return finish({});
  }
  if (flags->compile.model.empty())
    return finish(
        Status::error(StatusCode::Usage, "no model given", "gaudi-opt MODEL.onnx -o OUT.gdx; --help lists the flags"));
  return finish(runCompileMode(*flags));
}
