//===- Flags.cpp - command line of the compile mode -----------------------===//
#include "tools/gaudi-opt/Flags.h"

#include "lib/Import/Import.h"
#include "lib/Target/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace gaudi;

namespace {

Status usage(std::string what, std::string hint = "gaudi-opt --help lists the flags") {
  return Status::error(StatusCode::Usage, std::move(what), std::move(hint));
}

/// Whose field a flag sets.
Flags &ownerOf(Flags &flags, std::string Flags::*) { return flags; }
Flags &ownerOf(Flags &flags, bool Flags::*) { return flags; }
Flags &ownerOf(Flags &flags, uint64_t Flags::*) { return flags; }
template <typename T> driver::CompileOptions &ownerOf(Flags &flags, T driver::CompileOptions::*) {
  return flags.compile;
}

template <auto Field> Status setText(Flags &flags, const char *, const std::string &value) {
  ownerOf(flags, Field).*Field = value;
  return {};
}

template <auto Field> Status setTrue(Flags &flags, const char *, const std::string &) {
  ownerOf(flags, Field).*Field = true;
  return {};
}

template <auto Field> Status setBytes(Flags &flags, const char *name, const std::string &value) {
  return parseSizeFlag(name, value, ownerOf(flags, Field).*Field);
}

template <auto Field, auto Parse> Status append(Flags &flags, const char *, const std::string &value) {
  auto parsed = Parse(value);
  if (!parsed.ok())
    return parsed.takeStatus();
  (flags.compile.*Field).push_back(parsed.take());
  return {};
}

Status setStage(Flags &flags, const char *, const std::string &value) {
  static const std::pair<const char *, driver::Stage> stages[] = {
      {"import", driver::Stage::Import}, {"graph", driver::Stage::Graph}, {"kernels", driver::Stage::Kernels},
      {"rt", driver::Stage::Rt},         {"llvm", driver::Stage::Llvm},   {"obj", driver::Stage::Obj}};
  for (const auto &[name, stage] : stages)
    if (value == name) {
      flags.stage = stage;
      return {};
    }
  return usage("--emit: no stage '" + value + "'", "stages: import, graph, kernels, rt, llvm, obj");
}

Status setTarget(Flags &flags, const char *, const std::string &value) {
  std::vector<std::string> known = targetNames();
  if (!llvm::is_contained(known, value))
    return usage("--target: no target '" + value + "'", "targets: " + llvm::join(known, ", "));
  flags.compile.device = value;
  return {};
}

Status setThreads(Flags &flags, const char *name, const std::string &value) {
  uint64_t n = 0;
  GAUDI_TRY(parseSizeFlag(name, value, n));
  flags.compile.threads = static_cast<unsigned>(std::min<uint64_t>(n, 1024));
  return {};
}

Status setCacheMode(Flags &flags, const char *, const std::string &value) {
  if (cache::parseMode(value, flags.cacheMode))
    return {};
  return usage("--cache: no mode '" + value + "'", "modes: off, ro, rw, refresh, require, verify");
}

/// One flag: what to do with its value ("" for switches).
struct Row {
  const char *name;
  bool takesValue;
  Status (*apply)(Flags &, const char *name, const std::string &value);
};

using Compile = driver::CompileOptions;
const Row rows[] = {
    {"-o", true, setText<&Flags::output>},
    {"--emit", true, setStage},
    {"--shape", true, append<&Compile::shapes, parseShapeFlag>},
    {"--dim", true, append<&Compile::dims, parseDimFlag>},
    {"--target", true, setTarget},
    {"--device", true, setTarget}, // gaudi-run's word for it
    {"--taps", false, setTrue<&Compile::taps>},
    {"--target-cpu", true, setText<&Compile::targetCpu>},
    {"--threads", true, setThreads},
    {"--memory-budget", true, setBytes<&Compile::memoryBudget>},
    {"--allow-external-root", true, setText<&Compile::externalRoot>},
    {"--cache", true, setCacheMode},
    {"--cache-dir", true, setText<&Flags::cacheDir>},
    {"--cache-max-size", true, setBytes<&Flags::cacheMaxBytes>},
    {"--resolve", false, setTrue<&Flags::resolve>},
    {"--quiet", false, setTrue<&Flags::quiet>},
    {"-q", false, setTrue<&Flags::quiet>},
    {"-v", false, setTrue<&Flags::verbose>},
    {"--supported", false, setTrue<&Flags::supported>},
    {"--help", false, setTrue<&Flags::help>},
    {"--version", false, setTrue<&Flags::version>},
};

std::string nearestFlag(llvm::StringRef name) {
  std::string best;
  unsigned distance = std::min<unsigned>(4, name.size() / 2); // "-x" is near nothing
  for (const Row &row : rows)
    if (unsigned d = name.edit_distance(row.name); d < distance) {
      best = row.name;
      distance = d;
    }
  return best;
}

} // namespace

Expected<Flags> gaudi::parseFlags(const std::vector<std::string> &arguments) {
  Flags flags;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &argument = arguments[i];
    if (argument.empty() || argument[0] != '-') {
      if (!flags.compile.model.empty())
        return usage("two models: '" + flags.compile.model + "' and '" + argument + "'", "compile one model at a time");
      flags.compile.model = argument;
      continue;
    }
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    const Row *row = nullptr;
    for (const Row &r : rows)
      if (name == r.name)
        row = &r;
    if (!row) {
      std::string close = nearestFlag(name);
      return usage("unknown flag '" + name + "'" + (close.empty() ? "" : "; did you mean '" + close + "'?"));
    }
    std::string value;
    if (row->takesValue && equals != std::string::npos)
      value = argument.substr(equals + 1);
    else if (row->takesValue) {
      if (++i == arguments.size())
        return usage(name + " needs a value");
      value = arguments[i];
    } else if (equals != std::string::npos)
      return usage(name + " takes no value");
    GAUDI_TRY(row->apply(flags, row->name, value));
  }
  if (flags.resolve && (!flags.output.empty() || flags.stage != driver::Stage::Artifact))
    return usage(std::string("--resolve contradicts ") + (flags.output.empty() ? "--emit" : "-o"),
                 "it names the artefact in the cache");
  return flags;
}

bool gaudi::isCompileFlag(const std::string &name) {
  return name.starts_with("--") && llvm::any_of(rows, [&](const Row &row) { return name == row.name; });
}

Status gaudi::parseSizeFlag(const char *flag, const std::string &value, uint64_t &bytes) {
  llvm::StringRef text(value);
  uint64_t unit = 1;
  for (auto [suffix, size] : {std::pair("KiB", 1ull << 10), std::pair("MiB", 1ull << 20), std::pair("GiB", 1ull << 30)})
    if (text.consume_back(suffix))
      unit = size;
  uint64_t number = 0;
  if (text.getAsInteger(10, number) || number > UINT64_MAX / unit)
    return usage(std::string(flag) + ": cannot read '" + value + "' as a number",
                 "a number such as 8, or a size such as 500MiB or 5GiB");
  bytes = number * unit;
  return {};
}

const char *gaudi::helpText() {
  return R"(usage: gaudi-opt MODEL.onnx -o OUT.gdx [flags]     compile
       gaudi-opt FILE.mlir [pass flags]              pass driver (all mlir-opt flags; --help FILE.mlir)
       gaudi-opt cache VERB [KEY]                    stats, list, show, explain, verify, prune, clear

  -o OUT.gdx                 artefact to write (default: the model's name with .gdx)
  --dim NAME=N               size of a symbolic dim, in every input that has it
  --shape INPUT=AxBxC        shape of one input
  --emit STAGE               stop at a stage and print it (or write it to -o): import, graph, kernels, rt, llvm,
                             obj (the linked machine code)
  --target NAME              device to compile for: cpu (default), ref (the reference evaluator)
  --taps                     named intermediate values become outputs, for gaudi-run compare
  --target-cpu NAME          native (default), x86-64-v3, znver3, ...
  --threads N                compile jobs and expected workers (default: physical cores)
  --memory-budget SIZE       largest working memory (KiB, MiB, GiB); compile fails if it does not fit
  --allow-external-root DIR  let weight files be links into DIR
  --cache MODE               off, ro, rw (default), refresh, require, verify
  --cache-dir DIR            default: $GAUDI_CACHE_DIR, else ~/.cache/gaudi
  --cache-max-size SIZE      oldest entries go above it (5GiB); larger ones are not stored
  --resolve                  compile through the cache and print where the artefact is, as JSON
  --supported                print which ONNX operators can be compiled (docs/onnx-support.md)
  -v; -q, --quiet            more, less on stderr
  --version, --help

exit codes: 0 done, 1 failed, 2 usage, 3 invalid model, 4 unsupported, 5 limit, 9 cache miss, 10 bug
)";
}
