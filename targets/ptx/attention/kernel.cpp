#include "targets/ptx/attention/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "dyn/error.hpp"
#include "src/base/rounding.hpp"
#include "targets/llvm/problem/instruction_counts.hpp"
#include "targets/llvm/problem/structure_key.hpp"
#include "targets/ptx/attention/manifest.hpp"
#include "targets/ptx/attention/tree.hpp"
#include "targets/ptx/ir/device_math.hpp"
#include "targets/ptx/ir/dtypes.hpp"
#include "targets/ptx/sharing/part_memory.hpp"

namespace dyn::ptx {
namespace {

using choice::GpuAttention;
using choice::GpuAttentionTile;
using choice::GpuMachine;
using rkernel::Operand;
using rkernel::Problem;

bool is_plain_matrix(const Operand& operand) {
  return is_float(operand.dtype) && can_load(operand.dtype) && operand.guards.empty() &&
         !operand.gathers && !operand.window;
}

bool can_attend(const Problem& problem) {
  if (!problem.attention) return false;
  const rkernel::Attention& attention = *problem.attention;
  if (attention.k_scales >= 0 || attention.v_scales >= 0) return false;
  const auto extent = problem.axes[static_cast<std::size_t>(attention.d)].extent;
  if (graph::bounds(extent).high > most_attention_depth) return false;
  for (const int operand : {attention.q, attention.k, attention.v, attention.mask}) {
    if (operand >= 0 && !is_plain_matrix(problem.operands[static_cast<std::size_t>(operand)]))
      return false;
  }
  const auto readable = [](const Operand& operand) {
    return can_load(operand.dtype) && operand.form == rkernel::Form::Strided;
  };
  const auto computable = [](const rkernel::Expr& expr) { return can_compute(expr.dtype); };
  return std::ranges::all_of(problem.operands, readable) &&
         std::ranges::all_of(problem.exprs, computable);
}

std::string copies_of(const GpuAttentionClass& shape_class) {
  return {letter_of(shape_class.q), letter_of(shape_class.k), letter_of(shape_class.v)};
}

class PlannedAttention final : public GpuAttentionKernel {
 public:
  PlannedAttention(const Problem& problem, const GpuMachine& machine, DType compute,
                   bool allow_tf32, const std::string& target_name, rkernel::Policy policy)
      : GpuAttentionKernel(target_name),
        policy_(policy),
        problem_(std::make_shared<const Problem>(problem)),
        machine_(machine),
        slots_(*problem_),
        manifest_(*problem_, machine, compute, allow_tf32),
        grid_(add_gpu_attention_slots(slots_, manifest_.shares_rows(), manifest_.heads())) {
    epilogue_operations_ = 2;  // the tile is read, the result stored
    for (const rkernel::Expr& expr : problem_->exprs)
      epilogue_operations_ += codegen::instructions_of(*problem_, expr, codegen::StrideClass::Unit,
                                                       device_math.approximations);
    const rkernel::Attention& attention = *problem_->attention;
    for (const Operand& operand : problem_->operands) {
      const bool dense = operand.strides[static_cast<std::size_t>(attention.m)].constant() != 0 &&
                         operand.strides[static_cast<std::size_t>(attention.n)].constant() != 0;
      if (dense) epilogue_bytes_ += static_cast<double>(size_of(operand.dtype));
    }
  }

  std::vector<codegen::KernelSource> sources() const override {
    const std::string structure = codegen::structure_key(*problem_, slots_);
    std::vector<codegen::KernelSource> sources;
    for (const GpuAttentionClass& shape_class : manifest_.classes()) {
      const auto emit = [problem = problem_, machine = machine_, slots = slots_, grid = grid_,
                         shape_class](llvm::Module& module, const std::string& symbol) {
        emit_gpu_attention(module, symbol,
                           attention_tree(*problem, shape_class.tile, shape_class.heads, machine),
                           slots, grid, shape_class);
      };
      sources.push_back({"gpu attention " + to_string(shape_class) + " " + structure, emit});
    }
    return sources;
  }

  rkernel::Launch plan(const rkernel::PlanRequest& request) const override {
    std::vector<std::int64_t> ints = slots_.evaluate(request.symbols);
    const GpuAttention shape = sizes_of(ints);
    const Considered chosen = choose(shape, ints);
    return launch_of(shape, chosen, std::move(ints));
  }

  /// Dyn's; no paper defines attention.
  rkernel::Choices choices(const rkernel::PlanRequest& request,
                           rkernel::Policy policy) const override {
    if (policy != rkernel::Policy::Dyn)
      return {{}, 0, rkernel::undefined_reason(policy, "attention")};
    const std::vector<std::int64_t> ints = slots_.evaluate(request.symbols);
    const GpuAttention shape = sizes_of(ints);
    if (shape.batch * shape.rows() * shape.width == 0)
      return {{}, 0, "there is nothing to compute: the output is empty"};
    const std::size_t chosen = choose(shape, ints).index;
    rkernel::Choices choices;
    for_each_considered(shape, ints, [&](const Considered& one) {
      if (one.index == chosen) choices.chosen = choices.candidates.size();
      rkernel::Launch launch = launch_of(shape, one, ints);
      choices.candidates.push_back(
          {text_of(one, launch.tickets), one.keys.seconds, std::move(launch)});
    });
    return choices;
  }

  void choose_only(const rkernel::PlanRequest& request, rkernel::Policy, bool) const override {
    const std::vector<std::int64_t> ints = slots_.evaluate(request.symbols);
    choose(sizes_of(ints), ints);
  }

  std::string explain(const rkernel::PlanRequest& request) const override {
    const std::vector<std::int64_t> ints = slots_.evaluate(request.symbols);
    const GpuAttention shape = sizes_of(ints);
    const std::size_t chosen = choose(shape, ints).index;
    std::string text = fmt::format(
        "  batch {}, {} queries{} of {} keys, depth {} and {}{} on {} multiprocessors of {}\n"
        "  times: {}\n",
        shape.batch, shape.queries,
        manifest_.heads() < 0 ? "" : fmt::format(" in each of {} heads", shape.heads), shape.keys,
        shape.depth, shape.width, shape.causal ? ", causal" : "", machine_.multiprocessors,
        machine_.product, choice::origin_of_times(machine_));
    if (policy_ != rkernel::Policy::Dyn) text += rkernel::no_choice_text(policy_, "attention");
    for (const std::size_t index : manifest_.classes_for(slots_, ints)) {
      const GpuAttentionClass& shape_class = manifest_.classes()[index];
      const GpuAttentionTile& tile = shape_class.tile;
      const choice::GpuKeyParts parts = key_choice(shape, shape_class).parts;
      choice::CostBreakdown breakdown;
      const double seconds =
          choice::gpu_attention_cost(machine_, met(shape, shape_class), tile, &breakdown, parts);
      const choice::Occupancy occupancy = occupancy_of(tile);
      text += fmt::format(
          "  {} {:.4g} us: {}{}, copies {}; {} blocks, occupancy {} (limited by {}: {} threads, {} "
          "registers, {} bytes shared)\n",
          index == chosen ? "chosen" : "      ", seconds * 1e6, tile.to_string(),
          parts.count == 1 ? "" : fmt::format(", keys of {} blocks", parts.count),
          copies_of(shape_class), breakdown.tickets, occupancy.blocks, occupancy.limit,
          tile.threads(), tile.registers(), tile.shared_bytes());
      text += choice::to_string(breakdown);
    }
    return text;
  }

  std::string describe() const override {
    std::string text = rkernel::to_string(
        attention_tree(*problem_, manifest_.classes().back().tile, manifest_.heads(), machine_));
    return text + class_keys();
  }

  bool has_no_classes() const { return manifest_.classes().empty(); }

 private:
  std::optional<std::size_t> class_at(const rkernel::PlanRequest& request) const override {
    const std::vector<std::int64_t> ints = slots_.evaluate(request.symbols);
    return choose(sizes_of(ints), ints).index;
  }

  std::string class_name(std::size_t index) const override {
    const GpuAttentionClass& shape_class = manifest_.classes()[index];
    const GpuAttentionTile& tile = shape_class.tile;
    const bool tf32 = tile.engine == choice::Engine::TensorCores && tile.operands == DType::f32;
    return fmt::format("{}_{}_{}x{}_{}_{}_{}", problem_->name,
                       tf32 ? "tf32" : name_of(tile.operands), tile.block_m, tile.block_keys(),
                       tile.depth, tile.width, copies_of(shape_class));
  }

  choice::Occupancy occupancy_of(const GpuAttentionTile& tile) const {
    return choice::occupancy(machine_, tile.threads(), tile.registers(), tile.shared_bytes());
  }

  GpuAttention sizes_of(std::span<const std::int64_t> ints) const {
    const rkernel::Attention& attention = *problem_->attention;
    const auto extent = [&](int axis) { return codegen::value_of(slots_.extent(axis), ints); };
    const auto bytes = [&](int operand) {
      return static_cast<double>(
          size_of(problem_->operands[static_cast<std::size_t>(operand)].dtype));
    };
    GpuAttention shape;
    for (int axis = 0; axis < attention.m; ++axis)
      (axis == manifest_.heads() ? shape.heads : shape.batch) *= extent(axis);
    shape.queries = extent(attention.m);
    shape.keys = extent(attention.keys);
    shape.depth = extent(attention.d);
    shape.width = extent(attention.n);
    shape.causal = attention.causal;
    shape.masked = attention.mask >= 0;
    shape.query_element_bytes = bytes(attention.q);
    shape.key_element_bytes = bytes(attention.k);
    shape.value_element_bytes = bytes(attention.v);
    shape.epilogue_operations = epilogue_operations_;
    shape.epilogue_bytes = epilogue_bytes_;
    return shape;
  }

  static GpuAttention met(GpuAttention shape, const GpuAttentionClass& shape_class) {
    shape.vectors = shape_class.k == Copy::Vectors && shape_class.v == Copy::Vectors;
    return shape;
  }

  choice::GpuKeyChoice key_choice(const GpuAttention& shape,
                                  const GpuAttentionClass& shape_class) const {
    return choice::choose_key_parts(machine_, met(shape, shape_class), shape_class.tile,
                                    shape_class.shares_rows);
  }

  struct Considered {
    std::size_t index = 0;  ///< of the class
    choice::GpuKeyChoice keys;
  };
  template <class Visit>
  void for_each_considered(const GpuAttention& shape, std::span<const std::int64_t> ints,
                           const Visit& visit) const {
    for (const std::size_t index : manifest_.classes_for(slots_, ints)) {
      const GpuAttentionClass& shape_class = manifest_.classes()[index];
      if (occupancy_of(shape_class.tile).blocks == 0) continue;
      visit(Considered{index, key_choice(shape, shape_class)});
    }
  }
  /// The cheapest class; ties go to the earlier one.
  Considered choose(const GpuAttention& shape, std::span<const std::int64_t> ints) const {
    std::optional<Considered> best;
    for_each_considered(shape, ints, [&](const Considered& one) {
      if (!best || one.keys.seconds < best->keys.seconds) best = one;
    });
    if (!best)
      throw Error(ErrorKind::internal,
                  "no tile of " + problem_->name + " fits " + machine_.product);
    return *best;
  }

  rkernel::Launch launch_of(const GpuAttention& shape, const Considered& chosen,
                            std::vector<std::int64_t> ints) const {
    rkernel::Launch launch;
    launch.ints = std::move(ints);
    const GpuAttentionTile& tile = manifest_.classes()[chosen.index].tile;
    const std::int64_t m_blocks = ceil_div(shape.rows(), tile.block_m),
                       n_blocks = ceil_div(shape.width, tile.width);
    const choice::GpuKeyParts& parts = chosen.keys.parts;
    launch.tickets = shape.batch * m_blocks * n_blocks * parts.count;
    const double scale = problem_->attention->scale != 0
                             ? problem_->attention->scale
                             : 1 / std::sqrt(static_cast<double>(shape.depth));
    const auto set = [&](int slot, std::int64_t value) {
      if (slot != codegen::SlotTable::none) launch.ints[static_cast<std::size_t>(slot)] = value;
    };
    set(grid_.m_blocks, m_blocks);
    set(grid_.n_blocks, n_blocks);
    set(grid_.tickets, launch.tickets);
    set_head_slots(grid_.heads, shape.heads, launch.ints);
    set(grid_.scale, std::bit_cast<std::int32_t>(static_cast<float>(scale)));
    set(grid_.parts, parts.count);
    set(grid_.span, parts.count > 1
                        ? parts.span
                        : std::max<std::int64_t>(1, ceil_div(shape.keys, tile.block_keys())));
    if (parts.count > 1)
      launch.shared_bytes =
          PartMemory::bytes(launch.tickets, static_cast<std::size_t>(tile.part_bytes()));
    launch.grid.function = function_at(chosen.index);
    launch.grid.blocks = std::min(
        launch.tickets, std::int64_t{machine_.multiprocessors} * occupancy_of(tile).blocks);
    launch.grid.threads = tile.threads();
    launch.grid.shared_bytes = tile.shared_bytes();
    launch.predicted_seconds = chosen.keys.seconds;
    count_work(shape, launch);
    return launch;
  }

  std::string text_of(const Considered& one, std::int64_t blocks) const {
    const GpuAttentionClass& shape_class = manifest_.classes()[one.index];
    const auto parts = one.keys.parts.count;
    return fmt::format("{}{}, copies {}; {} blocks", shape_class.tile.to_string(),
                       parts == 1 ? "" : fmt::format(", keys of {} blocks", parts),
                       copies_of(shape_class), blocks);
  }

  static void count_work(const GpuAttention& shape, rkernel::Launch& launch) {
    const double rows = static_cast<double>(shape.batch * shape.rows()),
                 keys = static_cast<double>(shape.batch * shape.keys),
                 depth = static_cast<double>(shape.depth), width = static_cast<double>(shape.width);
    launch.flops =
        2 * rows * static_cast<double>(shape.keys) * choice::visible_share(shape) * (depth + width);
    launch.bytes = rows * (depth * shape.query_element_bytes + width * shape.epilogue_bytes) +
                   keys * (depth * shape.key_element_bytes + width * shape.value_element_bytes);
  }

  rkernel::Policy policy_;
  std::shared_ptr<const Problem> problem_;
  GpuMachine machine_;
  codegen::SlotTable slots_;
  AttentionManifest manifest_;
  GpuAttentionSlots grid_;
  double epilogue_operations_ = 0, epilogue_bytes_ = 0;
};

}  // namespace

std::optional<GpuAttentionKernel::Draft> GpuAttentionKernel::draft(const Problem& problem,
                                                                   const GpuMachine& machine,
                                                                   DType compute, bool allow_tf32,
                                                                   const std::string& target_name,
                                                                   rkernel::Policy policy) {
  if (!can_attend(problem) || !is_float(compute)) return std::nullopt;
  auto kernel = std::make_unique<PlannedAttention>(problem, machine, compute, allow_tf32,
                                                   target_name, policy);
  if (kernel->has_no_classes()) return std::nullopt;
  return Draft(std::move(kernel));
}

}  // namespace dyn::ptx
