//===- BenchCommand.cpp - gaudi-run bench ---------------------------------===//
//
// Cold (open, first run), warm-up and steady state are measured apart, because they answer different questions; compile
// time is reported but never mixed in. With --concurrency N, N threads with a context each run the same inputs.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/Clock.h"
#include "runtime/base/CpuCount.h"
#include "runtime/base/Text.h"
#include "tools/gaudi-run/Commands.h"
#include "tools/gaudi-run/Profile.h"
#include "tools/gaudi-run/Session.h"
#include "tools/gaudi-run/Stats.h"
#include "tools/gaudi-run/Words.h"
#include "tools/gaudi-run/io/WriteFile.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace gaudi::run {

namespace {
/// How long to warm up and to measure.
struct Plan {
  bool autoWarmup = false;
  uint64_t warmupRuns = 0;
  double warmupSeconds = 0;
  uint64_t runs = 0; ///< 0 = by time
  double seconds = 3;
  std::vector<double> percents;
};

/// One stream of runs.
struct Lane {
  std::unique_ptr<Context> context;
  std::vector<io::Array> outputs;
  std::vector<TensorView> in, out;
  std::vector<double> samples;
  Status status;

  /// One run; its time in ms, negative on failure (in `status`).
  double once() {
    uint64_t begin = nowNs();
    status = context->run(in, out);
    return status.ok() ? static_cast<double>(nowNs() - begin) / 1e6 : -1;
  }
};

struct Measured {
  double firstMs = 0;
  uint64_t warmupRuns = 0;
  double wallSeconds = 0;
  std::vector<double> samples;
  Summary summary;
};
} // namespace

static Expected<Plan> parsePlan(const Options &options) {
  Plan plan;
  auto bad = [](const char *flag, const std::string &value, const char *hint) {
    return Status::error(StatusCode::Usage, cat(flag, ": cannot read '", value, "'"), hint);
  };
  plan.autoWarmup = options.warmup == "auto";
  bool isCount = parseNumber(options.warmup, plan.warmupRuns);
  if (!plan.autoWarmup && !isCount && !parseDuration(options.warmup, plan.warmupSeconds))
    return bad("--warmup", options.warmup, "auto, a number of runs (10), or a time (2s)");
  plan.runs = options.iterations;
  if (!options.duration.empty() && !parseDuration(options.duration, plan.seconds))
    return bad("--duration", options.duration, "a time: 500ms, 3s, 2m");
  Expected<std::vector<double>> percents = parsePercentiles(options.percentiles);
  if (!percents.ok())
    return percents.takeStatus();
  plan.percents = percents.take();
  return plan;
}

static Expected<Lane> makeLane(const Session &session, const ModelOptions &options,
                               const std::vector<io::Array> &inputs) {
  Lane lane;
  Expected<std::vector<io::Array>> outputs = makeOutputs(session.executable->outputs());
  if (!outputs.ok())
    return outputs.takeStatus();
  Expected<std::unique_ptr<Context>> context = makeContext(session, options);
  if (!context.ok())
    return context.takeStatus();
  lane.context = context.take();
  lane.outputs = outputs.take();
  lane.in = viewsOf(inputs);
  lane.out = viewsOf(lane.outputs);
  return lane;
}

static Status warmUp(Lane &lane, const Plan &plan, Measured &out) {
  WarmupDetector detector;
  uint64_t begin = nowNs();
  for (bool warm = false; !warm;) {
    if (!plan.autoWarmup && out.warmupRuns >= plan.warmupRuns &&
        static_cast<double>(nowNs() - begin) / 1e9 >= plan.warmupSeconds)
      return {};
    double ms = lane.once();
    if (ms < 0)
      return std::move(lane.status);
    ++out.warmupRuns;
    warm = plan.autoWarmup && detector.add(ms);
  }
  return {};
}

/// Runs of one lane until the shared limits are reached. At least one.
static void measureLane(Lane &lane, const Plan &plan, std::atomic<uint64_t> &left, uint64_t deadlineNs) {
  do {
    if (plan.runs) {
      uint64_t before = left.load();
      do {
        if (before == 0)
          return;
      } while (!left.compare_exchange_weak(before, before - 1));
    }
    double ms = lane.once();
    if (ms < 0)
      return;
    lane.samples.push_back(ms);
  } while (plan.runs || nowNs() < deadlineNs);
}

static Status measure(std::vector<Lane> &lanes, const Plan &plan, Measured &out) {
  std::atomic<uint64_t> left = plan.runs;
  uint64_t begin = nowNs(), deadline = begin + static_cast<uint64_t>(plan.seconds * 1e9);
  std::vector<std::thread> threads;
  for (size_t i = 1; i < lanes.size(); ++i)
    threads.emplace_back([&, i] { measureLane(lanes[i], plan, left, deadline); });
  measureLane(lanes[0], plan, left, deadline);
  for (std::thread &thread : threads)
    thread.join();
  out.wallSeconds = static_cast<double>(nowNs() - begin) / 1e9;
  for (Lane &lane : lanes) {
    if (!lane.status.ok())
      return std::move(lane.status);
    out.samples.insert(out.samples.end(), lane.samples.begin(), lane.samples.end());
  }
  out.summary = summarize(out.samples, plan.percents);
  return {};
}

static double throughput(const Measured &m) {
  return m.wallSeconds > 0 ? static_cast<double>(m.samples.size()) / m.wallSeconds : 0;
}

static std::string formatBench(const Session &session, const Measured &m, size_t lanes, unsigned threads) {
  const Summary &s = m.summary;
  std::string out = cat("compile     ", session.origin.compileMs > 0 ? duration(session.origin.compileMs) : "0",
                        " (cache ", session.origin.cache, ")\nopen        ", duration(session.openMs), "\nfirst run   ",
                        duration(m.firstMs), "\nsteady      ", s.count, " runs after ", m.warmupRuns, " of warm-up, ",
                        lanes, " at a time, ", threads, threads == 1 ? " thread" : " threads", " each\n");
  for (auto [percent, value] : s.percentiles)
    out += cat("  p", brief(percent), std::string(percent < 10 ? 8 : 7, ' '), duration(value), "\n");
  out += cat("  mean      ", duration(s.mean), ", min ", duration(s.min), ", max ", duration(s.max), ", CoV ",
             fixed(100 * s.cov, 1), " %\nthroughput  ", fixed(throughput(m), 1), "/s\n");
  return out;
}

static std::string benchJson(const Session &session, const Measured &m, size_t lanes, unsigned threads,
                             const std::vector<ProfileRow> &rows) {
  const Summary &s = m.summary;
  json::Writer w;
  w.beginObject();
  writeSession(w, session);
  w.field("first_ms", m.firstMs)
      .field("warmup_runs", m.warmupRuns)
      .field("concurrency", lanes)
      .field("threads", threads);
  w.field("throughput", throughput(m)).key("latency_ms").beginObject();
  for (auto [percent, value] : s.percentiles)
    w.field("p" + brief(percent), value);
  w.field("min", s.min).field("max", s.max).field("mean", s.mean).field("cov", s.cov).key("samples").beginArray();
  for (double sample : m.samples)
    w.value(sample);
  w.endArray().endObject();
  if (!rows.empty())
    writeProfile(w, rows);
  return w.endObject().text();
}

/// Profiled runs come after the measured ones, which must not pay for time stamps.
static Status profileLane(Lane &lane, const Options &options, const Session &session, std::vector<ProfileRow> &rows) {
  if (!options.profile && options.trace.empty())
    return {};
  constexpr unsigned runs = 10;
  std::vector<KernelTime> times;
  for (unsigned i = 0; i < runs; ++i)
    GAUDI_TRY(lane.context->runProfiled(lane.in, lane.out, times));
  if (!options.trace.empty())
    GAUDI_TRY(io::writeFile(options.trace, {chromeTrace(session.executable->kernels(), times)}));
  if (options.profile)
    rows = profileRows(session.executable->kernels(), times, runs);
  return {};
}

static std::string closingLine(const Session &session, const Measured &m) {
  Summary s = summarize(m.samples, {50, 99});
  return cat("OK ", s.count, " runs: p50 ", duration(s.percentiles[0].second), " p99 ",
             duration(s.percentiles[1].second), ", ", fixed(throughput(m), 1), "/s; compile ",
             session.origin.compileMs > 0 ? duration(session.origin.compileMs) : "0");
}

Status benchCommand(const Options &options, const Console &console) {
  Expected<Plan> plan = parsePlan(options);
  if (!plan.ok())
    return plan.takeStatus();
  Expected<InputSet> set = parseInputs(options);
  if (!set.ok())
    return set.takeStatus();
  Expected<Session> session = openSession(options.models[0], options.model, *set, console);
  if (!session.ok())
    return session.takeStatus();
  Expected<std::vector<io::Array>> inputs = buildInputs(set.take(), session->executable->inputs());
  if (!inputs.ok())
    return inputs.takeStatus();

  ModelOptions perLane = options.model;
  size_t laneCount = std::max(options.concurrency, 1u);
  if (!perLane.threads && laneCount > 1) // N contexts must not fight for the same cores
    perLane.threads = std::max<unsigned>(1, usableCores() / static_cast<unsigned>(laneCount));
  std::vector<Lane> lanes;
  for (size_t i = 0; i < laneCount; ++i) {
    Expected<Lane> lane = makeLane(*session, perLane, *inputs);
    if (!lane.ok())
      return lane.takeStatus();
    lanes.push_back(lane.take());
  }

  Measured measured;
  measured.firstMs = lanes[0].once();
  if (measured.firstMs < 0)
    return std::move(lanes[0].status);
  for (Lane &lane : lanes) {
    measured.warmupRuns = 0;
    GAUDI_TRY(warmUp(lane, *plan, measured));
  }
  GAUDI_TRY(measure(lanes, *plan, measured));
  std::vector<ProfileRow> rows;
  GAUDI_TRY(profileLane(lanes[0], options, *session, rows));

  unsigned threads = lanes[0].context->threads();
  GAUDI_TRY(console.result(formatBench(*session, measured, laneCount, threads)));
  if (!rows.empty())
    GAUDI_TRY(console.result(formatProfile(rows, console.verbose() ? SIZE_MAX : 20)));
  GAUDI_TRY(console.json(benchJson(*session, measured, laneCount, threads, rows)));
  if (measured.summary.cov > 0.05)
    console.warning(cat("times vary (CoV ", fixed(100 * measured.summary.cov, 1),
                        " %, over 5 %): other load, frequency changes or too few runs; compare medians only"));
  console.info(closingLine(*session, measured));
  return {};
}

} // namespace gaudi::run
