/*===- gaudi.h - C API of the runtime -----------------------------*- C -*-===*\
|*                                                                            *|
|* Opens and runs compiled artefacts (.gdx) from any language. Link            *|
|* libgaudi_runtime.so, which needs no LLVM. examples/run_c.c shows it all.   *|
|*                                                                            *|
|* Ownership: what gaudi_open and gaudi_create_context return is freed by     *|
|* gaudi_close and gaudi_destroy_context. A context keeps what it needs of    *|
|* its executable alive, so the two may be freed in any order. Strings and    *|
|* shapes returned live as long as the executable. Tensors stay the caller's. *|
|*                                                                            *|
|* Threads: an executable may be used from many threads at once; a context    *|
|* from one at a time. gaudi_last_error is per thread.                        *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef GAUDI_GAUDI_H
#define GAUDI_GAUDI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GAUDI_API __attribute__((visibility("default")))

/** Result of a call: 0 or a StatusCode of gaudi/Status.h, which is also the tools' exit code. */
typedef int gaudi_status;
enum {
  GAUDI_OK = 0,
  GAUDI_USAGE = 2,
  GAUDI_UNSUPPORTED = 4,
  GAUDI_RESOURCE_LIMIT = 5,
  GAUDI_RUNTIME = 6,
  GAUDI_BAD_ARTIFACT = 8,
  GAUDI_INTERNAL = 10
};

/** Element types; the values of DType in gaudi/Tensor.h. */
typedef enum gaudi_dtype {
  GAUDI_F32 = 0, GAUDI_F16 = 1, GAUDI_BF16 = 2, GAUDI_F64 = 3,
  GAUDI_I8 = 4, GAUDI_I16 = 5, GAUDI_I32 = 6, GAUDI_I64 = 7,
  GAUDI_U8 = 8, GAUDI_U16 = 9, GAUDI_U32 = 10, GAUDI_U64 = 11,
  GAUDI_BOOL = 12 /* one byte, 0 or 1 */
} gaudi_dtype;

typedef struct gaudi_executable gaudi_executable;
typedef struct gaudi_context gaudi_context;

/** Row-major contiguous data, aligned to its element. */
typedef struct gaudi_tensor {
  void *data;
  size_t size_bytes;
} gaudi_tensor;

/** An input or output of an executable. */
typedef struct gaudi_tensor_info {
  const char *name;
  gaudi_dtype dtype;
  size_t rank;
  const int64_t *shape; /* rank entries; null when rank is 0 */
  size_t size_bytes;
} gaudi_tensor_info;

/** Set to zero, then what differs. */
typedef struct gaudi_open_options {
  const char *weights_path; /* packed weights of a stripped artefact, or null */
  int verify_weights;       /* 1: check the weights' digest too */
} gaudi_open_options;

typedef struct gaudi_context_options {
  unsigned threads;       /* 0 = physical cores of this process */
  unsigned spin_micros;   /* idle workers spin this long before they sleep; 0 = the default, 50 */
  uint64_t memory_budget; /* bytes of weights, slab and scratch; 0 = no limit */
} gaudi_context_options;

/** Loads an artefact. `options` may be null. On failure *out is null. */
GAUDI_API gaudi_status gaudi_open(const char *path, const gaudi_open_options *options, gaudi_executable **out);
/** Takes null. */
GAUDI_API void gaudi_close(gaudi_executable *executable);

GAUDI_API size_t gaudi_input_count(const gaudi_executable *executable);
GAUDI_API size_t gaudi_output_count(const gaudi_executable *executable);
/** GAUDI_USAGE if index is out of range. */
GAUDI_API gaudi_status gaudi_input_info(const gaudi_executable *executable, size_t index, gaudi_tensor_info *out);
GAUDI_API gaudi_status gaudi_output_info(const gaudi_executable *executable, size_t index, gaudi_tensor_info *out);
/** "cpu x86-64 avx2,fma". */
GAUDI_API const char *gaudi_target(const gaudi_executable *executable);

/** A stream of execution with its own memory and threads. `options` may be null. On failure *out is null. */
GAUDI_API gaudi_status gaudi_create_context(gaudi_executable *executable, const gaudi_context_options *options,
                                            gaudi_context **out);
/** Takes null. */
GAUDI_API void gaudi_destroy_context(gaudi_context *context);

/** Runs once; tensors in the order of the signature, outputs not overlapping anything. Allocates nothing. */
GAUDI_API gaudi_status gaudi_run(gaudi_context *context, const gaudi_tensor *inputs, size_t input_count,
                                 const gaudi_tensor *outputs, size_t output_count);

/** Text of the last failure on this thread ("WHERE: WHAT", and " (hint: ...)" if there is one); "" before any. Valid
    until the next failure on this thread. */
GAUDI_API const char *gaudi_last_error(void);

/** "0.1.0". */
GAUDI_API const char *gaudi_version(void);

#ifdef __cplusplus
}
#endif
#endif
