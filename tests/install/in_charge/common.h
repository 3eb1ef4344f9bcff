/* What the C programs here share. */

#ifndef IN_CHARGE_COMMON_H
#define IN_CHARGE_COMMON_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dyn/dyn.h>

/* Ends the program where something does not hold, or a function of dyn has failed. */
static inline void must(int holds, const char* what) {
  if (holds) return;
  printf("%s\n", what);
  exit(1);
}
static inline void succeeded(dyn_status* status) { must(status == NULL, dyn_status_text(status)); }

static inline void close_to(double got, double expected, const char* what) {
  if (fabs(got - expected) <= 1e-4 * (1 + fabs(expected))) return;
  printf("%s: %g instead of %g\n", what, got, expected);
  exit(1);
}

/* Numbers between -bound and bound, the same in each run. */
static inline float* random_numbers(size_t count, float bound, unsigned seed) {
  float* const numbers = malloc(count * sizeof(float));
  must(numbers != NULL, "no memory");
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    numbers[i] = bound * ((float)(seed >> 8) / (float)(1 << 23) - 1);
  }
  return numbers;
}

/* A graph of `text` whose one weights file, "w", has one tensor of that name. */
static inline dyn_graph* load_with_weight(const char* text, const float* weight, size_t rows,
                                          size_t columns, const dyn_options* options) {
  char head[160];
  const size_t bytes = rows * columns * sizeof(float);
  const uint64_t length = (uint64_t)snprintf(
      head, sizeof head, "{\"w\":{\"dtype\":\"F32\",\"shape\":[%zu,%zu],\"data_offsets\":[0,%zu]}}",
      rows, columns, bytes);
  char* const file = malloc(sizeof length + length + bytes);
  must(file != NULL, "no memory");
  memcpy(file, &length, sizeof length);
  memcpy(file + sizeof length, head, length);
  memcpy(file + sizeof length + length, weight, bytes);
  const dyn_named_bytes files[] = {{"w", file, sizeof length + length + bytes}};
  dyn_graph* graph = NULL;
  succeeded(dyn_graph_from_memory(text, strlen(text), 1, files, options, &graph));
  free(file);
  return graph;
}

/* The one output of a run with one input, a matrix. The caller releases it. */
static inline dyn_tensor* run(const dyn_graph* graph, const float* x, int64_t rows,
                              int64_t columns) {
  const int64_t sizes[] = {rows, columns};
  dyn_tensor *input = NULL, *output = NULL;
  succeeded(dyn_tensor_view_const(DYN_F32, x, 2, sizes, &input));
  const dyn_named_tensor inputs[] = {{"x", input}};
  succeeded(dyn_graph_run(graph, 1, inputs, 1, &output));
  dyn_tensor_release(input);
  return output;
}

static inline const float* elements(const dyn_tensor* tensor) {
  const void* data = NULL;
  succeeded(dyn_tensor_data(tensor, DYN_F32, &data));
  return data;
}

#endif
