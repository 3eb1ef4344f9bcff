#include "targets/cpu/vendor/provider.hpp"

#include <algorithm>
#include <limits>

#include "targets/cpu/contraction/launch.hpp"

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

/// Why oneDNN gets no product of this shape; empty: it may.
std::string refusal(const rkernel::Problem& problem, const choice::ContractionShape& shape) {
  const rkernel::Contraction& contraction = *problem.contraction;
  for (const int operand : {contraction.a, contraction.b}) {
    if (!is_plain(problem.operands[static_cast<std::size_t>(operand)]))
      return "an operand is narrow, padded, gathered or of windows";
  }
  if (contraction.a_value >= 0 || contraction.b_value >= 0) return "a factor is computed";
  if (shape.right_sides > 1) return "several products have one epilogue";
  if (shape.batch * shape.m * shape.n == 0 || shape.k == 0) return "there is nothing to multiply";
  if (std::max({shape.m, shape.n, shape.k}) > std::numeric_limits<std::int32_t>::max())
    return "sizes beyond 31 bits";
  return {};
}

}  // namespace

class OneDnnProvider::Offer final : public ContractionOffer {
 public:
  Offer(const OneDnnProvider& provider, const ContractionRequest& request, Chosen chosen)
      : provider_(provider), request_(request), chosen_(std::move(chosen)) {}
  double seconds() const override { return chosen_.dealt.seconds; }
  std::optional<rkernel::Launch> launch(std::string& why_not) const override {
    auto made = provider_.make(request_, chosen_, why_not);
    if (!made) return std::nullopt;
    return std::move(made->launch);
  }

 private:
  const OneDnnProvider& provider_;
  ContractionRequest request_;
  Chosen chosen_;
};

std::optional<OneDnnProvider::Chosen> OneDnnProvider::choose(const ContractionRequest& request,
                                                             std::string& why_not) const {
  const ContractionContext& context = forms_.context();
  if (!vendor_.library) {
    why_not = vendor_.why_not;
    return std::nullopt;
  }
  const ContractionForm& form = forms_.front().form;
  const choice::ContractionShape shape = forms_.shape_of(form, request.ints);
  why_not = refusal(form.problem, shape);
  if (!why_not.empty()) return std::nullopt;
  const int output = plain_output(form.problem, Slots(forms_.slots(), request.ints), shape.n);
  return Chosen{shape, output,
                choose_vendor_threads(context.machine(), vendor_.figures, shape, request.threads,
                                      output < 0)};
}

std::unique_ptr<const ContractionOffer> OneDnnProvider::offer(const ContractionRequest& request,
                                                              std::string& why_not) const {
  auto chosen = choose(request, why_not);
  return chosen ? std::make_unique<const Offer>(*this, request, *std::move(chosen)) : nullptr;
}

rkernel::Choices OneDnnProvider::candidates(const ContractionRequest& request) const {
  rkernel::Choices result;
  const auto chosen = choose(request, result.none_reason);
  if (!chosen) return result;
  if (auto made = make(request, *chosen, result.none_reason))
    result.candidates.push_back(*std::move(made));
  return result;
}

VendorProblem OneDnnProvider::problem_of(const ContractionRequest& request,
                                         const Chosen& chosen) const {
  const rkernel::Problem& problem = forms_.front().form.problem;
  const rkernel::Contraction& contraction = *problem.contraction;
  const Slots slots(forms_.slots(), request.ints);
  const choice::ContractionShape& shape = chosen.shape;
  VendorProblem wanted;
  wanted.m = shape.m;
  wanted.n = shape.n;
  wanted.k = shape.k;
  wanted.panel = forms_.context().isa().panel_f32;
  wanted.a = {contraction.a, slots.offset(contraction.a),
              slots.stride(contraction.a, contraction.m),
              slots.stride(contraction.a, contraction.k)};
  normalise(shape.m, shape.k, wanted.a.row, wanted.a.column);
  if (shape.b_packed) {
    wanted.b.operand = contraction.b;
    wanted.weights = weights(shape);
  } else {
    wanted.b = {contraction.b, slots.offset(contraction.b),
                slots.stride(contraction.b, contraction.k),
                slots.stride(contraction.b, contraction.n)};
    normalise(shape.k, shape.n, wanted.b.row, wanted.b.column);
  }
  // Dense rows, where a second stage follows; what it reads beyond the last is never used.
  const int output = chosen.output;
  wanted.c = output >= 0 ? VendorOperand{output, slots.offset(output),
                                         slots.stride(output, contraction.m), 1}
                         : VendorOperand{-1, 0, shape.n, 1};
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
  return wanted;
}

std::optional<rkernel::Candidate> OneDnnProvider::make(const ContractionRequest& request,
                                                       const Chosen& chosen,
                                                       std::string& why_not) const {
  const BoundForm& bound = forms_.front();
  const choice::ContractionShape& shape = chosen.shape;
  VendorProblem problem = problem_of(request, chosen);
  if (!shape.b_packed && !is_matrix(shape.k, shape.n, problem.b)) {
    why_not = "the right side's strides, of which none is 1";
    return std::nullopt;
  }
  rkernel::Launch launch;
  launch.ints.assign(request.ints.begin(), request.ints.end());
  launch.threads = chosen.dealt.threads;
  if (chosen.output < 0) {
    const StrategySlots& slots = forms_.strategy_slots();
    const rkernel::Strategy whole;
    write_merge(forms_.context(), slots, shape, whole, launch.threads, launch);
    launch.ints[static_cast<std::size_t>(slots.sums_row)] = problem.c.row;
    forms_.set_functions(bound, request.ints, launch);
    launch.merge = forms_.second_stage(bound, request.ints);
  }
  std::string words;
  try {
    const auto plan =
        std::make_shared<const VendorPlan>(vendor_.library, std::move(problem), launch.threads);
    launch.function = VendorPlan::run;
    launch.tickets = plan->tickets();
    launch.grain = std::max<std::int64_t>(1, launch.tickets / (8 * launch.threads));
    launch.scratch_bytes = std::max(launch.scratch_bytes, plan->scratch_bytes());
    launch.kept_bytes = plan->bytes();
    words = plan->words();
    launch.kept = plan;
  } catch (const vendor::Unsupported& error) {
    why_not = error.what();
    return std::nullopt;
  }
  if (launch.merge != nullptr) words += ", then the epilogue";
  launch.predicted_seconds = chosen.dealt.seconds;
  set_work(shape, bound.form, launch);
  return rkernel::Candidate{std::move(words), chosen.dealt.seconds, std::move(launch)};
}

std::shared_ptr<const VendorWeights> OneDnnProvider::weights(
    const choice::ContractionShape& shape) const {
  const std::lock_guard lock(mutex_);
  if (!weights_) {
    weights_ = std::make_shared<const VendorWeights>(
        *vendor_.library,
        rkernel::PackedLayout{DType::f32, forms_.context().isa().panel_f32, shape.k, shape.n});
  }
  return weights_;
}

}  // namespace dyn::cpu
