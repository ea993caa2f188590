// Kernels of the test artefacts: what gaudi-opt would emit (runtime/exec/KernelAbi.h), written by hand in C.
#include <stdint.h>

enum { ROWS = 4, K = 32, N = 48, PANEL = 16 };

/// args: x f32[4,32], weights [3][32][16], bias f32[48], h f32[4,48]. One task per panel. Uses its scratch.
int32_t matmul_bias(void *const *args, int64_t lo, int64_t hi, void *scratch) {
  const float *x = args[0], *weights = args[1], *bias = args[2];
  float *h = args[3], *sums = scratch;
  for (int64_t panel = lo; panel < hi; ++panel)
    for (int row = 0; row < ROWS; ++row) {
      for (int j = 0; j < PANEL; ++j)
        sums[j] = bias[panel * PANEL + j];
      for (int k = 0; k < K; ++k)
        for (int j = 0; j < PANEL; ++j)
          sums[j] += x[row * K + k] * weights[(panel * K + k) * PANEL + j];
      for (int j = 0; j < PANEL; ++j)
        h[row * N + panel * PANEL + j] = sums[j];
    }
  return 0;
}

/// args: ids i64[4], h f32[4,48], y f32[4,48]: y[i] = h[ids[i]]. One task per row.
int32_t gather_rows(void *const *args, int64_t lo, int64_t hi, void *scratch) {
  const int64_t *ids = args[0];
  const float *h = args[1];
  float *y = args[2];
  for (int64_t i = lo; i < hi; ++i) {
    if (ids[i] < 0 || ids[i] >= ROWS)
      return 1; // KernelFault::IndexOutOfRange
    for (int j = 0; j < N; ++j)
      y[i * N + j] = h[ids[i] * N + j];
  }
  return 0;
}
