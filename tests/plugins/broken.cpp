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

int kernel_throws(const dyn_plugin_kernel_call*, void*) {
  throw std::runtime_error("the kernel gave up");
}
int kernel_silent(const dyn_plugin_kernel_call*, void*) { return 3; }
int kernel_says(const dyn_plugin_kernel_call* call, void*) {
  call->host->fail(call->node, "these numbers are odd");
  return 1;
}

const char* const names[] = {"x"};

dyn_plugin_operator make(const char* name, Shape shape, Kernel kernel) {
  dyn_plugin_operator op{};
  op.struct_size = sizeof op;
  op.output_count = 1;
  op.domain = "bad";
  op.name = name;
  op.input_count = 1;
  op.input_names = names;
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
