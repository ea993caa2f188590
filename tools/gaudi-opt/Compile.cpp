//===- Compile.cpp - the compile mode -------------------------------------===//
#include "tools/gaudi-opt/Modes.h"

#include "lib/Driver/BuildId.h"
#include "lib/Onnx/Model.h"
#include "runtime/base/Clock.h"
#include "runtime/base/Text.h"

#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace gaudi;

namespace {

double since(uint64_t startNs) { return static_cast<double>(nowNs() - startNs) / 1e6; }

/// BLAKE3 over length-prefixed fields.
cache::Key digestOf(llvm::ArrayRef<std::string> fields) {
  llvm::BLAKE3 hasher;
  for (const std::string &field : fields) {
    uint64_t size = field.size();
    hasher.update(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(&size), sizeof(size)));
    hasher.update(field);
  }
  cache::Key key;
  llvm::BLAKE3Result<32> result = hasher.final<32>();
  std::copy(result.begin(), result.end(), key.bytes.begin());
  return key;
}

/// Another build of the compiler may emit other code, or other symbols, for the same text.
cache::Key kernelKey(const std::string &text) { return digestOf({"kernel", driver::compilerIdentity(), text}); }

void printStats(const Flags &flags, const driver::CompileStats &s, double totalMs) {
  if (flags.quiet)
    return;
  double ratio = s.lowerBound ? double(s.slabBytes) / double(s.lowerBound) : 1;
  llvm::errs() << llvm::format(
      "compiled in %.0f ms: %u launches of %u kernels (%u compiled); %s weights, %s slab, ratio %.2f\n", totalMs,
      s.groups, s.kernels, s.compiled, formatBytes(s.weightBytes).c_str(), formatBytes(s.slabBytes).c_str(), ratio);
  if (flags.verbose)
    llvm::errs() << llvm::format("  import %.1f, transforms %.1f, kernels %.1f, plan %.1f, write %.1f ms\n", s.importMs,
                                 s.transformMs, s.kernelMs, s.planMs, s.writeMs);
}

driver::CompileOptions withProgress(const Flags &flags) {
  driver::CompileOptions options = flags.compile;
  if (!flags.quiet && isatty(STDERR_FILENO))
    options.progress = [](const std::string &line) { llvm::errs() << "\r\033[K" << line << "\r"; };
  return options;
}

Status compileHere(const Flags &flags, const OnnxModel &model) {
  std::string output = flags.output;
  if (output.empty()) {
    llvm::StringRef stem(flags.compile.model);
    stem.consume_back(".onnx");
    output = stem.str() + ".gdx";
  }
  uint64_t start = nowNs();
  driver::CompileStats stats;
  GAUDI_TRY(driver::compileToFile(model, withProgress(flags), driver::Weights::Embed, output, stats));
  printStats(flags, stats, since(start));
  return {};
}

/// To -o, or to stdout; machine code not to a terminal.
Status printStage(const Flags &flags, const OnnxModel &model) {
  bool toStdout = flags.output.empty() || flags.output == "-";
  if (toStdout && flags.stage == driver::Stage::Obj && isatty(STDOUT_FILENO))
    return Status::error(StatusCode::Usage, "--emit=obj: writes machine code, and stdout is a terminal",
                         "name a file with -o");
  if (toStdout)
    return driver::printStage(model, flags.compile, flags.stage, llvm::outs());
  std::string text; // first, so that a failure leaves the file as it was
  llvm::raw_string_ostream stream(text);
  GAUDI_TRY(driver::printStage(model, flags.compile, flags.stage, stream));
  std::error_code error;
  llvm::raw_fd_ostream out(flags.output, error);
  if (!error) {
    out << text;
    out.close();
    error = out.error();
    out.clear_error();
  }
  return !error ? Status() : Status::error(StatusCode::Failed, flags.output + ": cannot write: " + error.message());
}

/// Program and packed weights through the cache (knowledge/runtime.md 1.3): the program's key has no weight bytes in
/// it.
class Resolver {
public:
  Resolver(const Flags &flags, const OnnxModel &model) : flags(flags), model(model) {
    cache::Options options;
    options.mode = flags.cacheMode;
    options.warn = [](const std::string &line) { llvm::errs() << "warning: " << line << "\n"; };
    cache = cache::Cache::open(flags.cacheDir.empty() ? cache::defaultDirectory() : flags.cacheDir, options);
    if (!cache->reason().empty() && flags.cacheMode != cache::Mode::Off)
      llvm::errs() << "warning: cache: " << cache->reason() << "\n";
  }

  Status run() {
    makeKey();
    auto produce = [&]() -> Expected<cache::Product> { return produceProgram(); };
    Expected<cache::Resolution> program = cache->resolve(cache::Kind::Program, key, metadata, produce);
    if (!program.ok())
      return program.takeStatus();
    std::string artifact;
    GAUDI_TRY(pathOf(*program, "program.gdx", artifact));
    std::string weights;
    GAUDI_TRY(resolveWeights(artifact, weights));
    print(*program, artifact, weights);
    return {};
  }

private:
  void makeKey() {
    std::vector<std::string> values;
    for (auto &[name, value] : driver::keyComponents(model, flags.compile)) {
      metadata.components.push_back({name, digestOf({value}), value.size() <= 80 ? value : ""});
      values.push_back(value);
    }
    key = digestOf(values);
    metadata.label = flags.compile.model;
  }

  Expected<cache::Product> produceProgram() {
    cache::Product product;
    uint64_t start = nowNs();
    temporary = folder() + "/compiled.gdx";
    driver::CompileOptions options = withProgress(flags);
    options.getObject = [this](const std::string &text) -> std::optional<std::vector<char>> {
      std::optional<std::string> blob = cache->getBlob(kernelKey(text));
      return blob ? std::optional(std::vector<char>(blob->begin(), blob->end())) : std::nullopt;
    };
    options.putObject = [this](const std::string &text, const std::vector<char> &object) {
      cache->putBlob(kernelKey(text), {object.data(), object.size()});
    };
    driver::CompileStats stats;
    GAUDI_TRY(driver::compileToFile(model, options, driver::Weights::Strip, temporary, stats));
    product.compileMs = metadata.compileMs = compileMs = since(start);
    product.write = [this](const std::string &path) { return copyFile(temporary, path); };
    printStats(flags, stats, compileMs);
    return product;
  }

  /// Path of an entry, or of a private file when the store did not take it.
  Status pathOf(cache::Resolution &resolution, const char *name, std::string &path) {
    if (resolution.entry) {
      path = resolution.entry->path;
      return {};
    }
    path = folder() + "/" + name;
    keepFolder = true; // gaudi-run opens it after we are gone
    return resolution.product.write(path);
  }

  Status resolveWeights(const std::string &artifact, std::string &path) {
    cache::Key weightsKey = digestOf({"weights", key.hex(), toHex(model.weightsDigest())});
    auto produce = [&]() -> Expected<cache::Product> {
      cache::Product product;
      product.write = [&](const std::string &target) { return driver::packWeightsFile(model, artifact, target); };
      return product;
    };
    cache::Metadata about;
    about.label = flags.compile.model + " weights";
    Expected<cache::Resolution> weights = cache->resolve(cache::Kind::Weights, weightsKey, about, produce);
    if (!weights.ok())
      return weights.takeStatus();
    return pathOf(*weights, "weights.gdw", path);
  }

  void print(const cache::Resolution &program, const std::string &artifact, const std::string &weights) const {
    const char *state = cache->mode() == cache::Mode::Off ? "off" : program.hit ? "hit" : "miss";
    llvm::json::Object line{
        {"artifact", artifact},    {"weights", weights},
        {"cache", state},          {"key", key.hex()},
        {"compile_ms", compileMs}, {"saved_ms", program.hit && program.entry ? program.entry->savedMs : 0.0}};
    llvm::outs() << llvm::json::Value(std::move(line)) << "\n";
  }

  const std::string &folder() {
    if (privateFolder.empty()) {
      const char *base = getenv("TMPDIR");
      privateFolder = std::string(base && *base ? base : "/tmp") + "/gaudi-XXXXXX";
      if (!mkdtemp(privateFolder.data()))
        privateFolder = ".";
    }
    return privateFolder;
  }

  static Status copyFile(const std::string &from, const std::string &to) {
    std::error_code error = llvm::sys::fs::copy_file(from, to);
    return error ? Status::error(StatusCode::Failed, to + ": cannot write: " + error.message()) : Status();
  }

public:
  ~Resolver() {
    if (!temporary.empty())
      unlink(temporary.c_str());
    if (!privateFolder.empty() && privateFolder != "." && !keepFolder)
      rmdir(privateFolder.c_str());
  }

private:
  const Flags &flags;
  const OnnxModel &model;
  std::unique_ptr<cache::Cache> cache;
  cache::Key key;
  cache::Metadata metadata;
  std::string privateFolder, temporary;
  double compileMs = 0;
  bool keepFolder = false;
};

} // namespace

Status gaudi::runCompileMode(const Flags &flags) {
  ReadOptions read;
  read.externalRoot = flags.compile.externalRoot;
  Expected<OnnxModel> model = OnnxModel::read(flags.compile.model, read);
  if (!model.ok())
    return model.takeStatus();
  for (const std::string &warning : model->warnings())
    llvm::errs() << "warning: " << warning << "\n";
  if (flags.stage != driver::Stage::Artifact)
    return printStage(flags, *model);
  return flags.resolve ? Resolver(flags, *model).run() : compileHere(flags, *model);
}
