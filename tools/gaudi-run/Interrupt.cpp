//===- Interrupt.cpp - Ctrl-C, SIGTERM and --timeout ----------------------===//
//
// The handler ends the process at once instead of setting a flag: a kernel may run for seconds, and nothing of ours
// needs an orderly end (files are renamed into place, locks and mappings are the kernel's).
//
//===----------------------------------------------------------------------===//
#include "tools/gaudi-run/Interrupt.h"
#include "tools/gaudi-run/io/WriteFile.h"

#include <cmath>
#include <cstring>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

namespace gaudi::run {

static volatile pid_t child = 0; // read by the handler

void setChild(pid_t pid) { child = pid; }

/// Only async-signal-safe calls.
static void onSignal(int signal) {
  const char *text = signal == SIGALRM  ? "error: time limit of --timeout reached\n"
                     : signal == SIGINT ? "interrupted\n"
                                        : "terminated\n";
  (void)!::write(STDERR_FILENO, text, std::strlen(text));
  if (child > 0)
    ::kill(child, SIGTERM);
  if (const char *temporary = io::pendingTemporary(); *temporary)
    ::unlink(temporary);
  ::_exit(signal == SIGALRM ? 124 : 128 + signal);
}

void installInterrupts(double timeoutSeconds) {
  struct sigaction action = {};
  action.sa_handler = onSignal;
  for (int signal : {SIGINT, SIGTERM, SIGALRM})
    ::sigaction(signal, &action, nullptr);
  ::signal(SIGXFSZ, SIG_IGN); // a file that grows past `ulimit -f` is an error of write(2), as a full disk is
  if (timeoutSeconds > 0) {
    double whole = std::floor(timeoutSeconds);
    itimerval timer = {};
    timer.it_value.tv_sec = static_cast<time_t>(whole);
    // Never 0, which would mean no timer.
    timer.it_value.tv_usec = static_cast<suseconds_t>((timeoutSeconds - whole) * 1e6) + 1;
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }
}

} // namespace gaudi::run
