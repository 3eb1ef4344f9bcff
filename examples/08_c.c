/* The C interface: load, run at several sizes, read an error. */

#include <dyn/dyn.h>

#include <stdio.h>
#include <string.h>

/* y = relu(x w), for any number of rows. */
static const char text[] =
    "dyn 1\n"
    "dim N in 1..65536\n"
    "weight w: f32[3, 2] = random 7\n"
    "graph layer(x: f32[N, 3]) -> (y: f32[N, 2]) {\n"
    "  return relu(matmul(x, w))\n"
    "}\n";

/* Prints a failure, and says whether there was one. */
static bool failed(const char* what, dyn_status* status) {
  if (status == NULL) return false;
  fprintf(stderr, "%s: %s error: %s\n", what, dyn_kind_name(dyn_status_kind(status)),
          dyn_status_text(status));
  dyn_status_release(status);
  return true;
}

/* Runs `rows` rows of ones, whose results are all alike. */
static bool run(dyn_graph* graph, int64_t rows) {
  static float ones[64 * 3];
  const int64_t sizes[] = {rows, 3};
  dyn_tensor *x = NULL, *y = NULL;
  const void* data = NULL;
  size_t i, bytes = 0;
  bool good;
  for (i = 0; i < sizeof ones / sizeof *ones; ++i) ones[i] = 1;
  if (failed("a view", dyn_tensor_view_const(DYN_F32, ones, 2, sizes, &x))) return false;
  {
    const dyn_named_tensor input = {"x", x};
    good = !failed("a run", dyn_graph_run(graph, 1, &input, 1, &y)) &&
           !failed("its bytes", dyn_tensor_bytes(y, &bytes)) &&
           !failed("its elements", dyn_tensor_data(y, DYN_F32, &data));
  }
  for (i = 0; good && i < (size_t)rows; ++i)
    good = memcmp(data, (const float*)data + 2 * i, 2 * sizeof(float)) == 0;
  if (good) printf("%d rows: %zu bytes\n", (int)rows, bytes);
  good = good && bytes == (size_t)rows * 2 * sizeof(float);
  dyn_tensor_release(x);
  dyn_tensor_release(y);
  return good;
}

/* A wrong shape is an error that says so, and nothing else happens. */
static bool refuses_wrong_shape(dyn_graph* graph) {
  const int64_t sizes[] = {4, 5};
  const dyn_named_shape shape = {"x", 2, sizes};
  dyn_status* const status = dyn_graph_prepare(graph, 1, &shape);
  const bool refused = dyn_status_kind(status) == DYN_ERROR_USER;
  printf("4 x 5: %s\n", dyn_status_message(status));
  dyn_status_release(status);
  return refused;
}

int main(void) {
  dyn_graph* graph = NULL;
  bool good;
  if (failed("loading", dyn_graph_from_text(text, strlen(text), NULL, NULL, &graph))) return 1;
  good = run(graph, 1) && run(graph, 7) && run(graph, 64) && refuses_wrong_shape(graph);
  dyn_graph_release(graph);
  return good ? 0 : 1;
}
