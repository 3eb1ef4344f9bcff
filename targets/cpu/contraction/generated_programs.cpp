// Choosing for a contraction: by policy, and all that could be chosen.

#include <fmt/format.h>

#include <algorithm>

#include "src/choice/calibration/json.hpp"
#include "src/choice/cpu/cover_select.hpp"
#include "src/rkernel/target/same_program.hpp"
#include "targets/cpu/contraction/kernel.hpp"
#include "targets/cpu/contraction/words.hpp"

namespace dyn::cpu {

using choice::Choice;
using choice::ContractionShape;
using rkernel::LaneAxis;
using rkernel::Policy;

namespace {

constexpr int covers_of_pattern = 2;

}  // namespace

Choice ContractionKernel::choose_as_dyn(std::span<const std::int64_t> ints, int threads,
                                        bool remembered) const {
  Choice best;
  for (const ContractionShape& shape : shapes_of(ints)) {
    Choice choice =
        remembered ? context_->choose(shape, threads)
                   : choice::select(context_->machine(), context_->candidates(), shape, threads);
    if (best.program.regions.empty() || choice.seconds < best.seconds) best = std::move(choice);
  }
  return best;
}

std::optional<Choice> ContractionKernel::choose_by_paper(std::span<const std::int64_t> ints,
                                                         Policy policy) const {
  const PolicyBook* book = context_->policies();
  if (policy == Policy::Dyn || book == nullptr) return std::nullopt;
  std::optional<Choice> best;
  double best_merit = 0;
  for (const ContractionShape& shape : shapes_of(ints)) {
    if (shape.lanes == LaneAxis::K) continue;
    Choice choice;
    double merit = 0;
    if (!book->choose(policy, shape, choice, merit) || (best && merit <= best_merit)) continue;
    best = std::move(choice);
    best_merit = merit;
  }
  return best;
}

Choice ContractionKernel::choose(std::span<const std::int64_t> ints, int threads, Policy policy,
                                 bool remembered) const {
  if (auto choice = choose_by_paper(ints, policy)) return *std::move(choice);
  return choose_as_dyn(ints, threads, remembered);
}

void ContractionKernel::choose_only(const rkernel::PlanRequest& request, Policy policy,
                                    bool remembered) const {
  const std::vector<std::int64_t> ints = slots_.evaluate(request.symbols);
  if (policy == Policy::Vendor) {
    vendor_choices(ints, request.threads);
    return;
  }
  const Choice own = choose(ints, request.threads, policy, remembered);
  if (policy == Policy::Dyn) vendor_beside(ints, request.threads, own.seconds);
}

void ContractionKernel::for_each_choice(const rkernel::PlanRequest& request, Policy policy,
                                        const VisitChoice& visit) const {
  const choice::Machine& machine = context_->machine();
  for (const ContractionShape& shape : shapes_of(slots_.evaluate(request.symbols))) {
    if (policy == Policy::Dyn) {
      choice::for_each_choice(machine, context_->candidates(), shape, request.threads,
                              [&](const Choice& choice) { visit(shape, choice, true); });
    } else if (policy == Policy::Oracle) {
      choice::for_each_cover(machine, context_->candidates(), shape, request.threads,
                             covers_of_pattern,
                             [&](const Choice& choice) { visit(shape, choice, true); });
    } else if (context_->policies() != nullptr && shape.lanes != LaneAxis::K) {
      context_->policies()->for_each(policy, shape, [&](const Choice& choice, bool predicted) {
        visit(shape, choice, predicted);
      });
    }
  }
}

void ContractionKernel::for_each_choice(const rkernel::PlanRequest& request,
                                        const std::function<void(const Choice&)>& visit) const {
  for_each_choice(request, Policy::Dyn,
                  [&](const ContractionShape&, const Choice& choice, bool) { visit(choice); });
}

ContractionShape ContractionKernel::shape_with(LaneAxis lanes,
                                               std::span<const std::int64_t> ints) const {
  return shape_of(form_with(lanes).form, ints);
}

rkernel::Choices ContractionKernel::vendor_choices(std::span<const std::int64_t> ints,
                                                   int threads) const {
  rkernel::Choices result;
  if (auto made = vendor_launch(ints, threads, result.none_reason)) {
    const double seconds = made->launch.predicted_seconds;
    result.candidates.push_back({std::move(made->words), seconds, std::move(made->launch)});
  }
  return result;
}

rkernel::Choices ContractionKernel::choices(const rkernel::PlanRequest& request,
                                            Policy policy) const {
  const std::vector<std::int64_t> ints = slots_.evaluate(request.symbols);
  if (policy == Policy::Vendor) return vendor_choices(ints, request.threads);
  rkernel::Choices result;
  const auto add = [&](const ContractionShape& shape, const Choice& considered, bool predicted) {
    const Choice choice = canonical(context_->isa(), shape, considered);
    rkernel::Launch launch = launch_with(ints, choice);
    const auto known = std::ranges::find_if(result.candidates, [&](const rkernel::Candidate& one) {
      return rkernel::same_program(one.launch, launch);
    });
    const auto place = static_cast<std::size_t>(known - result.candidates.begin());
    const auto seconds = predicted ? std::optional(considered.seconds) : std::nullopt;
    if (known == result.candidates.end()) {
      result.candidates.push_back({words_of(shape, choice), seconds, std::move(launch),
                                   nlohmann::json(shape).dump(), nlohmann::json(choice).dump()});
    } else if (seconds) {
      // Micro-kernels that are too large for the sizes run as a smaller one does: what the policy
      // takes it for is the best of them.
      known->predicted_seconds = std::min(*known->predicted_seconds, *seconds);
    }
    return place;
  };
  for_each_choice(request, policy,
                  [&](const ContractionShape& shape, const Choice& choice, bool predicted) {
                    add(shape, choice, predicted);
                  });
  if (result.candidates.empty()) {
    result.none_reason = fmt::format("policy {} has no program for these sizes", name_of(policy));
    return result;
  }
  const Choice chosen = choose(ints, request.threads, policy, false);
  result.chosen = add(shape_with(chosen.program.regions.front().strategy.lanes, ints), chosen,
                      result.candidates.front().predicted_seconds.has_value());
  if (policy == Policy::Dyn && context_->vendor_beside_dyn()) {
    rkernel::Choices vendors = vendor_choices(ints, request.threads);
    for (rkernel::Candidate& candidate : vendors.candidates) {  // at most one
      if (vendor_pays(*candidate.predicted_seconds, chosen.seconds))
        result.chosen = result.candidates.size();
      result.candidates.push_back(std::move(candidate));
    }
  }
  return result;
}

bool ContractionKernel::explain_vendor(std::span<const std::int64_t> ints, int threads,
                                       double own_seconds, std::string& text) const {
  if (!context_->vendor_beside_dyn()) return false;
  std::string why_not;
  const auto made = vendor_launch(ints, threads, why_not);
  if (!made) {
    text += fmt::format("  no program of the vendor's: {}\n", why_not);
    return false;
  }
  const bool taken = vendor_pays(made->launch.predicted_seconds, own_seconds);
  text += fmt::format("  {} {:.4g} us: {}\n", taken ? "chosen" : "      ",
                      made->launch.predicted_seconds * 1e6, made->words);
  return taken;
}

std::string ContractionKernel::model_machine() const {
  return nlohmann::json(context_->machine()).dump();
}

std::string ContractionKernel::explain(const rkernel::PlanRequest& request) const {
  constexpr std::size_t shown = 8;
  const std::vector<std::int64_t> ints = slots_.evaluate(request.symbols);
  const std::vector<ContractionShape> shapes = shapes_of(ints);
  const ContractionShape& shape = shapes.front();
  const choice::Machine& machine = context_->machine();
  const Policy policy = context_->policy();
  const Choice choice = choose(ints, request.threads, policy, true);
  std::vector<Choice> candidates;
  for_each_choice(request, [&](const Choice& candidate) { candidates.push_back(candidate); });
  std::ranges::stable_sort(candidates, {}, &Choice::seconds);
  std::string text = fmt::format(
      "  batch {} M {} N {} K {}; A from {}, B from {} ({}); {} candidates\n", shape.batch, shape.m,
      shape.n, shape.k, machine.levels[shape.a_level].name, machine.levels[shape.b_level].name,
      shape.b_packed ? "packed at load" : "fresh", candidates.size());
  const auto describe = [&](const Choice& of, bool chosen) {
    const ContractionShape of_shape = shape_with(of.program.regions.front().strategy.lanes, ints);
    text += fmt::format("  {} {:.4g} us: {}\n{}", chosen ? "chosen" : "      ", of.seconds * 1e6,
                        words_of(of_shape, of), terms_of(machine, of_shape, of));
  };
  std::string why_not;
  if (policy == Policy::Vendor) {
    if (const auto made = vendor_launch(ints, request.threads, why_not)) {
      return text + fmt::format("  by policy vendor\n  chosen {:.4g} us: {}\n",
                                made->launch.predicted_seconds * 1e6, made->words);
    }
    text += fmt::format("  policy vendor has none: {}\n", why_not);
  }
  if (policy != Policy::Dyn)
    text += fmt::format("  by policy {}\n", name_of(policy)), describe(choice, true);
  const bool is_own =
      policy == Policy::Dyn && !explain_vendor(ints, request.threads, choice.seconds, text);
  for (std::size_t i = 0; i < std::min(candidates.size(), shown); ++i) {
    describe(candidates[i], is_own && candidates[i].threads == choice.threads &&
                                candidates[i].program == choice.program);
  }
  return text;
}

}  // namespace dyn::cpu
