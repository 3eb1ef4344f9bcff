/* A model made in C, with an operator of the program's own that is defined by dyn's operators, and
 * so fused and compiled with the rest. */

#include <dyn/dyn.h>
#include <dyn/plugin.h>

#include <stdio.h>

/* demo::swish: x * sigmoid(alpha * x) */
static dyn_status* swish(const dyn_plugin_definition_call* call, void* data) {
  dyn_builder* const b = call->builder;
  dyn_value *const x = call->inputs[0], *alpha, *scaled, *gate;
  double number = 0;
  dyn_status* status;
  (void)data;
  call->host->number(call->node, "alpha", &number);
  if ((status = dyn_builder_number(b, DYN_NO_DTYPE, number, &alpha)) ||
      (status = dyn_builder_op(b, "mul", DYN_VALUES(x, alpha), DYN_NO_ATTRIBUTES, NULL, &scaled)) ||
      (status = dyn_builder_op(b, "sigmoid", DYN_VALUES(scaled), DYN_NO_ATTRIBUTES, NULL, &gate)))
    return status;
  return dyn_builder_op(b, "mul", DYN_VALUES(x, gate), DYN_NO_ATTRIBUTES, NULL, &call->outputs[0]);
}

static const char* const inputs[] = {"x"};
static const dyn_plugin_attribute alpha = {.struct_size = sizeof(dyn_plugin_attribute),
                                           .kind = DYN_PLUGIN_NUMBER,
                                           .name = "alpha",
                                           .number = 1};
static const dyn_plugin_attribute* const attributes[] = {&alpha};
static const dyn_plugin_operator swish_operator = {.struct_size = sizeof(dyn_plugin_operator),
                                                   .output_count = 1,
                                                   .domain = "demo",
                                                   .name = "swish",
                                                   .input_count = 1,
                                                   .input_names = inputs,
                                                   .attribute_count = 1,
                                                   .attributes = attributes,
                                                   .definition = swish};
static const dyn_plugin_operator* const operators[] = {&swish_operator};
static const dyn_plugin table = {sizeof(dyn_plugin), DYN_PLUGIN_VERSION, 1, operators};

/* y = swish(x w) in two halves that change places, for any number of rows. */
static dyn_status* build(dyn_builder* b, const dyn_tensor* elements) {
  dyn_value *x, *w, *product, *hidden, *halves[2], *y;
  dyn_status* status;
  if ((status = dyn_builder_dim(b, "N", 1, 4096)) ||
      (status = dyn_builder_input(b, "x", DYN_F32, "[N, 3]", &x)) ||
      (status = dyn_builder_weight(b, "w", elements, &w)) ||
      (status = dyn_builder_op(b, "matmul", DYN_VALUES(x, w), DYN_NO_ATTRIBUTES, NULL, &product)) ||
      (status = dyn_builder_op(b, "demo::swish", DYN_VALUES(product),
                               DYN_ATTRIBUTES({"alpha", DYN_ATTRIBUTE_NUMBER, .number = 0}), NULL,
                               &hidden)) ||
      (status = dyn_builder_ops(b, "split", DYN_VALUES(hidden),
                                DYN_ATTRIBUTES({"axis", DYN_ATTRIBUTE_INTEGER, .integer = 1},
                                               {"sizes", DYN_ATTRIBUTE_SIZES, .text = "[1, 1]"}),
                                2, halves)) ||
      (status =
           dyn_builder_op(b, "concat", DYN_VALUES(halves[1], halves[0]),
                          DYN_ATTRIBUTES({"axis", DYN_ATTRIBUTE_INTEGER, .integer = 1}), "y", &y)))
    return status;
  return dyn_builder_output(b, "y", y);
}

static dyn_status* run(const dyn_graph* graph, const float** y) {
  static const float ones[] = {1, 1, 1, 1, 1, 1};
  static const int64_t sizes[] = {2, 3};
  dyn_named_tensor x = {"x", NULL};
  dyn_tensor *input = NULL, *output = NULL;
  static float copy[4];
  const void* data = NULL;
  dyn_status* status = dyn_tensor_view_const(DYN_F32, ones, 2, sizes, &input);
  x.tensor = input;
  if (!status) status = dyn_graph_run(graph, 1, &x, 1, &output);
  if (!status) status = dyn_tensor_data(output, DYN_F32, &data);
  for (int i = 0; !status && i < 4; ++i) copy[i] = ((const float*)data)[i];
  *y = copy;
  dyn_tensor_release(input);
  dyn_tensor_release(output);
  return status;
}

int main(void) {
  static const float elements[] = {1, 0, 2, 3, 4, 5};
  static const int64_t sizes[] = {3, 2};
  dyn_tensor* weights = NULL;
  dyn_options* options = NULL;
  dyn_builder* builder = NULL;
  dyn_texts* text = NULL;
  dyn_graph* graph = NULL;
  const char* lines = "";
  const float* y = NULL;
  size_t length = 0;
  dyn_status* status;
  int is_right;
  (void)((status = dyn_tensor_view_const(DYN_F32, elements, 2, sizes, &weights)) ||
         (status = dyn_options_create(&options)) ||
         (status = dyn_options_add_operators(options, &table, NULL, NULL)) ||
         (status = dyn_builder_create("demo", options, &builder)) ||
         (status = build(builder, weights)) || (status = dyn_builder_to_text(builder, &text)) ||
         (status = dyn_texts_get(text, 0, &lines, &length)) ||
         (status = dyn_builder_load(builder, NULL, NULL, &graph)) || (status = run(graph, &y)));
  if (status) fprintf(stderr, "%s\n", dyn_status_text(status));
  /* Half of 8 and of 7, as the sigmoid of 0 is 0.5. */
  is_right = status == NULL && y[0] == 4 && y[1] == 3.5F && y[2] == 4;
  if (is_right) printf("%s\n%g %g\n", lines, y[0], y[1]);
  dyn_status_release(status);
  dyn_texts_release(text);
  dyn_builder_release(builder);
  dyn_graph_release(graph);
  dyn_options_release(options);
  dyn_tensor_release(weights);
  return is_right ? 0 : 1;
}
