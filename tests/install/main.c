/* A C program of an embedder, built against an installed dyn. */

#include <stdio.h>
#include <string.h>

#include <dyn/dyn.h>

static const char text[] =
    "dyn 1\ndim N in 0..10\n"
    "graph twice(x: f32[N]) -> (y: f32[N]) {\n  y = x + x\n  return y\n}\n";

static int succeeded(dyn_status* status) {
  if (status == NULL) return 1;
  fprintf(stderr, "%s\n", dyn_status_text(status));
  dyn_status_release(status);
  return 0;
}

int main(void) {
  const float elements[] = {1, 2};
  const int64_t sizes[] = {2};
  dyn_graph* graph = NULL;
  dyn_status* broken = dyn_graph_from_text("dyn 1\nnonsense", 14, NULL, NULL, &graph);
  if (dyn_status_kind(broken) != DYN_ERROR_MODEL) return 1;
  dyn_status_release(broken);

  dyn_tensor* tensors[2] = {NULL, NULL};
  const void* doubled = NULL;
  if (!succeeded(dyn_graph_from_text(text, strlen(text), NULL, NULL, &graph)) ||
      !succeeded(dyn_tensor_view_const(DYN_F32, elements, 1, sizes, &tensors[0])))
    return 2;
  const dyn_named_tensor input = {"x", tensors[0]};
  if (!succeeded(dyn_graph_run(graph, 1, &input, 1, &tensors[1])) ||
      !succeeded(dyn_tensor_data(tensors[1], DYN_F32, &doubled)))
    return 3;
  printf("dyn %s: %g\n", dyn_version(), ((const float*)doubled)[1]);
  const int is_right = ((const float*)doubled)[1] == 4;
  dyn_tensor_release(tensors[1]);
  dyn_tensor_release(tensors[0]);
  dyn_graph_release(graph);
  return is_right ? 0 : 4;
}
