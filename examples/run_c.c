/*===- run_c.c - run an artefact from C -------------------------------------===*\
|* usage: example_run_c MODEL.gdx                                              *|
|* Runs the model once on zeros and prints the beginning of every f32 output.  *|
\*===------------------------------------------------------------------------===*/
#include "gaudi/gaudi.h"

#include <stdio.h>
#include <stdlib.h>

static int fail(gaudi_status status) {
  fprintf(stderr, "error: %s\n", gaudi_last_error());
  return status;
}

static void print(const gaudi_tensor_info *info, const float *values) {
  printf("%s %s[", info->name, info->dtype == GAUDI_F32 ? "f32" : "?");
  for (size_t i = 0; i < info->rank; ++i)
    printf("%s%lld", i ? "," : "", (long long)info->shape[i]);
  printf("] =");
  for (size_t i = 0; info->dtype == GAUDI_F32 && i < 4 && 4 * i < info->size_bytes; ++i)
    printf(" %g", (double)values[i]);
  printf(" ...\n");
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s MODEL.gdx\n", argv[0]);
    return GAUDI_USAGE;
  }
  gaudi_executable *executable;
  gaudi_context *context;
  gaudi_status status = gaudi_open(argv[1], NULL, &executable);
  if (status != GAUDI_OK)
    return fail(status);
  status = gaudi_create_context(executable, NULL, &context);
  if (status != GAUDI_OK) {
    gaudi_close(executable);
    return fail(status);
  }

  size_t input_count = gaudi_input_count(executable), output_count = gaudi_output_count(executable);
  size_t count = input_count + output_count;
  gaudi_tensor *tensors = calloc(count, sizeof *tensors);
  gaudi_tensor_info info;
  for (size_t i = 0; i < count; ++i) {
    if (i < input_count)
      gaudi_input_info(executable, i, &info);
    else
      gaudi_output_info(executable, i - input_count, &info);
    tensors[i].data = calloc(1, info.size_bytes + 1);
    tensors[i].size_bytes = info.size_bytes;
  }
  status = gaudi_run(context, tensors, input_count, tensors + input_count, output_count);
  for (size_t i = 0; status == GAUDI_OK && i < output_count; ++i) {
    gaudi_output_info(executable, i, &info);
    print(&info, tensors[input_count + i].data);
  }
  if (status != GAUDI_OK)
    fail(status);

  for (size_t i = 0; i < count; ++i)
    free(tensors[i].data);
  free(tensors);
  gaudi_destroy_context(context);
  gaudi_close(executable);
  return status;
}
