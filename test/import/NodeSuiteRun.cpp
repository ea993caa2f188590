//===- NodeSuiteRun.cpp - the loop over the node tests --------------------===//
#include "test/import/NodeSuiteSupport.h"

#include "lib/Import/Import.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

using namespace gaudi;
using namespace gaudi::nodesuite;
using namespace mlir;
namespace fs = std::filesystem;

namespace {

/// Worker `index` of `count` runs every count-th test from `begin` on. It is forked before this process has threads.
class Worker {
public:
  Worker(const std::vector<fs::path> &folders, const Judge &judge, size_t index, size_t count)
      : folders(folders), judge(judge), next(index), step(count) {}

  void start() {
    int ends[2];
    if (pipe(ends))
      return;
    process = fork();
    if (process == 0) {
      close(ends[0]);
      work(ends[1]);
      _exit(0);
    }
    close(ends[1]);
    from = fdopen(ends[0], "r");
  }

  /// Collects what the worker says; one that died is replaced, and the test it died of fails.
  void collect(std::vector<Outcome> &outcomes) {
    while (next < folders.size()) {
      if (!from) { // no process: do not loop for ever
        outcomes[next] = {Verdict::Fail, "cannot start a worker"};
        next += step;
        continue;
      }
      readOutcomes(outcomes);
      int status = 0;
      waitpid(process, &status, 0);
      if (next >= folders.size())
        return;
      outcomes[next] = {Verdict::Fail, WIFSIGNALED(status) ? "killed by signal " + std::to_string(WTERMSIG(status))
                                                           : "exit code " + std::to_string(WEXITSTATUS(status))};
      next += step;
      start();
    }
  }

private:
  void work(int to) {
    MLIRContext context(MLIRContext::Threading::DISABLED);
    loadImportDialects(context);
    for (size_t i = next; i < folders.size(); i += step) {
      Outcome outcome = runOne(context, folders[i]);
      std::string line = std::to_string(static_cast<int>(outcome.verdict));
      line += StringRef(outcome.reason).split('\n').first.str() + "\n";
      if (write(to, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        _exit(1);
    }
  }

  Outcome runOne(MLIRContext &context, const fs::path &folder) {
    Outcome outcome{Verdict::Unsupported, ""};
    for (Bake bake : {Bake::None, Bake::AllButFirst, Bake::All}) {
      Expected<Case> test = readCase(context, folder, bake);
      Outcome tried = test.ok() ? judge(context, *test) : outcomeOf(test.status());
      if (bake == Bake::None || test.ok()) // "nothing to bake" explains nothing
        outcome = tried;
      if (outcome.verdict != Verdict::Unsupported)
        break;
    }
    return outcome;
  }

  void readOutcomes(std::vector<Outcome> &outcomes) {
    char *line = nullptr;
    size_t capacity = 0;
    for (ssize_t length; (length = getline(&line, &capacity, from)) > 1; next += step)
      outcomes[next] = {static_cast<Verdict>(line[0] - '0'), StringRef(line + 1, length - 2).str()};
    free(line);
    fclose(from);
    from = nullptr;
  }

  const std::vector<fs::path> &folders;
  const Judge &judge;
  size_t next, step;
  pid_t process = -1;
  FILE *from = nullptr;
};

} // namespace

llvm::StringMap<std::string> nodesuite::readNames(const std::string &path) {
  llvm::StringMap<std::string> names;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    auto [name, reason] = StringRef(line).split('#');
    if (!name.trim().empty())
      names[name.trim()] = reason.trim().str();
  }
  return names;
}

int nodesuite::runSuite(const SuiteOptions &options, const Judge &judge) {
  std::vector<fs::path> folders;
  for (const auto &entry : fs::directory_iterator(options.folder))
    if (entry.path().filename().string().find(options.only) != std::string::npos)
      folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());

  std::vector<Outcome> outcomes(folders.size(), {Verdict::Fail, "not run"});
  std::vector<Worker> workers;
  for (unsigned i = 0; i < options.processes; ++i)
    workers.emplace_back(folders, judge, i, options.processes).start();
  for (Worker &worker : workers)
    worker.collect(outcomes);

  int counts[3] = {}, wrong = 0;
  for (auto [folder, outcome] : llvm::zip(folders, outcomes)) {
    std::string name = folder.filename().string();
    bool passes = outcome.verdict == Verdict::Pass, isException = options.exceptions.contains(name);
    bool mustPass = options.mustPass.contains(name) && !isException;
    ++counts[static_cast<int>(outcome.verdict)];
    wrong += mustPass ? !passes : isException && passes;
    const char *label = passes && isException              ? "PASSES, but is an exception"
                        : passes                           ? (mustPass ? nullptr : "NEW PASS")
                        : mustPass                         ? "FAIL"
                        : outcome.verdict == Verdict::Fail ? "fail (not listed)"
                                                           : nullptr;
    if (label || !options.only.empty())
      llvm::outs() << (label    ? label
                       : passes ? "pass"
                                : "unsupported")
                   << ": " << name << ": " << outcome.reason << "\n";
  }
  llvm::outs() << counts[0] << " pass, " << counts[1] << " unsupported, " << counts[2] << " fail; " << wrong
               << " tests are not as listed\n";
  return wrong != 0;
}
