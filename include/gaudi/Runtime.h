//===- Runtime.h - load and run compiled artefacts --------------*- C++ -*-===//
//
// The whole runtime API: open a .gdx, look at its signature and memory plan, run it. Links no LLVM.
//
//   auto exe = gaudi::Executable::open("bert.gdx", {});
//   auto ctx = exe->createContext({.threads = 2});
//   ctx->run(inputs, outputs);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gaudi/Status.h"
#include "gaudi/Tensor.h"

#include <memory>
#include <span>

namespace gaudi {

/// How much of an artefact is checked before use. Structure, bounds and target features are always checked.
enum class VerifyLevel { Meta /*header, metadata, code digests*/, Full /*weights too*/ };

struct OpenOptions {
  VerifyLevel verify = VerifyLevel::Meta;
  /// Packed weights of an artefact compiled with --weights=strip; ignored when they are inside.
  std::string weightsPath = {};
  /// "" = the device the artefact was compiled for ("cpu", "ref").
  std::string device = {};
  /// Bytes of the file that are the artefact, from its first byte; 0 = the whole file. A cache entry is an artefact
  /// followed by the cache's own record (runtime/cache/EntryFormat.h), which the loader must not look at.
  uint64_t length = 0;
};

/// Memory figures known before the first run, in bytes.
struct MemoryReport {
  uint64_t weights = 0;        ///< mapped read-only, shared between processes
  uint64_t slab = 0;           ///< planned arena for intermediates, one per context
  uint64_t scratchPerThread = 0;
  uint64_t lowerBound = 0;     ///< largest sum of simultaneously live buffers: no plan can be smaller
  struct Live { std::string name; uint64_t sizeBytes; };
  std::vector<Live> liveAtPeak;
};

/// One launch as the profiler sees it.
struct KernelInfo {
  std::string name;    ///< ONNX node (or fused group) the launch came from
  std::string kernel;  ///< kernel symbol; equal layers share one
  double flops = 0, bytes = 0;
};

struct KernelTime {
  uint32_t launch;     ///< index into Executable::kernels()
  uint64_t beginNs, endNs;
};

struct ContextOptions {
  unsigned threads = 0;      ///< 0 = physical cores this process may use
  unsigned spinMicros = 50;  ///< how long idle workers spin before they sleep
  uint64_t memoryBudget = 0; ///< bytes for slab + scratch + weights; 0 = no limit. Exceeding is ResourceLimit
};

/// One stream of execution: own slab, own worker threads. Not thread-safe; make one per thread, they share the code
/// and the weights of their Executable.
class Context {
public:
  virtual ~Context() = default;
  /// Inputs and outputs in signature order; sizes must match exactly. Allocates nothing. Outputs must not overlap inputs.
  virtual Status run(std::span<const TensorView> inputs, std::span<const TensorView> outputs) = 0;
  /// As run(), and appends one entry per launch.
  virtual Status runProfiled(std::span<const TensorView> inputs, std::span<const TensorView> outputs,
                             std::vector<KernelTime> &times) = 0;
  virtual unsigned threads() const = 0;
};

/// A loaded artefact. Immutable and thread-safe.
class Executable {
public:
  virtual ~Executable() = default;
  static Expected<std::shared_ptr<Executable>> open(const std::string &path, const OpenOptions &options);

  virtual const std::vector<TensorSpec> &inputs() const = 0;
  virtual const std::vector<TensorSpec> &outputs() const = 0;
  virtual const std::vector<KernelInfo> &kernels() const = 0;
  virtual const MemoryReport &memory() const = 0;
  /// "cpu x86-64 avx2,fma,f16c".
  virtual const std::string &target() const = 0;
  virtual Expected<std::unique_ptr<Context>> createContext(const ContextOptions &options) = 0;
};

} // namespace gaudi
