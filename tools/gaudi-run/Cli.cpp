//===- Cli.cpp - the command line -----------------------------------------===//
//
// CLI11 describes and reads the flags; unknown ones are found before it runs, because its message names no alternative
// and `-input` would be read as `-i nput`. Built with exceptions: they end in parseCommandLine().
//
//===----------------------------------------------------------------------===//
#include "tools/gaudi-run/Cli.h"
#include "runtime/base/Text.h"
#include "runtime/cache/Cache.h"
#include "runtime/cache/Commands.h"
#include "tools/gaudi-run/Words.h"

#include <CLI/CLI.hpp>

#include <unistd.h>

namespace gaudi::run {

const char *shortHelp() {
  return R"(usage: gaudi-run [run] MODEL [flags]       run a model once (MODEL: .gdx, or .onnx through the cache)
       gaudi-run bench MODEL [flags]       measure latency and throughput
       gaudi-run compare A [B] [flags]     compare two models, or one on two devices (cpu, ref), by layer
       gaudi-run inspect MODEL             signature, memory plan, kernels; executes nothing
       gaudi-run devices                   what this build and machine can run on
       gaudi-run cache VERB [KEY]          stats, list, show, explain, verify, prune, clear

  --input NAME=VALUE    @f.npy, @f.npz[:key], @f.pb, @f.bin, random[:seed=1,range=0..1], ids[:max=N],
                        zeros, ones, 1,2,3 or f32[2]=1,2; NAME * = all others
  --inputs DIR          input_0.pb ... or NAME.npy
  --output NAME=@FILE   .npy or .npz; @ALL.npz for all; NAME=- prints
  --expect NAME=@FILE   compare; --atol --rtol --nan=equal|error; exit 7 if they differ
  --shape NAME=1x128, --dim batch=4     of an .onnx
  --device NAME, --threads N, --memory-budget SIZE, --weights FILE
  --cache MODE          off, ro, rw, refresh, require, verify; --cache-dir DIR; --cache-max-size SIZE;
                        --forbid-compile
  --iterations N, --duration 3s, --warmup auto|N|Ns, --concurrency N, --percentiles 50,90,99
  --profile, --trace FILE.json          time per kernel
  --json[=FILE], -v, -q, --color auto|always|never, --timeout 10s
  --help-all, --version

exit codes: 0 ok, 1 failed check, 2 usage, 3 invalid input, 4 unsupported, 5 resource limit, 6 run-time failure,
7 outputs differ, 8 bad artefact, 9 cache entry missing, 10 bug, 124 time limit, 130 interrupted
)";
}

namespace {
using Command = Options::Command;

/// Values that CLI11 cannot put into Options directly.
struct Raw {
  bool verifyFull = false, forbidCompile = false, quiet = false, checkNan = false, profile = false;
  int verbose = 0;
  double atol = 0, rtol = 0;
  std::string nan = "equal", memoryBudget, json, verify = "meta";
};

struct Sub {
  const char *name;
  Command command;
  const char *help;
};
constexpr Sub subs[] = {
    {"run", Command::Run, "Run a model"},
    {"bench", Command::Bench, "Measure latency and throughput"},
    {"compare", Command::Compare, "Compare two models, or one model on two devices"},
    {"inspect", Command::Inspect, "Show signature, memory plan and kernels; executes nothing"},
    {"devices", Command::Devices, "List devices"},
    {"cache", Command::Cache, "Look at and clean the compile cache"},
};

/// One value per occurrence; CLI11 would otherwise take following arguments, or split "[1,2]".
template <typename T> CLI::Option *repeated(CLI::App &app, const char *name, T &target, const char *help) {
  return app.add_option(name, target, help)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void addCommon(CLI::App &app, Options &o, Raw &raw) {
  app.add_option("--json", raw.json, "JSON to FILE, or to stdout without one")->type_name("[=FILE]");
  app.add_flag("-v,--verbose", raw.verbose, "More on stderr; all rows in tables");
  app.add_flag("-q,--quiet", raw.quiet, "Errors only on stderr");
  app.add_option("--color", o.color, "auto, always or never")->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_option("--timeout", o.timeout, "End with exit code 124 after this time (10s, 2m)");
}

void addModel(CLI::App &app, Options &o, Raw &raw, int most) {
  app.add_option("model", o.models, "Model: .gdx or .onnx")->required()->expected(1, most);
  app.add_option("--weights", o.model.weights, "Packed weights of a .gdx compiled without them");
  app.add_option("--verify", raw.verify, "meta, or full: check the weights' digest too")
      ->check(CLI::IsMember({"meta", "full"}));
  repeated(app, "--shape", o.model.shapes, "Input shape for an .onnx, NAME=1x128");
  repeated(app, "--dim", o.model.dims, "Size of a symbolic dim of an .onnx, NAME=4");
  app.add_option("--target-cpu", o.model.targetCpu, "CPU to compile for (native)");
  app.add_option("--cache", o.model.cacheMode, "off, ro, rw, refresh, require or verify");
  app.add_option("--cache-dir", o.model.cacheDir, "Folder of the compile cache");
  app.add_option("--cache-max-size", o.model.cacheMaxSize, "What the cache may grow to (5GiB)");
  app.add_flag("--forbid-compile", raw.forbidCompile, "A cache miss is an error (exit 9)");
}

void addExecution(CLI::App &app, Options &o, Raw &raw) {
  app.add_option("--threads", o.model.threads, "Worker threads (all physical cores)");
  app.add_option("--memory-budget", raw.memoryBudget, "Most memory for slab, scratch and weights");
  repeated(app, "--input", o.inputs, "NAME=VALUE; see --help");
  app.add_option("--inputs", o.inputsDir, "Folder with input_0.pb ... or NAME.npy");
}

void addProfile(CLI::App &app, Options &o) {
  app.add_flag("--profile", o.profile, "Time, FLOP/s and bytes/s per kernel");
  app.add_option("--trace", o.trace, "Chrome trace of the kernels");
}

void addTolerance(CLI::App &app, Raw &raw) {
  app.add_option("--atol", raw.atol, "Absolute tolerance (by element type)")->check(CLI::NonNegativeNumber);
  app.add_option("--rtol", raw.rtol, "Relative tolerance (by element type)")->check(CLI::NonNegativeNumber);
  app.add_option("--nan", raw.nan, "equal: NaN matches NaN; error: never")->check(CLI::IsMember({"equal", "error"}));
}

void describe(CLI::App &app, Command command, Options &o, Raw &raw) {
  app.set_help_flag();
  addCommon(app, o, raw);
  switch (command) {
  case Command::Run:
  case Command::Bench:
  case Command::Compare:
    addModel(app, o, raw, command == Command::Compare ? 2 : 1);
    addExecution(app, o, raw);
    break;
  case Command::Inspect:
    addModel(app, o, raw, 1);
    break;
  case Command::Cache:
    app.add_option("verb", o.cacheVerb, "stats, list, show, explain, verify, prune or clear")->required();
    app.add_option("key", o.cacheKey, "First digits of a key, for show and explain");
    app.add_option("--cache-dir", o.model.cacheDir, "Folder of the compile cache");
    app.add_option("--max-size", o.cacheMaxSize, "What prune leaves (5GiB)");
    break;
  default:
    break;
  }
  if (command == Command::Compare)
    repeated(app, "--device", o.devices, "Device of the first and of the second side");
  else if (command == Command::Run || command == Command::Bench)
    app.add_option("--device", o.model.device, "Device (the one it was compiled for)");
  if (command == Command::Run || command == Command::Compare)
    addTolerance(app, raw);
  if (command == Command::Run) {
    repeated(app, "--output", o.outputs, "NAME=@F.npy, NAME=@F.npz, @ALL.npz or NAME=-");
    repeated(app, "--expect", o.expects, "NAME=@REF.npy; exit 7 if the output differs");
    app.add_flag("--check-nan", o.checkNan, "NaN or infinity in an output is an error (exit 1)");
    app.add_option("--iterations", o.iterations, "Runs (1)")->check(CLI::PositiveNumber);
    addProfile(app, o);
  }
  if (command == Command::Bench) {
    app.add_option("--warmup", o.warmup, "auto, runs, or a time (auto)");
    app.add_option("--iterations", o.iterations, "Measured runs; wins over --duration")->check(CLI::PositiveNumber);
    app.add_option("--duration", o.duration, "Time to measure for (3s)");
    app.add_option("--concurrency", o.concurrency, "Runs at a time, each with its own memory")
        ->check(CLI::Range(1, 1024));
    app.add_option("--percentiles", o.percentiles, "Percentiles to report (50,90,99)");
    addProfile(app, o);
  }
}
} // namespace

static Status usage(std::string message, std::string hint = "gaudi-run --help lists the flags") {
  return Status::error(StatusCode::Usage, std::move(message), std::move(hint));
}

static bool isNumber(std::string_view text) {
  double ignored;
  return parseNumber(text, ignored);
}

static Status unknownFlag(const CLI::App &app, const std::string &name) {
  std::vector<std::string> known = {"--help", "--help-all", "--version"};
  for (const CLI::Option *option : app.get_options())
    for (const std::string &longName : option->get_lnames())
      known.push_back("--" + longName);
  std::string dashed = name.starts_with("--") ? name : "-" + name;
  return usage(cat("unknown flag '", name, "'", didYouMean(dashed, known)),
               cat("gaudi-run ", app.get_name(), " --help lists the flags"));
}

/// Unknown flags, and `--json` without a file, which CLI11 would give the next argument.
static Status checkFlags(const CLI::App &app, std::vector<std::string> &arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string &argument = arguments[i];
    if (argument.size() < 2 || argument[0] != '-' || isNumber(argument))
      continue;
    bool shortFlag = argument[1] != '-' && argument.find_first_not_of("vq", 1) == std::string::npos;
    if (shortFlag)
      continue;
    if (argument == "--json")
      argument = "--json=-";
    std::string name = argument.substr(0, argument.find('='));
    const CLI::Option *option = name.starts_with("--") ? app.get_option_no_throw(name) : nullptr;
    if (!option)
      return unknownFlag(app, name);
    if (option->get_items_expected_max() > 0 && argument.find('=') == std::string::npos)
      ++i; // its value
  }
  return {};
}

static Status finish(const CLI::App &app, const Raw &raw, Options &o) {
  auto given = [&](const char *name) {
    const CLI::Option *option = app.get_option_no_throw(name);
    return option && option->count() > 0;
  };
  o.verbosity = raw.quiet ? 0 : 1 + raw.verbose;
  o.model.quiet = raw.quiet;
  o.json = given("--json");
  o.jsonFile = raw.json == "-" ? "" : raw.json;
  o.model.verifyFull = raw.verify == "full";
  o.tolerance.nanEqual = raw.nan == "equal";
  if (given("--atol"))
    o.tolerance.atol = raw.atol;
  if (given("--rtol"))
    o.tolerance.rtol = raw.rtol;
  if (!raw.memoryBudget.empty() && !parseSize(raw.memoryBudget, o.model.memoryBudget))
    return usage(cat("--memory-budget: cannot read '", raw.memoryBudget, "'"), "a size: 500MiB, 5GiB");
  double seconds;
  if (!o.timeout.empty() && !(parseDuration(o.timeout, seconds) && seconds > 0))
    return usage(cat("--timeout: cannot read '", o.timeout, "'"), "a time: 500ms, 10s, 2m");
  cache::Mode mode;
  if (!cache::parseMode(o.model.cacheMode, mode))
    return usage(cat("--cache: no mode '", o.model.cacheMode, "'",
                     didYouMean(o.model.cacheMode, {"off", "ro", "rw", "refresh", "require", "verify"})),
                 "modes: off, ro, rw, refresh, require, verify");
  if (raw.forbidCompile && given("--cache") && mode != cache::Mode::Require)
    return usage(cat("--forbid-compile contradicts --cache=", o.model.cacheMode));
  if (raw.forbidCompile)
    o.model.cacheMode = "require";
  return {};
}

/// The subcommand in front, `run` if there is none.
static Expected<const Sub *> takeCommand(std::vector<std::string> &arguments) {
  std::vector<std::string> names;
  for (const Sub &sub : subs) {
    if (arguments[0] == sub.name) {
      arguments.erase(arguments.begin());
      return &sub;
    }
    names.push_back(sub.name);
  }
  // A word that is no file is a mistyped command rather than a missing model.
  const std::string &first = arguments[0];
  std::string nearest = nearestName(first, names);
  if (first[0] != '-' && !nearest.empty() && ::access(first.c_str(), F_OK) != 0)
    return usage(cat("no command or file '", first, "'; did you mean '", nearest, "'?"),
                 "commands: " + join(names, ", "));
  return &subs[0];
}

/// CLI11's text, in our form: "--threads: Value x not in range" etc. have the flag in front already.
static Status fromCli11(const CLI::App &app, const CLI::ParseError &error) {
  std::string message = error.what();
  if (message.starts_with("model is required"))
    message = "no model given";
  else if (message.starts_with("verb is required"))
    return usage("cache: no verb given", "verbs: " + join(cache::kVerbs, ", "));
  else if (!message.empty() && message[0] >= 'A' && message[0] <= 'Z')
    message[0] = static_cast<char>(message[0] | 32);
  return usage(message, cat("gaudi-run ", app.get_name(), " --help lists the flags"));
}

static bool has(const std::vector<std::string> &arguments, const char *flag) {
  return std::find(arguments.begin(), arguments.end(), flag) != arguments.end();
}

static std::string fullHelp() {
  std::string out = shortHelp();
  for (const Sub &sub : subs) {
    Options options;
    Raw raw;
    CLI::App app(sub.help, sub.name);
    describe(app, sub.command, options, raw);
    out += "\n" + app.help();
  }
  return out;
}

Expected<ParsedCommandLine> parseCommandLine(std::vector<std::string> arguments) {
  ParsedCommandLine parsed;
  if (has(arguments, "--version")) {
    parsed.print = cat("gaudi-run ", GAUDI_VERSION, " (artefact format 1)\n");
    return parsed;
  }
  if (has(arguments, "--help-all")) {
    parsed.print = fullHelp();
    return parsed;
  }
  if (arguments.empty())
    return usage("no command and no model given", "gaudi-run --help shows how to start");
  if (arguments[0] == "--help" || arguments[0] == "-h") {
    parsed.print = shortHelp();
    return parsed;
  }
  Expected<const Sub *> sub = takeCommand(arguments);
  if (!sub.ok())
    return sub.takeStatus();
  Raw raw;
  CLI::App app((*sub)->help, (*sub)->name);
  parsed.options.command = (*sub)->command;
  describe(app, (*sub)->command, parsed.options, raw);
  if (has(arguments, "--help")) {
    parsed.print = app.help();
    return parsed;
  }
  GAUDI_TRY(checkFlags(app, arguments));
  std::reverse(arguments.begin(), arguments.end()); // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError &error) {
    return fromCli11(app, error);
  }
  GAUDI_TRY(finish(app, raw, parsed.options));
  return parsed;
}

} // namespace gaudi::run
