// Operators other than matmul in oneDNN: primitives with one source.

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/peer/onednn.hpp"

namespace dyn::peer {
namespace {

// dnnl_types.h: algorithms of element-wise functions and flags differ between versions 2 and 3, in this order.
struct Numbers {
  int v2, v3;
  int of(const Dnnl& dnnl) const { return dnnl.major() == 2 ? v2 : v3; }
};

const std::map<std::string, Numbers> eltwise_algorithms = {
    {"relu", {0x1f, 0x20}}, {"tanh", {0x2f, 0x21}}, {"abs", {0x5f, 0x24}}, {"sqrt", {0x6f, 0x25}}, {"sigmoid", {0xaf, 0x29}},
    {"exp", {0xbf, 0x2a}},  {"log", {0xef, 0x2d}},  {"gelu", {0x30, 0x31}},
};
const std::map<std::string, int> reduction_algorithms = {
    {"reduce_max", 0x2fff2}, {"reduce_min", 0x2fff3}, {"reduce_sum", 0x2fff4}, {"reduce_prod", 0x2fff5}, {"reduce_mean", 0x2fff6},
};
constexpr int softmax_accurate = 0x30000;
constexpr Numbers scale_and_shift = {0x8 | 0x10, 0x2 | 0x4};
constexpr int arg_scale = 51, arg_shift = 52;

/// A primitive, the layouts of its source and result, and the numbers of its further arguments, all vectors.
struct Plan {
  Handle primitive;
  MemoryDesc source, result;
  std::vector<int> vectors;
};

std::size_t axis_of(std::int64_t axis, std::size_t rank) { return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis); }

Plan plan_softmax(const Dnnl& dnnl, const Problem& problem) {
  const Shape& shape = problem.output.shape;
  const auto axis = static_cast<int>(axis_of(static_cast<std::int64_t>(problem.number("axis", -1)), shape.size()));
  const MemoryDesc x = dnnl.dense(shape);
  const Handle desc = make_desc(
      dnnl,
      [&](void* op) {
        using Init = int(void*, int, int, const void*, const void*, int);
        return dnnl.library().function<Init>("dnnl_softmax_v2_forward_desc_init")(op, dnnl_forward_inference, softmax_accurate, x.pointer, x.pointer, axis);
      },
      [&](void** made) {
        using Create = int(void**, void*, int, int, const void*, const void*, int, const void*);
        return dnnl.library().function<Create>("dnnl_softmax_forward_primitive_desc_create")(
            made, dnnl.engine(), dnnl_forward_inference, softmax_accurate, x.pointer, x.pointer, axis, nullptr);
      });
  return {dnnl.primitive(desc), x, x, {}};
}

Plan plan_layer_norm(const Dnnl& dnnl, const Problem& problem) {
  const MemoryDesc x = dnnl.dense(problem.output.shape);
  const auto epsilon = static_cast<float>(problem.number("epsilon", 1e-5));
  const auto flags = static_cast<unsigned>(scale_and_shift.of(dnnl));
  const Handle desc = make_desc(
      dnnl,
      [&](void* op) {
        using Init = int(void*, int, const void*, const void*, float, unsigned);
        return dnnl.library().function<Init>("dnnl_layer_normalization_forward_desc_init")(op, dnnl_forward_inference, x.pointer, nullptr, epsilon, flags);
      },
      [&](void** made) {
        using Create = int(void**, void*, int, const void*, const void*, const void*, float, unsigned, const void*);
        return dnnl.library().function<Create>("dnnl_layer_normalization_forward_primitive_desc_create")(
            made, dnnl.engine(), dnnl_forward_inference, x.pointer, x.pointer, nullptr, epsilon, flags, nullptr);
      });
  return {dnnl.primitive(desc), x, x, {arg_scale, arg_shift}};
}

Plan plan_eltwise(const Dnnl& dnnl, const Problem& problem, int algorithm) {
  const MemoryDesc x = dnnl.dense(problem.output.shape);
  const Handle desc = make_desc(
      dnnl,
      [&](void* op) {
        using Init = int(void*, int, int, const void*, float, float);
        return dnnl.library().function<Init>("dnnl_eltwise_forward_desc_init")(op, dnnl_forward_inference, algorithm, x.pointer, 0, 0);
      },
      [&](void** made) {
        using Create = int(void**, void*, int, int, const void*, const void*, float, float, const void*);
        return dnnl.library().function<Create>("dnnl_eltwise_forward_primitive_desc_create")(
            made, dnnl.engine(), dnnl_forward_inference, algorithm, x.pointer, x.pointer, 0, 0, nullptr);
      });
  return {dnnl.primitive(desc), x, x, {}};
}

/// The result keeps reduced axes as dims of 1; without keepdims the memory is the same.
Plan plan_reduction(const Dnnl& dnnl, const Problem& problem, int algorithm) {
  Shape reduced = problem.operands[0].shape;
  const std::vector<std::int64_t> axes = problem.list("axes");
  for (const std::int64_t axis : axes) reduced.at(axis_of(axis, reduced.size())) = 1;
  if (axes.empty()) std::fill(reduced.begin(), reduced.end(), 1);
  const MemoryDesc x = dnnl.dense(problem.operands[0].shape), y = dnnl.dense(reduced);
  const Handle desc = make_desc(
      dnnl,
      [&](void* op) {
        using Init = int(void*, int, const void*, const void*, float, float);
        return dnnl.library().function<Init>("dnnl_reduction_desc_init")(op, algorithm, x.pointer, y.pointer, 0, 0);
      },
      [&](void** made) {
        using Create = int(void**, void*, int, const void*, const void*, float, float, const void*);
        return dnnl.library().function<Create>("dnnl_reduction_primitive_desc_create")(made, dnnl.engine(), algorithm, x.pointer, y.pointer, 0, 0,
                                                                                       nullptr);
      });
  return {dnnl.primitive(desc), x, y, {}};
}

Plan plan_transpose(const Dnnl& dnnl, const Problem& problem) {
  const Shape& out = problem.output.shape;
  const Shape strides = dense_strides(problem.operands[0].shape);
  const std::vector<std::int64_t> perm = problem.list("perm");
  Shape permuted;
  for (const std::int64_t axis : perm) permuted.push_back(strides.at(axis_of(axis, strides.size())));
  const MemoryDesc x = dnnl.strided(out, permuted), y = dnnl.dense(out);
  return {dnnl.reorder(x, y), x, y, {}};
}

Plan plan_of(const Dnnl& dnnl, const Problem& problem) {
  if (problem.operands.empty() || problem.operands[0].dtype != "f32" || problem.output.dtype != "f32") throw Unsupported("only f32");
  if (element_count(problem.operands[0].shape) == 0) throw Unsupported("an empty problem");
  const std::size_t operands = problem.operands.size();
  if (problem.op == "softmax") return plan_softmax(dnnl, problem);
  if (problem.op == "layer_norm" && operands == 3) return plan_layer_norm(dnnl, problem);
  if (problem.op == "transpose") return plan_transpose(dnnl, problem);
  if (const auto found = reduction_algorithms.find(problem.op); found != reduction_algorithms.end()) {
    return plan_reduction(dnnl, problem, found->second);
  }
  const auto found = eltwise_algorithms.find(problem.op);
  if (found == eltwise_algorithms.end() || !problem.attributes.empty()) {
    throw Unsupported(fmt::format("no primitive of oneDNN stands for {} here", problem.op));
  }
  return plan_eltwise(dnnl, problem, found->second.of(dnnl));
}

class OtherRunner : public Runner {
 public:
  OtherRunner(const Dnnl& dnnl, const Problem& problem) : dnnl_(dnnl), plan_(plan_of(dnnl, problem)) {
    for (int copy = 0; copy < problem.copies; ++copy) add_copy(problem, static_cast<std::uint32_t>(copy));
    run();
  }

  void run() override {
    for (const Copy& copy : copies_) dnnl_.execute(plan_.primitive, copy.arguments);
  }

 private:
  struct Copy {
    std::vector<Memory> memories;
    std::vector<DnnlArgument> arguments;
  };

  void add(Copy& copy, int argument, const MemoryDesc& desc, std::int64_t count, std::uint32_t seed) {
    copy.memories.push_back(dnnl_.memory(desc, random_floats(count, seed)));
    copy.arguments.push_back({argument, copy.memories.back().handle.get()});
  }

  void add_copy(const Problem& problem, std::uint32_t seed) {
    Copy& copy = copies_.emplace_back();
    add(copy, dnnl_arg_src, plan_.source, element_count(problem.operands[0].shape), 3 * seed);
    add(copy, dnnl_arg_dst, plan_.result, element_count(problem.output.shape), 0);
    for (std::size_t i = 0; i < plan_.vectors.size(); ++i) {
      const Shape& shape = problem.operands[i + 1].shape;
      add(copy, plan_.vectors[i], dnnl_.dense(shape), element_count(shape), 3 * seed + static_cast<std::uint32_t>(i) + 1);
    }
  }

  const Dnnl& dnnl_;
  Plan plan_;
  std::vector<Copy> copies_;
};

}  // namespace

std::unique_ptr<Runner> prepare_other(const Dnnl& dnnl, const Problem& problem) { return std::make_unique<OtherRunner>(dnnl, problem); }

}  // namespace dyn::peer
