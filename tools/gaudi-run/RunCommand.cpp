//===- RunCommand.cpp - gaudi-run run -------------------------------------===//
#include "runtime/base/Clock.h"
#include "runtime/base/Text.h"
#include "tools/gaudi-run/Commands.h"
#include "tools/gaudi-run/Outputs.h"
#include "tools/gaudi-run/Profile.h"
#include "tools/gaudi-run/Session.h"
#include "tools/gaudi-run/Stats.h"
#include "tools/gaudi-run/Words.h"
#include "tools/gaudi-run/io/WriteFile.h"

namespace gaudi::run {

namespace {
struct Timed {
  std::vector<double> ms;
  std::vector<KernelTime> kernels;
};
} // namespace

static Status execute(Context &context, const std::vector<TensorView> &in, const std::vector<TensorView> &out,
                      uint64_t runs, bool profile, Timed &timed) {
  for (uint64_t i = 0; i < runs; ++i) {
    uint64_t begin = nowNs();
    GAUDI_TRY(profile ? context.runProfiled(in, out, timed.kernels) : context.run(in, out));
    timed.ms.push_back(static_cast<double>(nowNs() - begin) / 1e6);
  }
  return {};
}

/// "OK 1000 runs: p50 12.3 ms p99 13.1 ms, 81.3/s; compile 0".
static std::string closingLine(const Timed &timed, const Session &session) {
  Summary s = summarize(timed.ms, {50, 99});
  std::string compile = session.origin.compileMs > 0 ? duration(session.origin.compileMs) : "0";
  return cat("OK ", s.count, s.count == 1 ? " run: p50 " : " runs: p50 ", duration(s.percentiles[0].second), " p99 ",
             duration(s.percentiles[1].second), ", ", fixed(s.mean > 0 ? 1000 / s.mean : 0, 1), "/s; compile ",
             compile);
}

static Status reportProfile(const Options &options, const Session &session, const Timed &timed,
                            const Console &console) {
  const std::vector<KernelInfo> &kernels = session.executable->kernels();
  if (!options.trace.empty())
    GAUDI_TRY(io::writeFile(options.trace, {chromeTrace(kernels, timed.kernels)}));
  if (!options.profile)
    return {};
  std::vector<ProfileRow> rows = profileRows(kernels, timed.kernels, static_cast<unsigned>(timed.ms.size()));
  return console.result(formatProfile(rows, console.verbose() ? SIZE_MAX : 20));
}

static Status reportJson(const Options &options, const Session &session, const Timed &timed,
                         const std::vector<io::Array> &outputs, const std::string &comparison, bool equal,
                         const Console &console) {
  if (!console.wantsJson())
    return {};
  json::Writer w;
  w.beginObject();
  writeSession(w, session);
  w.field("runs", timed.ms.size()).key("samples_ms").beginArray();
  for (double ms : timed.ms)
    w.value(ms);
  w.endArray().key("outputs").beginArray();
  for (const io::Array &output : outputs)
    w.beginObject().field("name", output.spec.name).field("type", toString(output.spec)).endObject();
  w.endArray();
  if (!options.expects.empty())
    w.field("equal", equal).field("comparison", comparison);
  if (options.profile)
    writeProfile(w, profileRows(session.executable->kernels(), timed.kernels, static_cast<unsigned>(timed.ms.size())));
  return console.json(w.endObject().text());
}

Status runCommand(const Options &options, const Console &console) {
  Expected<InputSet> set = parseInputs(options);
  if (!set.ok())
    return set.takeStatus();
  Expected<Session> session = openSession(options.models[0], options.model, *set, console);
  if (!session.ok())
    return session.takeStatus();
  const Executable &executable = *session->executable;
  GAUDI_TRY(checkOutputFlags(options, executable.outputs()));
  Expected<std::vector<io::Array>> inputs = buildInputs(set.take(), executable.inputs());
  if (!inputs.ok())
    return inputs.takeStatus();
  Expected<std::vector<io::Array>> outputs = makeOutputs(executable.outputs());
  if (!outputs.ok())
    return outputs.takeStatus();
  Expected<std::unique_ptr<Context>> context = makeContext(*session, options.model);
  if (!context.ok())
    return context.takeStatus();

  Timed timed;
  bool profile = options.profile || !options.trace.empty();
  uint64_t runs = options.iterations ? options.iterations : 1;
  GAUDI_TRY(execute(**context, viewsOf(*inputs), viewsOf(*outputs), runs, profile, timed));

  GAUDI_TRY(writeOutputs(options, *outputs, console));
  if (options.outputs.empty() && options.expects.empty())
    GAUDI_TRY(console.result(summarizeOutputs(*outputs)));
  std::string comparison;
  Expected<bool> equal = checkExpectations(options, *outputs, comparison);
  if (!equal.ok())
    return equal.takeStatus();
  GAUDI_TRY(console.result(comparison));
  GAUDI_TRY(reportProfile(options, *session, timed, console));
  GAUDI_TRY(reportJson(options, *session, timed, *outputs, comparison, *equal, console));
  if (!*equal)
    return Status::error(StatusCode::OutputsDiffer, cat(session->name, ": outputs differ from the expected ones"),
                         "--atol and --rtol set the tolerance");
  if (options.checkNan)
    GAUDI_TRY(checkFinite(*outputs));
  console.info(closingLine(timed, *session));
  return {};
}

} // namespace gaudi::run
