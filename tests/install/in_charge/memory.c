/* A budget of 200 MB refuses a shape before anything is allocated, and says what it needs; trim()
 * gives back what a long shape took. */

#include "common.h"

#include <unistd.h>

enum { width = 256, hidden = 1024 };
static const uint64_t budget = 200000000;

static double resident_megabytes(void) {
  FILE* const file = fopen("/proc/self/statm", "r");
  long total = 0, resident = 0;
  must(file != NULL && fscanf(file, "%ld %ld", &total, &resident) == 2,
       "/proc/self/statm cannot be read");
  fclose(file);
  return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

/* One row of relu(x w) transpose(w) by plain loops. */
static void check_row(const float* x, const float* weight, const float* y) {
  double middle[hidden] = {0}, expected[width] = {0};
  for (size_t n = 0; n < hidden; ++n) {
    for (size_t k = 0; k < width; ++k) middle[n] += (double)x[k] * (double)weight[k * hidden + n];
    middle[n] = fmax(middle[n], 0);
  }
  for (size_t n = 0; n < width; ++n) {
    for (size_t k = 0; k < hidden; ++k) expected[n] += middle[k] * (double)weight[n * hidden + k];
    close_to((double)y[n], expected[n], "y");
  }
}

static void run_and_check(const dyn_graph* graph, const float* weight, int64_t rows) {
  float* const x = random_numbers((size_t)rows * width, 1, (unsigned)rows);
  dyn_tensor* const y = run(graph, x, rows, width);
  check_row(x, weight, elements(y));
  check_row(x + (rows - 1) * width, weight, elements(y) + (rows - 1) * width);
  dyn_tensor_release(y);
  free(x);
}

/* The message of a run of so many rows, which must be refused. */
static void check_refusal(const dyn_graph* graph, int64_t rows, double resident) {
  const int64_t sizes[] = {rows, width};
  const dyn_named_shape shapes[] = {{"x", 2, sizes}};
  dyn_memory_needed needed = {.struct_size = sizeof needed};
  succeeded(dyn_graph_memory_needed(graph, 1, shapes, &needed));
  const uint64_t total = needed.weights + needed.intermediates + needed.outputs;
  must(total > budget, "the shape fits");

  float* const x =
      calloc((size_t)rows * width, sizeof(float)); /* read by nobody: it takes no memory */
  dyn_tensor *input = NULL, *output = NULL;
  must(x != NULL, "no memory");
  succeeded(dyn_tensor_view_const(DYN_F32, x, 2, sizes, &input));
  const dyn_named_tensor inputs[] = {{"x", input}};
  dyn_status* const status = dyn_graph_run(graph, 1, inputs, 1, &output);
  const char* const message = dyn_status_message(status);
  char need[32], limit[32];
  snprintf(need, sizeof need, "%llu", (unsigned long long)total);
  snprintf(limit, sizeof limit, "%llu", (unsigned long long)budget);
  printf("%s\n", message);
  must(dyn_status_kind(status) == DYN_ERROR_DEVICE,
       "a run beyond the budget was not refused for its memory");
  must(strstr(message, need) != NULL && strstr(message, limit) != NULL,
       "need and budget are not in the message");
  must(resident_megabytes() < resident + 10, "memory was allocated before the refusal");
  printf("note: a budget of %.0f MB refused a run that needs %.0f MB, and its message has both\n",
         (double)budget / 1e6, (double)total / 1e6);
  dyn_status_release(status);
  dyn_tensor_release(input);
  free(x);
}

int main(void) {
  static const char text[] =
      "dyn 1\ndim N in 1..1048576\nweights \"w\"\n"
      "graph layers(x: f32[N, 256]) -> (y: f32[N, 256]) {\n"
      "  h = relu(matmul(x, w: f32[256, 1024]))\n  return matmul(h, transpose(w) perm=[1, 0])\n}\n";
  float* const weight = random_numbers(width * hidden, 0.06f, 2);
  dyn_options* options = NULL;
  succeeded(dyn_options_create(&options));
  succeeded(dyn_options_set_integer(options, "memory_budget", (int64_t)budget));
  dyn_graph* const graph = load_with_weight(text, weight, width, hidden, options);
  dyn_options_release(options);

  run_and_check(graph, weight, 64);
  const double at_first = resident_megabytes();
  check_refusal(graph, 100000, at_first);
  run_and_check(graph, weight, 30000);
  const double after = resident_megabytes();
  succeeded(dyn_graph_trim(graph));
  const double trimmed = resident_megabytes();
  printf(
      "note: resident: %.1f MB at first, %.1f after a long shape, %.1f after trim(), %.1f %% more "
      "than at first\n",
      at_first, after, trimmed, 100 * (trimmed / at_first - 1));
  must(after > at_first + 100, "the long shape took no memory");
  must(trimmed < 1.05 * at_first, "trim() has not given it back");
  run_and_check(graph, weight, 64);
  run_and_check(graph, weight, 2000);
  dyn_graph_release(graph);
  free(weight);
  return 0;
}
