//===- CliTest.cpp - gaudi-run as users call it ---------------------------===//
//
// Runs the program on the artefact of test/runtime/TestArtifact.h: y f32[4,48] from x f32[4,32] and ids i64[4].
//
//===----------------------------------------------------------------------===//
#include "IoSupport.h"
#include "runtime/cache/Cache.h"
#include "test/runtime/TestArtifact.h"
#include "tools/gaudi-run/io/Npz.h"

#include <algorithm>
#include <fcntl.h>
#include <fstream>
#include <signal.h>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>

extern char **environ;

using namespace gaudi;

namespace {
struct Result {
  int code = -1; ///< 1000 + signal if it did not exit
  std::string out, err;
};

std::string slurp(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

struct Cli : testing::Test {
  io::TempDir dir;
  std::string gdx = dir.path + "/ex.gdx";
  std::vector<std::string> inputs;

  void SetUp() override {
    test::TestArtifact artifact = test::makeTestArtifact();
    ASSERT_TRUE(writeArtifact(gdx, artifact.parts()).ok());
    ::setenv("GAUDI_CACHE_DIR", (dir.path + "/cache").c_str(), 1);
    inputs = {"--input=x=random:seed=3,range=-1..1", "--input=ids=0,3,1,2"};
  }

  /// Starts the program; its pid.
  pid_t start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), GAUDI_RUN);
    std::vector<char *> argv;
    for (std::string &argument : arguments)
      argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 1, (dir.path + "/out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::posix_spawn_file_actions_addopen(&actions, 2, (dir.path + "/err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t pid = 0;
    EXPECT_EQ(::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    return pid;
  }
  Result finish(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), slurp(dir.path + "/out"),
            slurp(dir.path + "/err")};
  }
  Result run(std::vector<std::string> arguments) { return finish(start(std::move(arguments))); }
  /// With the inputs.
  Result runModel(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), inputs.begin(), inputs.end());
    return run(std::move(arguments));
  }
  void script(const std::string &text) {
    std::ofstream(dir.path + "/opt") << "#!/bin/sh\n" << text;
    std::filesystem::permissions(dir.path + "/opt", std::filesystem::perms::owner_all);
    std::ofstream(dir.path + "/m.onnx") << "an onnx model, says the test";
    ::setenv("GAUDI_OPT", (dir.path + "/opt").c_str(), 1);
  }
};
} // namespace

TEST_F(Cli, RunsAndWritesOutputs) {
  Result r =
      runModel({gdx, "--output", "y=@" + dir.path + "/y.npy", "--output=@" + dir.path + "/all.npz", "--output=y=-"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(r.out.starts_with("y f32[4,48]=")) << r.out;
  EXPECT_TRUE(has(r.err, "ex: cpu x86-64")) << r.err;
  EXPECT_TRUE(has(r.err, "6.0 KiB weights (mmap), 896 bytes slab, ratio 1.17")) << r.err;
  EXPECT_TRUE(has(r.err, "OK 1 run: p50 ") && has(r.err, "; compile 0")) << r.err;
  auto y = io::readNpy(dir.path + "/y.npy");
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ(toString(y->spec), "f32[4,48]");
  auto z = io::NpzReader::open(dir.path + "/all.npz");
  ASSERT_TRUE(z.ok());
  EXPECT_EQ(memcmp(z->read("y")->data.get(), y->data.get(), y->spec.sizeBytes()), 0);
}

TEST_F(Cli, ComputesWhatTheReferenceSays) {
  test::TestArtifact artifact = test::makeTestArtifact();
  std::vector<float> x = test::testInput(), expected = test::expectedOutput(artifact, x, {0, 3, 1, 2});
  ASSERT_TRUE(io::writeNpy(dir.path + "/x.npy", {"", DType::F32, {4, 32}}, {x.data(), x.size() * 4}).ok());
  TensorSpec spec = {"", DType::F32, {4, 48}};
  ASSERT_TRUE(io::writeNpy(dir.path + "/ref.npy", spec, {expected.data(), expected.size() * 4}).ok());
  std::vector<std::string> args = {"run", gdx, "--input=x=@" + dir.path + "/x.npy", "--input=ids=0,3,1,2",
                                   "--expect=y=@" + dir.path + "/ref.npy"};
  Result r = run(args);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(r.out.starts_with("y: f32[4,48]: equal within atol 1e-05, rtol 0.001")) << r.out;
  expected[1 * 48 + 7] += 100;
  ASSERT_TRUE(io::writeNpy(dir.path + "/ref.npy", spec, {expected.data(), expected.size() * 4}).ok());
  r = run(args);
  EXPECT_EQ(r.code, 7);
  EXPECT_TRUE(has(r.out, "y: f32[4,48]: 1 of 192 elements differ") && has(r.out, "  [1,7] got ")) << r.out;
  EXPECT_TRUE(has(r.err, "error: ex: outputs differ from the expected ones\nhint: --atol and --rtol")) << r.err;
  args.push_back("--atol=200");
  EXPECT_EQ(run(args).code, 0);
  ASSERT_TRUE(io::writeNpy(dir.path + "/ref.npy", {"", DType::F64, {1}}, {expected.data(), 8}).ok());
  EXPECT_TRUE(has(run(args).err, "error: --expect y: reference is f64[1], output is f32[4,48]"));
}

TEST_F(Cli, UsageErrors) {
  struct Row {
    std::vector<std::string> arguments;
    std::string error;
  };
  for (const Row &row : std::initializer_list<Row>{
           {{}, "error: no command and no model given\nhint: gaudi-run --help shows how to start\n"},
           {{gdx, "--inptu", "x"},
            "error: unknown flag '--inptu'; did you mean '--input'?\nhint: gaudi-run run --help lists the flags\n"},
           {{gdx, "-input", "x"}, "error: unknown flag '-input'; did you mean '--input'?"},
           {{gdx, "--frobnicate"}, "error: unknown flag '--frobnicate'\n"},
           {{"bnech", gdx}, "error: no command or file 'bnech'; did you mean 'bench'?"},
           {{"run"}, "error: no model given"},
           {{"cache"}, "error: cache: no verb given\nhint: verbs: stats, list"},
           {{gdx, gdx}, "error: "},
           {{gdx, "--threads", "many"}, "error: "},
           {{gdx, "--color=pink"}, "error: --color: "},
           {{gdx, "--memory-budget=5GB"}, "error: --memory-budget: cannot read '5GB'\nhint: a size: 500MiB, 5GiB"},
           {{gdx, "--timeout=soon"}, "error: --timeout: cannot read 'soon'"},
           {{gdx, "--cache=readonly"}, "error: --cache: no mode 'readonly'"},
           {{gdx, "--cache=ro", "--forbid-compile"}, "error: --forbid-compile contradicts --cache=ro"},
           {{gdx, "--output=y=file"}, "error: --output: cannot read 'y=file'"},
           {{gdx, "--output=z=-"}, "error: no output 'z'"},
           {{gdx, "--expect=y=1"}, "error: --expect: cannot read 'y=1'"},
           {{gdx},
            "error: no value for inputs 'x', 'ids'; the inputs are:\n  x    f32[4,32]\n  ids  i64[4]\nhint: add "
            "--input"},
           {{"bench", gdx, "--warmup=some"}, "error: --warmup: cannot read 'some'"},
           {{"bench", gdx, "--duration=x"}, "error: --duration: cannot read 'x'"},
           {{"bench", gdx, "--percentiles=x"}, "error: --percentiles: not a percentage (found 'x', expected 0 to 100)"},
           {{dir.path + "/none.gdx"}, "error: " + dir.path + "/none.gdx: cannot open: No such file or directory"},
       }) {
    Result r = run(row.arguments);
    EXPECT_EQ(r.code, 2) << row.error << r.err;
    EXPECT_TRUE(has(r.err, row.error)) << "got:\n" << r.err << "expected:\n" << row.error;
    EXPECT_EQ(r.out, "");
  }
}

TEST_F(Cli, ValuesInSeparateArgumentsMayLookOdd) {
  Result r = run(
      {gdx, "--input", "x=random:range=-1..1", "--input", "ids=0,0,0,0", "--output", "y=-", "--atol", "1e-3", "-q"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "");
}

TEST_F(Cli, HelpAndVersion) {
  Result help = run({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_LE(std::count(help.out.begin(), help.out.end(), '\n'), 40);
  EXPECT_TRUE(help.out.starts_with("usage: gaudi-run"));
  for (const char *command : {"run", "bench", "compare", "inspect", "devices", "cache"}) {
    Result r = run({command, "--help"});
    EXPECT_EQ(r.code, 0) << command;
    EXPECT_LE(std::count(r.out.begin(), r.out.end(), '\n'), 40) << command;
  }
  EXPECT_TRUE(has(run({"--help-all"}).out, "--percentiles"));
  EXPECT_TRUE(run({"--version"}).out.starts_with("gaudi-run 0."));
}

TEST_F(Cli, RunTimeFaultsAndNan) {
  Result r = run({gdx, "--input=x=zeros", "--input=ids=0,99,0,0"});
  EXPECT_EQ(r.code, 6) << r.err;
  EXPECT_TRUE(has(r.err, "index out of range")) << r.err;
  std::string nan = "nan";
  for (int i = 1; i < 128; ++i)
    nan += ",0";
  r = run({gdx, "--input=x=" + nan, "--input=ids=0,1,2,3", "--check-nan"});
  EXPECT_EQ(r.code, 1) << r.err;
  EXPECT_TRUE(has(r.err, "error: output 'y': 48 NaN and 0 infinite of 192 elements (first at element 0)")) << r.err;
  EXPECT_TRUE(has(r.out, " NaN 48")) << r.out;
}

TEST_F(Cli, ResourceLimitAndBadArtefact) {
  Result r = runModel({gdx, "--memory-budget=1KiB"});
  EXPECT_EQ(r.code, 5) << r.err;
  std::string bytes = slurp(gdx);
  bytes[100] ^= 1;
  std::ofstream(gdx, std::ios::binary) << bytes;
  EXPECT_EQ(runModel({gdx}).code, 8);
  EXPECT_EQ(run({"inspect", gdx}).code, 8);
}

TEST_F(Cli, Json) {
  Result r = runModel({gdx, "--json"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(r.out.starts_with(R"({"model":"ex","cache":"none","key":"","compile_ms":0,"open_ms":)")) << r.out;
  EXPECT_TRUE(has(r.out, R"("outputs":[{"name":"y","type":"f32[4,48]"}])")) << r.out;
  r = runModel({"bench", gdx, "--json=" + dir.path + "/b.json", "--iterations=20", "--warmup=3"});
  EXPECT_EQ(r.code, 0) << r.err;
  std::string json = slurp(dir.path + "/b.json");
  EXPECT_TRUE(has(json, R"("latency_ms":{"p50":)") && has(json, R"("samples":[)") && has(json, R"("warmup_runs":3)"))
      << json;
  EXPECT_TRUE(has(json, R"("memory":{"weights":6208,"slab":896)")) << json;
  EXPECT_TRUE(has(r.out, "first run ")) << r.out; // text still on stdout
  std::string samples = json.substr(json.find("samples"));
  EXPECT_EQ(std::count(samples.begin(), samples.begin() + long(samples.find(']')), ','), 19);
}

TEST_F(Cli, Bench) {
  Result r = runModel({"bench", gdx, "--duration=50ms", "--concurrency=2", "--percentiles=10,99.9", "--profile",
                       "--trace=" + dir.path + "/t.json"});
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char *part : {"compile     0 (cache none)", "open ", "first run ", " of warm-up, 2 at a time", "  p10 ",
                           "  p99.9 ", "CoV ", "throughput "})
    EXPECT_TRUE(has(r.out, part)) << part << "\n" << r.out;
  EXPECT_TRUE(has(r.out, "dense (matmul_bias)")) << r.out;
  EXPECT_TRUE(has(slurp(dir.path + "/t.json"), "\"traceEvents\":[{\"name\":"));
  EXPECT_TRUE(has(r.err, "OK ") && has(r.err, "/s; compile 0")) << r.err;
}

TEST_F(Cli, Compare) {
  Result r = runModel({"compare", gdx, gdx});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(has(r.err, "OK 1 tensor is equal within tolerance"));
  test::TestArtifact other = test::makeTestArtifact();
  for (float &w : other.weights)
    w *= 1.5f;
  ASSERT_TRUE(writeArtifact(dir.path + "/other.gdx", other.parts()).ok());
  r = runModel({"compare", gdx, dir.path + "/other.gdx", "--json=" + dir.path + "/c.json"});
  EXPECT_EQ(r.code, 7) << r.err;
  EXPECT_TRUE(has(r.err, "error: ex on cpu and other on cpu: 1 of 1 tensors differ, first output 'y'")) << r.err;
  EXPECT_TRUE(has(slurp(dir.path + "/c.json"),
                  R"({"equal":false,"first_over_tolerance":"y","tensors":[{"name":"y","ok":false)"));
  r = runModel({"compare", gdx, "--device=cpu", "--device=cpu"});
  EXPECT_EQ(r.code, 0) << r.err;
  r = runModel({"compare", gdx});
  EXPECT_EQ(r.code, 2) << r.err;
  EXPECT_TRUE(has(r.err, "error: compare: only one side given")) << r.err;
}

TEST_F(Cli, InspectAndDevices) {
  Result r = run({"inspect", gdx});
  EXPECT_EQ(r.code, 0) << r.err;
  for (const char *part :
       {"target    cpu x86-64", "  x    f32[4,32]\n", "outputs\n  y  f32[4,48]\n", "lower bound 768 bytes, ratio 1.17",
        "  live at the peak\n    h  768 bytes", "kernels   2 launches of 2 kernels"})
    EXPECT_TRUE(has(r.out, part)) << part << "\n" << r.out;
  r = run({"inspect", gdx, "--json"});
  EXPECT_TRUE(has(r.out, R"("live_at_peak":[{"name":"h","bytes":768}])")) << r.out;
  r = run({"devices"});
  EXPECT_TRUE(has(r.out, "cpu       x86-64 native code\n")) << r.out;
  EXPECT_TRUE(has(run({"devices", "--json"}).out, R"({"name":"cpu","description":"x86-64 native code","usable":true)"));
}

TEST_F(Cli, CacheVerbsAndEntriesAsModels) {
  Result r = run({"cache", "stats"});
  EXPECT_EQ(r.code, 9) << r.err; // none there, and looking makes none
  auto store = cache::Cache::open(dir.path + "/cache", {});
  cache::Key key;
  key.bytes.fill(0xab);
  auto hit =
      store->publish(cache::Kind::Program, key, {.compileMs = 41'200, .label = "ex"}, [&](const std::string &path) {
        std::filesystem::copy_file(gdx, path, std::filesystem::copy_options::overwrite_existing);
        return Status();
      });
  ASSERT_TRUE(hit.ok() && hit->has_value());
  EXPECT_EQ(runModel({(*hit)->path}).code, 0); // an entry is an artefact
  r = run({"cache", "list"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(r.out.starts_with("abababab  program")) << r.out;
  EXPECT_TRUE(has(run({"cache", "show", "abab", "--json"}).out, R"("compile_ms":41200)"));
  EXPECT_EQ(run({"cache", "verify"}).code, 0);
  EXPECT_TRUE(has(run({"cache", "prune", "--max-size=1KiB"}).out, "removed 1 files"));
  EXPECT_TRUE(has(run({"cache", "prune", "--max-size=x"}).err, "error: --max-size: cannot read 'x'"));
  EXPECT_TRUE(has(run({"cache", "frob"}).err, "error: cache: unknown verb 'frob'"));
}

TEST_F(Cli, OnnxGoesThroughTheCompiler) {
  script(
      "echo \"$@\" > " + dir.path +
      "/args\n"
      "echo 'compiler talks' >&2\n"
      "echo '{\"artifact\": \"" +
      gdx +
      "\", \"weights\": \"\", \"cache\": \"hit\", \"key\": \"9f3a0c12ab\", \"compile_ms\": 0, \"saved_ms\": 41200}'");
  Result r = runModel({dir.path + "/m.onnx", "--forbid-compile", "--shape=q=1x2", "--dim=batch=4"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_TRUE(r.err.starts_with("compiler talks\ncache: hit 9f3a0c12 load ")) << r.err;
  EXPECT_TRUE(has(r.err, "(saved 41.2 s)\nm: cpu x86-64")) << r.err;
  EXPECT_EQ(slurp(dir.path + "/args"), dir.path + "/m.onnx --resolve --cache=require --shape=q=1x2 --dim=batch=4\n");
  script("echo 'error: no entry' >&2; exit 9");
  r = runModel({dir.path + "/m.onnx"});
  EXPECT_EQ(r.code, 9);
  EXPECT_EQ(r.err, "error: no entry\n"); // not repeated
}

TEST_F(Cli, InterruptAndTimeout) {
  pid_t pid = start({"bench", gdx, inputs[0], inputs[1], "--duration=60s"});
  ::usleep(200'000);
  ::kill(pid, SIGINT);
  Result r = finish(pid);
  EXPECT_EQ(r.code, 130) << r.err;
  EXPECT_TRUE(has(r.err, "interrupted\n"));
  r = runModel({"bench", gdx, "--duration=60s", "--timeout=100ms"});
  EXPECT_EQ(r.code, 124);
  EXPECT_TRUE(has(r.err, "error: time limit of --timeout reached\n"));
  script("exec sleep 60");
  r = runModel({dir.path + "/m.onnx", "--timeout=100ms"}); // the child ends too: the test would hang on its stderr
  EXPECT_EQ(r.code, 124);
}

TEST_F(Cli, WriteErrors) {
  Result r = runModel({gdx, "--output=y=@/nonexistent/y.npy"});
  EXPECT_EQ(r.code, 6);
  EXPECT_TRUE(has(r.err, "error: /nonexistent/y.npy: cannot create: No such file or directory")) << r.err;
  EXPECT_TRUE(has(runModel({gdx, "--json=/nonexistent/j"}).err, "error: /nonexistent/j: cannot create"));
}

TEST_F(Cli, ColorOnlyOnRequest) {
  EXPECT_FALSE(has(run({gdx}).err, "\033["));
  EXPECT_TRUE(has(run({gdx, "--color=always"}).err, "\033[1;31merror: \033[0m"));
}
