/* An ONNX file with operators of a plug-in, Relu(pairs(swish(scale(x)))), at two sizes: model and
 * plug-in are the arguments. */

#include "common.h"

static void check(const dyn_graph* graph, size_t rows) {
  enum { columns = 4 };
  float* const x = random_numbers(rows * columns, 2, (unsigned)rows);
  dyn_tensor* const output = run(graph, x, (int64_t)rows, columns);
  const float* const y = elements(output);
  const int64_t* sizes = NULL;
  size_t rank = 0;
  succeeded(dyn_tensor_shape(output, &rank, &sizes));
  must(rank == 2 && sizes[0] == (int64_t)rows && sizes[1] == columns / 2, "another shape");
  for (size_t i = 0; i < rows * columns / 2; ++i) {
    double sum = 0;
    for (size_t j = 2 * i; j < 2 * i + 2; ++j) {
      const double scaled = 3 * (double)x[j];
      sum += scaled / (1 + exp(-scaled));
    }
    close_to((double)y[i], fmax(sum, 0), "y");
  }
  dyn_tensor_release(output);
  free(x);
}

int main(int count, char** words) {
  must(count == 3, "give a model and a plug-in");
  dyn_options* options = NULL;
  dyn_graph* graph = NULL;
  dyn_status* const status = dyn_graph_load(words[1], NULL, &graph);
  must(dyn_status_kind(status) == DYN_ERROR_UNSUPPORTED &&
           strstr(dyn_status_message(status), "own.pairs") != NULL,
       "without the plug-in, no error that names its operator");
  dyn_status_release(status);
  succeeded(dyn_options_create(&options));
  succeeded(dyn_options_add_plugin(options, words[2]));
  succeeded(dyn_graph_load(words[1], options, &graph));
  check(graph, 3);
  check(graph, 500);
  dyn_graph_release(graph);
  dyn_options_release(options);
  printf("note: one load served 3 and 500 rows\n");
  return 0;
}
