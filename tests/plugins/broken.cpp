// Operators whose functions do what they must not.

#include <stdexcept>

#include "dyn/plugin.h"

namespace {

using Shape = int (*)(const dyn_plugin_shape_call*, void*);
using Kernel = int (*)(const dyn_plugin_kernel_call*, void*);

int same(const dyn_plugin_shape_call* call, void*) {
  call->outputs[0] = call->inputs[0];
  return 0;
}
int nothing(const dyn_plugin_kernel_call*, void*) { return 0; }

int throws(const dyn_plugin_shape_call*, void*) { throw std::runtime_error("no shape today"); }
int throws_number(const dyn_plugin_shape_call*, void*) { throw 7; }
int fills_nothing(const dyn_plugin_shape_call*, void*) { return 0; }
int wrong_rank(const dyn_plugin_shape_call* call, void*) {
  same(call, nullptr);
  call->outputs[0].rank = 900;
  return 0;
}
int negative(const dyn_plugin_shape_call* call, void*) {
  same(call, nullptr);
  call->outputs[0].dims[0] = call->host->constant(call->node, -3);
  return 0;
}
int null_dim(const dyn_plugin_shape_call* call, void*) {
  same(call, nullptr);
  call->outputs[0].dims[0] = nullptr;
  return 0;
}
int wild_dim(const dyn_plugin_shape_call* call, void*) {
  static int somewhere = 0;
  same(call, nullptr);
  call->outputs[0].dims[0] = reinterpret_cast<const dyn_plugin_dim*>(&somewhere);
  return 0;
}
int wrong_dtype(const dyn_plugin_shape_call* call, void*) {
  same(call, nullptr);
  call->outputs[0].dtype = 99;
  return 0;
}
int null_operand(const dyn_plugin_shape_call* call, void*) {
  same(call, nullptr);
  call->outputs[0].dims[0] = call->host->add(call->node, nullptr, call->inputs[0].dims[0]);
  return 0;
}
int silent(const dyn_plugin_shape_call*, void*) { return 5; }
/* Fails where a function of the host takes NULL for what it is. */
int null_arguments(const dyn_plugin_shape_call* call, void*) {
  same(call, nullptr);
  const dyn_plugin_host& host = *call->host;
  host.fail(nullptr, "no node");
  const bool none = host.boolean(call->node, "truth", nullptr) == 0 &&
                    host.number(call->node, "number", nullptr) == 0 &&
                    host.integer(call->node, "integer", nullptr) == 0 &&
                    host.word(call->node, "word", nullptr) == 0 &&
                    host.integers(call->node, "integers", nullptr, nullptr) == 0 &&
                    host.number(call->node, nullptr, nullptr) == 0 &&
                    host.number(nullptr, "number", nullptr) == 0 &&
                    host.constant(nullptr, 1) == nullptr &&
                    host.constant_value(call->node, nullptr, nullptr) == 0;
  double number = 0;
  return none && host.number(call->node, "number", &number) == 1 && number == 0.5 ? 0 : 1;
}

int kernel_throws(const dyn_plugin_kernel_call*, void*) {
  throw std::runtime_error("the kernel gave up");
}
int kernel_silent(const dyn_plugin_kernel_call*, void*) { return 3; }
int kernel_says(const dyn_plugin_kernel_call* call, void*) {
  call->host->fail(call->node, "these numbers are odd");
  return 1;
}

const char* const names[] = {"x"};

constexpr dyn_plugin_attribute attribute(int32_t kind, const char* name) {
  return {sizeof(dyn_plugin_attribute), kind, name, 0, 0, 0.5, 0, "word", 0, nullptr};
}
const dyn_plugin_attribute attributes[] = {
    attribute(DYN_PLUGIN_BOOLEAN, "truth"), attribute(DYN_PLUGIN_NUMBER, "number"),
    attribute(DYN_PLUGIN_INTEGER, "integer"), attribute(DYN_PLUGIN_WORD, "word"),
    attribute(DYN_PLUGIN_INTEGERS, "integers")};
const dyn_plugin_attribute* const attribute_list[] = {
    &attributes[0], &attributes[1], &attributes[2], &attributes[3], &attributes[4]};

dyn_plugin_operator make(const char* name, Shape shape, Kernel kernel) {
  dyn_plugin_operator op{};
  op.struct_size = sizeof op;
  op.output_count = 1;
  op.domain = "bad";
  op.name = name;
  op.input_count = 1;
  op.input_names = names;
  op.attribute_count = sizeof attribute_list / sizeof *attribute_list;
  op.attributes = attribute_list;
  op.shape = shape;
  op.kernel = kernel;
  return op;
}

const dyn_plugin_operator operators[] = {make("throws", throws, nothing),
                                         make("throws_number", throws_number, nothing),
                                         make("fills_nothing", fills_nothing, nothing),
                                         make("wrong_rank", wrong_rank, nothing),
                                         make("negative", negative, nothing),
                                         make("null_dim", null_dim, nothing),
                                         make("wild_dim", wild_dim, nothing),
                                         make("wrong_dtype", wrong_dtype, nothing),
                                         make("null_operand", null_operand, nothing),
                                         make("silent", silent, nothing),
                                         make("null_arguments", null_arguments, nothing),
                                         make("kernel_throws", same, kernel_throws),
                                         make("kernel_silent", same, kernel_silent),
                                         make("kernel_says", same, kernel_says)};
constexpr std::size_t count = sizeof operators / sizeof *operators;

}  // namespace

extern "C" const dyn_plugin* dyn_plugin_get(void) {
  static const dyn_plugin_operator* pointers[count];
  for (std::size_t i = 0; i < count; ++i) pointers[i] = &operators[i];
  static const dyn_plugin plugin{sizeof(dyn_plugin), DYN_PLUGIN_VERSION, count, pointers};
  return &plugin;
}
