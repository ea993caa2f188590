//===- Compile.cpp - the compile mode -------------------------------------===//
#include "tools/gaudi-opt/Modes.h"
#include "tools/gaudi-opt/PrivateFolder.h"

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

std::string outputOf(const Flags &flags) {
  if (!flags.output.empty())
    return flags.output;
  llvm::StringRef stem(flags.compile.model);
  stem.consume_back(".onnx");
  return stem.str() + ".gdx";
}

Status refuseOutput(const std::string &output, const std::string &why) {
  return Status::error(StatusCode::Usage, "-o: '" + output + "' " + why, "name the file to write with -o OUT.gdx");
}

/// Nothing that the model is read from may be written to.
Status checkNotSource(const std::string &output, const OnnxModel &model) {
  std::vector<std::string> sources = {model.path()};
  for (size_t i = 0; i < model.weights().fileCount(); ++i)
    if (model.weights().isMapped(i))
      sources.push_back(model.weights().path(i));
  for (const std::string &source : sources)
    if (llvm::sys::fs::equivalent(output, source))
      return refuseOutput(output, "is the model's own file '" + source + "'");
  return {};
}

/// The artefact replaces what is at `output` by renaming: that must not be the model, nor /dev/null.
Status checkOutput(const std::string &output, const OnnxModel &model) {
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(output, status) || !llvm::sys::fs::exists(status))
    return {};
  if (!llvm::sys::fs::is_regular_file(status))
    return refuseOutput(output, llvm::sys::fs::is_directory(status) ? "is a folder" : "is not a regular file");
  return checkNotSource(output, model);
}

Status compileHere(const Flags &flags, const OnnxModel &model) {
  std::string output = outputOf(flags);
  GAUDI_TRY(checkOutput(output, model));
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
  GAUDI_TRY(checkNotSource(flags.output, model));
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
  Resolver(const Flags &flags, const OnnxModel &model) : flags(flags), model(model) {}

  Status run() {
    makeKey();
    openCache(flags.cacheMode);
    Status status = resolve();
    // The digest holds, yet the program cannot be read: written by a bug of ours. Never a reason to fail for good.
    if (status.code() == StatusCode::BadArtifact && hit && cache->mode() != cache::Mode::Require) {
      llvm::errs() << "warning: cache: program " << key.shortHex() << " cannot be used: " << status.message()
                   << "; compiling it again\n";
      openCache(cache->mode() == cache::Mode::ReadWrite ? cache::Mode::Refresh : cache::Mode::Off);
      status = resolve();
    }
    return status;
  }

private:
  void openCache(cache::Mode mode) {
    cache::Options options;
    options.mode = mode;
    if (flags.cacheMaxBytes)
      options.maxBytes = flags.cacheMaxBytes;
    options.warn = [](const std::string &line) { llvm::errs() << "warning: " << line << "\n"; };
    cache = cache::Cache::open(flags.cacheDir.empty() ? cache::defaultDirectory() : flags.cacheDir, options);
    if (!cache->reason().empty())
      llvm::errs() << "warning: cache: " << cache->reason() << "\n";
  }

  void makeKey() {
    std::vector<std::string> values;
    for (auto &[name, value] : driver::keyComponents(model, flags.compile)) {
      metadata.components.push_back({name, digestOf({value}), value.size() <= 80 ? value : ""});
      values.push_back(value);
    }
    key = digestOf(values);
    metadata.label = flags.compile.model;
  }

  Status resolve() {
    Expected<cache::Resolution> program =
        cache->resolve(cache::Kind::Program, key, metadata, [&] { return produceProgram(); });
    if (!program.ok())
      return program.takeStatus();
    hit = program->hit;
    std::string artifact = program->entry ? program->entry->path : compiled;
    Expected<cache::Resolution> weights = resolveWeights(artifact);
    if (!weights.ok())
      return weights.takeStatus();
    std::string packed = weights->entry ? weights->entry->path : "";
    bool temporary = !program->entry || !weights->entry;
    if (temporary)
      GAUDI_TRY(makePrivate(*program, *weights, artifact, packed));
    print(*program, artifact, packed, temporary);
    if (temporary)
      folder.keep(); // gaudi-run opens and deletes both after we are gone
    return {};
  }

  Expected<cache::Product> produceProgram() {
    cache::Product product;
    uint64_t start = nowNs();
    Expected<std::string> file = folder.file("program.gdx");
    if (!file.ok())
      return file.takeStatus();
    compiled = file.take();
    driver::CompileOptions options = withProgress(flags);
    options.getObject = [this](const std::string &text) -> std::optional<std::vector<char>> {
      std::optional<std::string> blob = cache->getBlob(kernelKey(text));
      return blob ? std::optional(std::vector<char>(blob->begin(), blob->end())) : std::nullopt;
    };
    options.putObject = [this](const std::string &text, const std::vector<char> &object) {
      cache->putBlob(kernelKey(text), {object.data(), object.size()});
    };
    driver::CompileStats stats;
    GAUDI_TRY(driver::compileToFile(model, options, driver::Weights::Strip, compiled, stats));
    product.compileMs = metadata.compileMs = compileMs = since(start);
    product.write = [this](const std::string &path) { return copyFile(compiled, path); };
    printStats(flags, stats, compileMs);
    return product;
  }

  /// Reading every weight at every start would be the longest part of it, so the digest is remembered by what the file
  /// system says of the files.
  std::string weightsDigest() {
    std::optional<std::string> files = model.filesIdentity();
    if (!files)
      return toHex(model.weightsDigest());
    cache::Key memo = digestOf({"weights of", toHex(model.skeletonDigest()), *files});
    if (std::optional<std::string> known = cache->getBlob(memo))
      return *known;
    std::string digest = toHex(model.weightsDigest());
    cache->putBlob(memo, digest);
    return digest;
  }

  Expected<cache::Resolution> resolveWeights(const std::string &artifact) {
    // Not the program's key: programs of all shapes share one file, if they pack alike.
    Expected<std::string> recipe = driver::packRecipe(artifact);
    if (!recipe.ok())
      return recipe.takeStatus();
    cache::Key weightsKey = digestOf({"weights", *recipe, toHex(model.layoutDigest()), weightsDigest()});
    auto produce = [&]() -> Expected<cache::Product> {
      cache::Product product;
      product.write = [&](const std::string &target) { return driver::packWeightsFile(model, artifact, target); };
      return product;
    };
    cache::Metadata about;
    about.label = flags.compile.model + " weights";
    return cache->resolve(cache::Kind::Weights, weightsKey, about, produce);
  }

  /// At least one of the two is in no cache. Both get a name in our folder, so that the receiver deletes both or none:
  /// what the cache does hold, or what was compiled anyway, is not written again.
  Status makePrivate(const cache::Resolution &program, const cache::Resolution &weights, std::string &artifact,
                     std::string &packed) {
    if (compiled.empty()) {
      Expected<std::string> link = folder.link("program.gdx", program.entry->path);
      if (!link.ok())
        return link.takeStatus();
      compiled = link.take();
    }
    artifact = compiled;
    Expected<std::string> file =
        weights.entry ? folder.link("weights.gdw", weights.entry->path) : folder.file("weights.gdw");
    if (!file.ok())
      return file.takeStatus();
    packed = file.take();
    return weights.entry ? Status() : weights.product.write(packed);
  }

  void print(const cache::Resolution &program, const std::string &artifact, const std::string &weights,
             bool temporary) const {
    const char *state = cache->mode() == cache::Mode::Off ? "off" : program.hit ? "hit" : "miss";
    llvm::json::Object line{{"artifact", artifact},
                            {"weights", weights},
                            {"temporary", temporary},
                            {"cache", state},
                            {"key", key.hex()},
                            {"compile_ms", compileMs},
                            {"saved_ms", program.hit && program.entry ? program.entry->savedMs : 0.0}};
    llvm::outs() << llvm::json::Value(std::move(line)) << "\n";
    llvm::outs().flush();
  }

  static Status copyFile(const std::string &from, const std::string &to) {
    std::error_code error = llvm::sys::fs::copy_file(from, to);
    return error ? Status::error(StatusCode::Failed, to + ": cannot write: " + error.message()) : Status();
  }

  const Flags &flags;
  const OnnxModel &model;
  std::unique_ptr<cache::Cache> cache;
  cache::Key key;
  cache::Metadata metadata;
  PrivateFolder folder;
  std::string compiled; ///< the program in `folder`, once there is one
  double compileMs = 0;
  bool hit = false;
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
