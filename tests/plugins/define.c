/* A plug-in whose operators are subgraphs of dyn's, made by the table of functions that each
 * definition gets: own::gate, and own::two, which is two of them. */

#include "dyn/dyn.h"
#include "dyn/plugin.h"

/* x * sigmoid(alpha * x) */
static dyn_status* gate(const dyn_plugin_definition_call* call, void* data) {
  (void)data;
  const dyn_api* const dyn = call->api;
  dyn_builder* const b = call->builder;
  dyn_value *const x = call->inputs[0], *factor, *scaled, *weight;
  double alpha = 0;
  if (!call->host->number(call->node, "alpha", &alpha))
    return dyn->status_create(DYN_ERROR_INTERNAL, "it has no alpha");
  dyn_status* status = dyn->builder_number(b, DYN_NO_DTYPE, alpha, &factor);
  if (status == NULL)
    status = dyn->builder_op(b, "mul", DYN_VALUES(x, factor), DYN_NO_ATTRIBUTES, NULL, &scaled);
  if (status == NULL)
    status = dyn->builder_op(b, "sigmoid", DYN_VALUES(scaled), DYN_NO_ATTRIBUTES, NULL, &weight);
  if (status == NULL)
    status = dyn->builder_op(b, "mul", DYN_VALUES(x, weight), DYN_NO_ATTRIBUTES, NULL,
                             &call->outputs[0]);
  return status;
}

/* The gated input, and the gated negative of it. */
static dyn_status* two(const dyn_plugin_definition_call* call, void* data) {
  (void)data;
  const dyn_api* const dyn = call->api;
  dyn_builder* const b = call->builder;
  dyn_value* negative;
  dyn_status* status =
      dyn->builder_op(b, "neg", DYN_VALUES(call->inputs[0]), DYN_NO_ATTRIBUTES, NULL, &negative);
  if (status == NULL)
    status = dyn->builder_op(b, "own::gate", DYN_VALUES(call->inputs[0]), DYN_NO_ATTRIBUTES, NULL,
                             &call->outputs[0]);
  if (status == NULL)
    status = dyn->builder_op(b, "own::gate", DYN_VALUES(negative),
                             DYN_ATTRIBUTES({"alpha", DYN_ATTRIBUTE_NUMBER, .number = 2}), NULL,
                             &call->outputs[1]);
  return status;
}

static const char* const x_name[] = {"x"};
static const dyn_plugin_attribute alpha = {.struct_size = sizeof(dyn_plugin_attribute),
                                           .kind = DYN_PLUGIN_NUMBER,
                                           .name = "alpha",
                                           .number = 1};
static const dyn_plugin_attribute* const gate_attributes[] = {&alpha};
static const dyn_plugin_operator gate_operator = {.struct_size = sizeof(dyn_plugin_operator),
                                                  .output_count = 1,
                                                  .domain = "own",
                                                  .name = "gate",
                                                  .input_count = 1,
                                                  .input_names = x_name,
                                                  .attribute_count = 1,
                                                  .attributes = gate_attributes,
                                                  .definition = gate};
static const dyn_plugin_operator two_operator = {.struct_size = sizeof(dyn_plugin_operator),
                                                 .output_count = 2,
                                                 .domain = "own",
                                                 .name = "two",
                                                 .input_count = 1,
                                                 .input_names = x_name,
                                                 .definition = two};
static const dyn_plugin_operator* const operators[] = {&gate_operator, &two_operator};
static const dyn_plugin plugin = {sizeof(dyn_plugin), DYN_PLUGIN_VERSION, 2, operators};

const dyn_plugin* dyn_plugin_get(void) { return &plugin; }
