// A contraction as a launch of oneDNN's primitives: its product in the output at once, or in memory
// of the run, where the generated second stage of a split K takes it for its only slice.

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "targets/cpu/contraction/full_tiles.hpp"
#include "targets/cpu/contraction/kernel.hpp"
#include "targets/cpu/contraction/launch.hpp"
#include "targets/cpu/vendor/cost.hpp"
#include "targets/cpu/vendor/plan.hpp"

namespace dyn::cpu {
namespace {

using rkernel::Operand;

/// Reads the slots of one problem.
class Slots {
 public:
  Slots(const codegen::SlotTable& table, std::span<const std::int64_t> ints)
      : table_(table), ints_(ints) {}
  std::int64_t extent(int axis) const { return codegen::value_of(table_.extent(axis), ints_); }
  std::int64_t stride(int operand, int axis) const {
    return codegen::value_of(table_.stride(operand, axis), ints_);
  }
  std::int64_t offset(int operand) const {
    return codegen::value_of(table_.offset(operand), ints_);
  }

 private:
  const codegen::SlotTable& table_;
  std::span<const std::int64_t> ints_;
};

bool is_plain(const Operand& operand) {
  return operand.dtype == DType::f32 && !operand.gathers && !operand.window &&
         operand.guards.empty();
}

/// Strides of axes of one element become those of dense rows or columns.
void normalise(std::int64_t rows, std::int64_t columns, std::int64_t& row, std::int64_t& column) {
  if (columns == 1) column = 1;
  if (rows == 1) column == 1 ? row = columns : row = 1;
}

/// What oneDNN takes: one stride is 1, the other at least as large as a row.
bool is_matrix(std::int64_t rows, std::int64_t columns, const VendorOperand& of) {
  return (of.column == 1 && of.row >= columns) || (of.row == 1 && of.column >= rows);
}

/// The operand that takes the sums as they are, row by row; -1: an epilogue stands between.
int plain_output(const rkernel::Problem& problem, const Slots& slots, std::int64_t n) {
  if (problem.stores.size() != 1) return -1;
  const rkernel::Store& store = problem.stores.front();
  if (problem.exprs[static_cast<std::size_t>(store.expr)].op != rkernel::ExprOp::Accumulator ||
      !is_plain(problem.operands[static_cast<std::size_t>(store.operand)]))
    return -1;
  const bool has_rows = slots.stride(store.operand, problem.contraction->n) == 1 &&
                        slots.stride(store.operand, problem.contraction->m) >= n;
  return has_rows ? store.operand : -1;
}

std::string refusal(const rkernel::Problem& problem, const choice::ContractionShape& shape) {
  const rkernel::Contraction& contraction = *problem.contraction;
  for (const int operand : {contraction.a, contraction.b}) {
    if (!is_plain(problem.operands[static_cast<std::size_t>(operand)]))
      return "an operand is narrow, padded, gathered or of windows";
  }
  if (shape.batch * shape.m * shape.n == 0 || shape.k == 0) return "there is nothing to multiply";
  if (std::max({shape.m, shape.n, shape.k}) > std::numeric_limits<std::int32_t>::max())
    return "sizes beyond 31 bits";
  return {};
}

}  // namespace

VendorChoice ContractionKernel::choose_vendor(const choice::ContractionShape& shape, bool epilogue,
                                              int threads) const {
  return choose_vendor_threads(context_->machine(), context_->vendor_figures(), shape, threads,
                               epilogue);
}

std::optional<double> ContractionKernel::vendor_estimate(std::span<const std::int64_t> ints,
                                                         int threads) const {
  if (!context_->vendor()) return std::nullopt;
  const BoundForm& bound = forms_.front();
  const rkernel::Problem& problem = bound.form.problem;
  const choice::ContractionShape shape = shape_of(bound.form, ints);
  if (!refusal(problem, shape).empty()) return std::nullopt;
  return choose_vendor(shape, plain_output(problem, Slots(slots_, ints), shape.n) < 0, threads)
      .seconds;
}

std::optional<VendorLaunch> ContractionKernel::vendor_beside(std::span<const std::int64_t> ints,
                                                             int threads,
                                                             double own_seconds) const {
  if (!context_->vendor_beside_dyn()) return std::nullopt;
  const std::optional<double> expected = vendor_estimate(ints, threads);
  if (!expected || !vendor_pays(*expected, own_seconds)) return std::nullopt;
  std::string why_not;
  return vendor_launch(ints, threads, why_not);
}

std::optional<VendorLaunch> ContractionKernel::vendor_launch(std::span<const std::int64_t> ints,
                                                             int threads,
                                                             std::string& why_not) const {
  const std::shared_ptr<const vendor::OneDnn>& library = context_->vendor();
  if (!library) {
    why_not = context_->why_no_vendor();
    return std::nullopt;
  }
  const BoundForm& bound = forms_.front();
  const rkernel::Problem& problem = bound.form.problem;
  const rkernel::Contraction& contraction = *problem.contraction;
  VendorLaunch made;
  rkernel::Launch& launch = made.launch;
  launch.ints.assign(ints.begin(), ints.end());
  const Slots slots(slots_, ints);
  const choice::ContractionShape shape = shape_of(bound.form, ints);
  why_not = refusal(problem, shape);
  if (!why_not.empty()) return std::nullopt;

  VendorProblem wanted;
  wanted.m = shape.m;
  wanted.n = shape.n;
  wanted.k = shape.k;
  wanted.panel = context_->isa().panel_f32;
  wanted.a = {contraction.a, slots.offset(contraction.a),
              slots.stride(contraction.a, contraction.m),
              slots.stride(contraction.a, contraction.k)};
  if (shape.b_packed) {
    wanted.b.operand = contraction.b;
    wanted.weights = vendor_weights(shape);
  } else {
    wanted.b = {contraction.b, slots.offset(contraction.b),
                slots.stride(contraction.b, contraction.k),
                slots.stride(contraction.b, contraction.n)};
  }
  normalise(shape.m, shape.k, wanted.a.row, wanted.a.column);
  if (!shape.b_packed) normalise(shape.k, shape.n, wanted.b.row, wanted.b.column);
  if (!shape.b_packed && !is_matrix(shape.k, shape.n, wanted.b)) {
    why_not = "the right side's strides, of which none is 1";
    return std::nullopt;
  }
  const int output = plain_output(problem, slots, shape.n);
  const VendorChoice choice = choose_vendor(shape, output < 0, threads);
  launch.threads = choice.threads;
  if (output >= 0) {
    wanted.c = {output, slots.offset(output), slots.stride(output, contraction.m), 1};
  } else {
    rkernel::Strategy whole;
    write_merge(*context_, strategy_, shape, whole, launch.threads, launch);
    launch.ints[static_cast<std::size_t>(strategy_.k_slices)] = whole.split_k;
    launch.merge = reinterpret_cast<rkernel::KernelFunction>(addresses_.at(
        bound.first_address + bound.form.classes.size() + class_for(bound.form, slots_, ints)));
    // Dense rows; what the second stage reads beyond the last is never used.
    launch.ints[static_cast<std::size_t>(strategy_.sums_row)] = shape.n;
    wanted.c = {-1, 0, shape.n, 1};
  }
  // Sums of matrices of the batch follow each other as the second stage counts them: the last axis
  // fastest.
  std::int64_t sums = shape.m * wanted.c.row;
  const std::vector<int> axes = batch_axes(problem);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    wanted.batch.insert(
        wanted.batch.begin(),
        {slots.extent(*axis), slots.stride(contraction.a, *axis),
         slots.stride(contraction.b, *axis), output >= 0 ? slots.stride(output, *axis) : sums});
    sums *= slots.extent(*axis);
  }
  try {
    const auto plan =
        std::make_shared<const VendorPlan>(library, std::move(wanted), launch.threads);
    launch.function = VendorPlan::run;
    launch.tickets = plan->tickets();
    launch.grain = std::max<std::int64_t>(1, launch.tickets / (8 * launch.threads));
    launch.scratch_bytes = std::max(launch.scratch_bytes, plan->scratch_bytes());
    launch.kept_bytes = plan->bytes();
    made.words = plan->words();
    launch.kept = plan;
  } catch (const vendor::Unsupported& error) {
    why_not = error.what();
    return std::nullopt;
  }
  if (launch.merge != nullptr) made.words += ", then the epilogue";
  launch.predicted_seconds = choice.seconds;
  set_work(shape, bound.form, launch);
  return made;
}

std::shared_ptr<const VendorWeights> ContractionKernel::vendor_weights(
    const choice::ContractionShape& shape) const {
  const std::lock_guard lock(vendor_mutex_);
  if (!vendor_weights_) {
    vendor_weights_ = std::make_shared<const VendorWeights>(
        *context_->vendor(),
        rkernel::PackedLayout{DType::f32, context_->isa().panel_f32, shape.k, shape.n});
  }
  return vendor_weights_;
}

}  // namespace dyn::cpu
