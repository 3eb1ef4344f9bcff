/* A plug-in as a user would write it, in C11: own::scale with a kernel, own::pairs, which halves an
 * axis, and own::swish with an expression. */

#include <string.h>

#include "dyn/plugin.h"

static int same_type(const dyn_plugin_shape_call* call, void* data) {
  (void)data;
  call->outputs[0] = call->inputs[0];
  return 0;
}

static size_t count_of(const dyn_plugin_tensor* tensor) {
  size_t count = 1;
  for (uint32_t i = 0; i < tensor->rank; ++i) count *= (size_t)tensor->sizes[i];
  return count;
}

static int scale(const dyn_plugin_kernel_call* call, void* data) {
  (void)data;
  double factor = 0;
  if (!call->host->number(call->node, "factor", &factor)) return 1;
  if (call->inputs[0].dtype != 0) {
    call->host->fail(call->node, "own::scale takes f32");
    return 1;
  }
  const float* x = (const float*)call->inputs[0].data;
  float* y = (float*)call->outputs[0].data;
  for (size_t i = 0, count = count_of(&call->inputs[0]); i < count; ++i)
    y[i] = x[i] * (float)factor;
  return 0;
}

/* [n, c] becomes [n, floordiv(c, 2)]: sums of neighbours. */
static int pairs_type(const dyn_plugin_shape_call* call, void* data) {
  (void)data;
  if (call->inputs[0].rank != 2) {
    call->host->fail(call->node, "own::pairs takes a matrix");
    return 1;
  }
  call->outputs[0] = call->inputs[0];
  call->outputs[0].dims[1] = call->host->floordiv(call->node, call->inputs[0].dims[1],
                                                  call->host->constant(call->node, 2));
  return 0;
}

static int pairs(const dyn_plugin_kernel_call* call, void* data) {
  (void)data;
  const int64_t rows = call->outputs[0].sizes[0], columns = call->outputs[0].sizes[1],
                stride = call->inputs[0].sizes[1];
  const float* x = (const float*)call->inputs[0].data;
  float* y = (float*)call->outputs[0].data;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      y[r * columns + c] = x[r * stride + 2 * c] + x[r * stride + 2 * c + 1];
  return 0;
}

static const char* const x_name[] = {"x"};

static const dyn_plugin_attribute factor = {.struct_size = sizeof(dyn_plugin_attribute),
                                            .kind = DYN_PLUGIN_NUMBER,
                                            .name = "factor",
                                            .number = 2};
static const dyn_plugin_attribute alpha = {.struct_size = sizeof(dyn_plugin_attribute),
                                           .kind = DYN_PLUGIN_NUMBER,
                                           .name = "alpha",
                                           .number = 1};
static const dyn_plugin_attribute* const scale_attributes[] = {&factor};
static const dyn_plugin_attribute* const swish_attributes[] = {&alpha};

static const dyn_plugin_operator scale_operator = {.struct_size = sizeof(dyn_plugin_operator),
                                                   .output_count = 1,
                                                   .domain = "own",
                                                   .name = "scale",
                                                   .input_count = 1,
                                                   .input_names = x_name,
                                                   .attribute_count = 1,
                                                   .attributes = scale_attributes,
                                                   .shape = same_type,
                                                   .kernel = scale};
static const dyn_plugin_operator pairs_operator = {.struct_size = sizeof(dyn_plugin_operator),
                                                   .output_count = 1,
                                                   .domain = "own",
                                                   .name = "pairs",
                                                   .input_count = 1,
                                                   .input_names = x_name,
                                                   .shape = pairs_type,
                                                   .kernel = pairs};
static const dyn_plugin_operator swish_operator = {.struct_size = sizeof(dyn_plugin_operator),
                                                   .output_count = 1,
                                                   .domain = "own",
                                                   .name = "swish",
                                                   .input_count = 1,
                                                   .input_names = x_name,
                                                   .attribute_count = 1,
                                                   .attributes = swish_attributes,
                                                   .expression = "x * sigmoid(alpha * x)"};
static const dyn_plugin_operator* const operators[] = {&scale_operator, &pairs_operator,
                                                       &swish_operator};
static const dyn_plugin plugin = {sizeof(dyn_plugin), DYN_PLUGIN_VERSION, 3, operators};

const dyn_plugin* dyn_plugin_get(void) { return &plugin; }
