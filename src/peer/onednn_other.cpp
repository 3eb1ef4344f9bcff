// Operators other than matmul in oneDNN: primitives with one source.

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/peer/onednn.hpp"

namespace dyn::peer {
namespace {

// dnnl_types.h: algorithms of element-wise functions and flags differ between versions 2 and 3, in
// this order.
struct Numbers {
  int v2, v3;
  int of(const Dnnl& dnnl) const { return dnnl.major() == 2 ? v2 : v3; }
};

struct Eltwise {
  Numbers algorithm;
  double (*value)(double);
};

const std::map<std::string, Eltwise> eltwise_functions = {
    {"relu", {{0x1f, 0x20}, [](double x) { return std::max(x, 0.0); }}},
    {"tanh", {{0x2f, 0x21}, [](double x) { return std::tanh(x); }}},
    {"abs", {{0x5f, 0x24}, [](double x) { return std::abs(x); }}},
    {"sqrt", {{0x6f, 0x25}, [](double x) { return std::sqrt(x); }}},
    {"sigmoid", {{0xaf, 0x29}, [](double x) { return 1 / (1 + std::exp(-x)); }}},
    {"exp", {{0xbf, 0x2a}, [](double x) { return std::exp(x); }}},
    {"log", {{0xef, 0x2d}, [](double x) { return std::log(x); }}},
    {"gelu", {{0x30, 0x31}, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }}},
};
const std::map<std::string, int> reduction_algorithms = {
    {"reduce_max", 0x2fff2},  {"reduce_min", 0x2fff3},  {"reduce_sum", 0x2fff4},
    {"reduce_prod", 0x2fff5}, {"reduce_mean", 0x2fff6},
};
constexpr int softmax_accurate = 0x30000;
constexpr Numbers scale_and_shift = {0x8 | 0x10, 0x2 | 0x4};
constexpr int arg_scale = 51, arg_shift = 52;
constexpr std::int64_t most_checked = 64;
constexpr double eltwise_tolerance = 1e-4;  // tells functions apart; arguments are in [-1, 1)

/// A primitive, the layouts of its source and result, and the number of elements of each further
/// argument, all vectors.
struct Plan {
  Handle primitive;
  MemoryDesc source, result;
  std::vector<int> vectors;
};

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

Plan plan_softmax(const Dnnl& dnnl, const Problem& problem) {
  const Shape& shape = problem.output.shape;
  const auto axis = static_cast<int>(
      axis_of(static_cast<std::int64_t>(problem.number("axis", -1)), shape.size()));
  const MemoryDesc x = dnnl.dense(shape);
  const Handle desc = dnnl.primitive_desc(
      [&](void* op) {
        using Init = int(void*, int, int, const void*, const void*, int);
        return dnnl.library().function<Init>("dnnl_softmax_v2_forward_desc_init")(
            op, dnnl_forward_inference, softmax_accurate, x.pointer, x.pointer, axis);
      },
      [&](void** made) {
        using Create = int(void**, void*, int, int, const void*, const void*, int, const void*);
        return dnnl.library().function<Create>("dnnl_softmax_forward_primitive_desc_create")(
            made, dnnl.engine(), dnnl_forward_inference, softmax_accurate, x.pointer, x.pointer,
            axis, nullptr);
      });
  return {dnnl.primitive(desc), x, x, {}};
}

Plan plan_layer_norm(const Dnnl& dnnl, const Problem& problem) {
  const MemoryDesc x = dnnl.dense(problem.output.shape);
  const auto epsilon = static_cast<float>(problem.number("epsilon", 1e-5));
  const auto flags = static_cast<unsigned>(scale_and_shift.of(dnnl));
  const Handle desc = dnnl.primitive_desc(
      [&](void* op) {
        using Init = int(void*, int, const void*, const void*, float, unsigned);
        return dnnl.library().function<Init>("dnnl_layer_normalization_forward_desc_init")(
            op, dnnl_forward_inference, x.pointer, nullptr, epsilon, flags);
      },
      [&](void** made) {
        using Create = int(void**, void*, int, const void*, const void*, const void*, float,
                           unsigned, const void*);
        return dnnl.library().function<Create>(
            "dnnl_layer_normalization_forward_primitive_desc_create")(
            made, dnnl.engine(), dnnl_forward_inference, x.pointer, x.pointer, nullptr, epsilon,
            flags, nullptr);
      });
  return {dnnl.primitive(desc), x, x, {arg_scale, arg_shift}};
}

Plan plan_eltwise(const Dnnl& dnnl, const Problem& problem, int algorithm) {
  const MemoryDesc x = dnnl.dense(problem.output.shape);
  const Handle desc = dnnl.primitive_desc(
      [&](void* op) {
        using Init = int(void*, int, int, const void*, float, float);
        return dnnl.library().function<Init>("dnnl_eltwise_forward_desc_init")(
            op, dnnl_forward_inference, algorithm, x.pointer, 0, 0);
      },
      [&](void** made) {
        using Create =
            int(void**, void*, int, int, const void*, const void*, float, float, const void*);
        return dnnl.library().function<Create>("dnnl_eltwise_forward_primitive_desc_create")(
            made, dnnl.engine(), dnnl_forward_inference, algorithm, x.pointer, x.pointer, 0, 0,
            nullptr);
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
  const Handle desc = dnnl.primitive_desc(
      [&](void* op) {
        using Init = int(void*, int, const void*, const void*, float, float);
        return dnnl.library().function<Init>("dnnl_reduction_desc_init")(op, algorithm, x.pointer,
                                                                         y.pointer, 0, 0);
      },
      [&](void** made) {
        using Create = int(void**, void*, int, const void*, const void*, float, float, const void*);
        return dnnl.library().function<Create>("dnnl_reduction_primitive_desc_create")(
            made, dnnl.engine(), algorithm, x.pointer, y.pointer, 0, 0, nullptr);
      });
  return {dnnl.primitive(desc), x, y, {}};
}

Plan plan_transpose(const Dnnl& dnnl, const Problem& problem) {
  const Shape& out = problem.output.shape;
  const Shape strides = dense_strides(problem.operands[0].shape);
  const std::vector<std::int64_t> perm = problem.list("perm");
  Shape permuted;
  for (const std::int64_t axis : perm)
    permuted.push_back(strides.at(axis_of(axis, strides.size())));
  const MemoryDesc x = dnnl.strided(out, permuted), y = dnnl.dense(out);
  return {dnnl.reorder(x, y), x, y, {}};
}

Plan plan_of(const Dnnl& dnnl, const Problem& problem) {
  if (problem.operands.empty() || problem.operands[0].dtype != "f32" ||
      problem.output.dtype != "f32")
    throw Unsupported("only f32");
  if (element_count(problem.operands[0].shape) == 0) throw Unsupported("an empty problem");
  const std::size_t operands = problem.operands.size();
  if (problem.op == "softmax") return plan_softmax(dnnl, problem);
  if (problem.op == "layer_norm" && operands == 3) return plan_layer_norm(dnnl, problem);
  if (problem.op == "transpose") return plan_transpose(dnnl, problem);
  if (const auto found = reduction_algorithms.find(problem.op);
      found != reduction_algorithms.end()) {
    return plan_reduction(dnnl, problem, found->second);
  }
  const auto found = eltwise_functions.find(problem.op);
  if (found == eltwise_functions.end() || !problem.attributes.empty()) {
    throw Unsupported(fmt::format("no primitive of oneDNN stands for {} here", problem.op));
  }
  return plan_eltwise(dnnl, problem, found->second.algorithm.of(dnnl));
}

/// Checks that the numbers above name these functions.
void check_eltwise(const Problem& problem, const float* x, const float* y) {
  const auto found = eltwise_functions.find(problem.op);
  if (found == eltwise_functions.end()) return;
  const std::int64_t count = std::min(element_count(problem.output.shape), most_checked);
  for (std::int64_t i = 0; i < count; ++i) {
    const double wanted = found->second.value(x[i]);
    if (std::isfinite(wanted) && !(std::abs(y[i] - wanted) <= eltwise_tolerance)) {
      throw Unsupported(fmt::format("its result is wrong: {} of {} is {}, not {}", problem.op, x[i],
                                    y[i], wanted));
    }
  }
}

class OtherRunner : public PrimitiveRunner {
 public:
  OtherRunner(const Dnnl& dnnl, const Problem& problem) : PrimitiveRunner(dnnl) {
    const Plan plan = plan_of(dnnl, problem);
    primitive_ = plan.primitive;
    for (int copy = 0; copy < problem.copies; ++copy)
      add_copy(plan, problem, static_cast<std::uint32_t>(copy));
    run();
    check_eltwise(problem, copies_.front().memories[0].buffer.floats(),
                  copies_.front().memories[1].buffer.floats());
  }

 private:
  void add_copy(const Plan& plan, const Problem& problem, std::uint32_t seed) {
    Copy& copy = copies_.emplace_back();
    const auto add = [&](int argument, const MemoryDesc& desc, const Shape& shape,
                         std::uint32_t own_seed) {
      copy.add(argument, make_memory(dnnl_, desc, random_floats(element_count(shape), own_seed)));
    };
    add(dnnl_arg_src, plan.source, problem.operands[0].shape, 3 * seed);
    add(dnnl_arg_dst, plan.result, problem.output.shape, 0);
    for (std::size_t i = 0; i < plan.vectors.size(); ++i) {
      const Shape& shape = problem.operands[i + 1].shape;
      add(plan.vectors[i], dnnl_.dense(shape), shape, 3 * seed + static_cast<std::uint32_t>(i) + 1);
    }
  }
};

}  // namespace

std::unique_ptr<Runner> prepare_other(const Dnnl& dnnl, const Problem& problem) {
  return std::make_unique<OtherRunner>(dnnl, problem);
}

}  // namespace dyn::peer
