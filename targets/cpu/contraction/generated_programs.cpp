#include "targets/cpu/contraction/generated_programs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/choice/calibration/json.hpp"
#include "src/choice/cpu/cover_select.hpp"
#include "src/choice/cpu/unused_lanes.hpp"
#include "src/rkernel/target/same_program.hpp"
#include "targets/cpu/contraction/launch.hpp"
#include "targets/cpu/contraction/words.hpp"

namespace dyn::cpu {

using choice::Choice;
using choice::ContractionShape;
using rkernel::LaneAxis;
using rkernel::Policy;

namespace {

constexpr int covers_of_pattern = 2;

class GeneratedOffer final : public ContractionOffer {
 public:
  GeneratedOffer(const GeneratedPrograms& programs, std::span<const std::int64_t> ints,
                 Choice choice)
      : programs_(programs), ints_(ints), choice_(std::move(choice)) {}
  double seconds() const override { return choice_.seconds; }
  std::optional<rkernel::Launch> launch(std::string&) const override {
    return programs_.launch(ints_, choice_);
  }

 private:
  const GeneratedPrograms& programs_;
  std::span<const std::int64_t> ints_;
  Choice choice_;
};

}  // namespace

std::unique_ptr<const ContractionOffer> GeneratedPrograms::offer(const ContractionRequest& request,
                                                                 std::string&) const {
  return std::make_unique<GeneratedOffer>(*this, request.ints, choose(request));
}

Choice GeneratedPrograms::choose_as_dyn(const ContractionRequest& request) const {
  const ContractionContext& context = forms_.context();
  Choice best;
  for (const ContractionShape& shape : forms_.shapes_of(request.ints)) {
    Choice choice = request.remembered ? context.choose(shape, request.threads)
                                       : context.choose_anew(shape, request.threads);
    if (choice.tuned) return choice;
    if (best.program.regions.empty() || choice.seconds < best.seconds) best = std::move(choice);
  }
  return best;
}

std::optional<Choice> GeneratedPrograms::choose_by_paper(const ContractionRequest& request) const {
  const PaperPolicies* policies = forms_.context().policies();
  if (request.policy == Policy::Dyn || policies == nullptr) return std::nullopt;
  std::optional<PaperChoice> best;
  for (const ContractionShape& shape : forms_.shapes_of(request.ints)) {
    if (shape.lanes == LaneAxis::K) continue;
    std::optional<PaperChoice> one = policies->choose(request.policy, shape);
    if (one && (!best || one->merit > best->merit)) best = std::move(one);
  }
  if (!best) return std::nullopt;
  return std::move(best->choice);
}

std::string GeneratedPrograms::why_none(const ContractionRequest& request) const {
  const std::vector<ContractionShape> shapes = forms_.shapes_of(request.ints);
  const auto all = [&](auto&& holds) { return std::ranges::all_of(shapes, holds); };
  std::string reason = "its micro-kernels have no figures for such operands";
  if (all([](const ContractionShape& shape) {
        return shape.batch <= 0 || shape.m <= 0 || shape.n <= 0;
      }))
    reason = "nothing is to be computed";
  else if (all([](const ContractionShape& shape) { return shape.lanes == LaneAxis::K; }))
    reason = "its paper has no kernels whose lanes run along K";
  return fmt::format("policy {} has no program for these sizes: {}", name_of(request.policy),
                     reason);
}

bool GeneratedPrograms::has_paper_choice(const ContractionRequest& request) const {
  return choose_by_paper(request).has_value();
}

Choice GeneratedPrograms::choose(const ContractionRequest& request) const {
  if (auto choice = choose_by_paper(request)) return *std::move(choice);
  return choose_as_dyn(request);
}

void GeneratedPrograms::visit_choices(const ContractionRequest& request,
                                      const VisitChoice& visit) const {
  const ContractionContext& context = forms_.context();
  for (const ContractionShape& shape : forms_.shapes_of(request.ints)) {
    const auto visit_predicted = [&](const Choice& choice) { visit(shape, choice, true); };
    if (request.policy == Policy::Dyn) {
      choice::for_each_choice(context.machine(), context.candidates(), shape, request.threads,
                              visit_predicted);
    } else if (request.policy == Policy::Oracle) {
      choice::for_each_cover(context.machine(), context.candidates(), shape, request.threads,
                             covers_of_pattern, visit_predicted);
    } else if (context.policies() != nullptr && shape.lanes != LaneAxis::K) {
      context.policies()->for_each(
          request.policy, shape,
          [&](const Choice& choice, bool predicted) { visit(shape, choice, predicted); });
    }
  }
}

void GeneratedPrograms::for_each_choice(const ContractionRequest& request,
                                        const std::function<void(const Choice&)>& visit) const {
  visit_choices({request.ints, request.threads, Policy::Dyn},
                [&](const ContractionShape&, const Choice& choice, bool) { visit(choice); });
}

ContractionShape GeneratedPrograms::shape_for(const Choice& choice,
                                              std::span<const std::int64_t> ints) const {
  const LaneAxis lanes = choice.program.regions.front().strategy.lanes;
  return forms_.shape_of(forms_.with_lanes(lanes).form, ints);
}

rkernel::Candidate GeneratedPrograms::candidate(std::span<const std::int64_t> ints,
                                                const ContractionShape& shape,
                                                const Choice& considered) const {
  const Choice choice = canonical(forms_.context().isa(), shape, considered);
  return {words_of(shape, choice), considered.seconds, launch(ints, choice), [shape, choice] {
            return rkernel::ModelInput{nlohmann::json(shape).dump(), nlohmann::json(choice).dump()};
          }};
}

rkernel::Choices GeneratedPrograms::candidates(const ContractionRequest& request) const {
  rkernel::Choices result;
  const auto add = [&](const ContractionShape& shape, const Choice& considered, bool predicted) {
    rkernel::Candidate made = candidate(request.ints, shape, considered);
    const auto known = std::ranges::find_if(result.candidates, [&](const rkernel::Candidate& one) {
      return rkernel::same_program(one.launch, made.launch);
    });
    const auto place = static_cast<std::size_t>(known - result.candidates.begin());
    if (!predicted) made.predicted_seconds.reset();
    const std::optional<double> seconds = made.predicted_seconds;
    if (known == result.candidates.end()) {
      result.candidates.push_back(std::move(made));
    } else if (seconds) {
      // Micro-kernels that are too large for the sizes run as a smaller one does: what the policy
      // takes it for is the best of them.
      known->predicted_seconds = std::min(*known->predicted_seconds, *seconds);
    }
    return place;
  };
  visit_choices(request, [&](const ContractionShape& shape, const Choice& choice, bool predicted) {
    add(shape, choice, predicted);
  });
  if (result.candidates.empty()) {
    result.none_reason = why_none(request);
    return result;
  }
  // The memory of choices holds what plans ask for, not what is compared.
  const Choice chosen = choose({request.ints, request.threads, request.policy, false});
  result.chosen = add(shape_for(chosen, request.ints), chosen,
                      result.candidates.front().predicted_seconds.has_value());
  return result;
}

rkernel::Launch GeneratedPrograms::launch(std::span<const std::int64_t> ints,
                                          const Choice& choice) const {
  const ContractionContext& context = forms_.context();
  const rkernel::Strategy& strategy = choice.program.regions.front().strategy;
  const BoundForm& bound = forms_.with_lanes(strategy.lanes);
  const ContractionShape shape = forms_.shape_of(bound.form, ints);
  rkernel::Launch launch;
  launch.ints.assign(ints.begin(), ints.end());
  write_program(context, forms_.strategy_slots(), shape, choice.program, launch);
  forms_.set_functions(bound, ints, launch);
  launch.function = forms_.function(bound, ints);
  if (strategy.split_k > 1 && launch.tickets > 0) {
    write_merge(context, forms_.strategy_slots(), shape, strategy, choice.threads, launch);
    launch.merge = forms_.second_stage(bound, ints);
  }
  launch.threads = choice.threads;
  // Batches of small matrices have many tickets: several at a time keep the counter cheap, and the
  // last ones balanced.
  launch.grain = std::max<std::int64_t>(
      1, launch.tickets / (context.machine().fitted.grains_per_thread * choice.threads));
  launch.predicted_seconds = choice.seconds;
  launch.unused_lanes = choice::unused_lanes(context.machine(), shape, choice.program);
  set_work(shape, bound.form, launch);
  return launch;
}

std::string GeneratedPrograms::describe(std::span<const std::int64_t> ints, const Choice& choice,
                                        bool chosen) const {
  const ContractionShape shape = shape_for(choice, ints);
  return fmt::format("  {} {:.4g} us{}: {}\n{}", chosen ? "chosen" : "      ", choice.seconds * 1e6,
                     choice.tuned ? " measured by the tuner" : "", words_of(shape, choice),
                     terms_of(forms_.context().machine(), shape, choice));
}

}  // namespace dyn::cpu
