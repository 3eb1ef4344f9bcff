#include "targets/cpu/contraction/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/choice/calibration/json.hpp"
#include "targets/cpu/tile/dot_loop.hpp"
#include "targets/cpu/tile/main_loop.hpp"
#include "targets/cpu/tuning/contraction_space.hpp"
#include "targets/cpu/vendor/cost.hpp"

namespace dyn::cpu {

using rkernel::Policy;

namespace {

std::optional<rkernel::Launch> launch_by(const ContractionProvider& provider,
                                         const ContractionRequest& request) {
  std::string why_not;
  const auto offer = provider.offer(request, why_not);
  return offer ? offer->launch(why_not) : std::nullopt;
}

std::string line_of(const rkernel::Candidate& candidate, bool chosen) {
  return fmt::format("  {} {:.4g} us: {}\n", chosen ? "chosen" : "      ",
                     *candidate.predicted_seconds * 1e6, candidate.program);
}

}  // namespace

ContractionKernel::ContractionKernel(const rkernel::Problem& problem,
                                     std::shared_ptr<const ContractionContext> context,
                                     std::size_t constant_level)
    : forms_(problem, std::move(context), constant_level),
      own_(forms_),
      library_(forms_.context().library().provider_for(forms_)) {}

ContractionKernel::Draft ContractionKernel::draft(const rkernel::Problem& problem,
                                                  std::shared_ptr<const ContractionContext> context,
                                                  std::size_t constant_level) {
  return Draft(std::unique_ptr<ContractionKernel>(
      new ContractionKernel(problem, std::move(context), constant_level)));
}

std::optional<rkernel::Launch> ContractionKernel::library_beside(const ContractionRequest& request,
                                                                 double own_seconds) const {
  if (!context().library_beside_dyn()) return std::nullopt;
  std::string why_not;
  const auto offer = library_->offer(request, why_not);
  if (!offer || !vendor_pays(offer->seconds(), own_seconds)) return std::nullopt;
  return offer->launch(why_not);
}

rkernel::Launch ContractionKernel::plan(const rkernel::PlanRequest& request) const {
  const std::vector<std::int64_t> ints = forms_.slots().evaluate(request.symbols);
  const ContractionRequest wanted{ints, request.threads, context().policy()};
  if (wanted.policy == Policy::Vendor) {
    if (auto launch = launch_by(*library_, wanted)) return *std::move(launch);
  }
  const choice::Choice own = own_.choose(wanted);
  if (wanted.policy == Policy::Dyn) {
    if (auto launch = library_beside(wanted, own.seconds)) return *std::move(launch);
  }
  return own_.launch(ints, own);
}

rkernel::Launch ContractionKernel::launch_with(const rkernel::PlanRequest& request,
                                               const choice::Choice& choice) const {
  return own_.launch(forms_.slots().evaluate(request.symbols), choice);
}

void ContractionKernel::for_each_choice(
    const rkernel::PlanRequest& request,
    const std::function<void(const choice::Choice&)>& visit) const {
  const std::vector<std::int64_t> ints = forms_.slots().evaluate(request.symbols);
  own_.for_each_choice({ints, request.threads, Policy::Dyn}, visit);
}

std::string ContractionKernel::model_machine() const {
  return nlohmann::json(context().machine()).dump();
}

std::string ContractionKernel::machine_name() const { return context().machine().name; }

std::unique_ptr<const rkernel::ProgramSpace> ContractionKernel::program_space(
    const rkernel::PlanRequest& request) const {
  return make_program_space(forms_, own_, request);
}

void ContractionKernel::choose_only(const rkernel::PlanRequest& request, Policy policy,
                                    bool remembered) const {
  const std::vector<std::int64_t> ints = forms_.slots().evaluate(request.symbols);
  const ContractionRequest wanted{ints, request.threads, policy, remembered};
  if (policy == Policy::Vendor) {
    launch_by(*library_, wanted);
    return;
  }
  const choice::Choice own = own_.choose(wanted);
  if (policy == Policy::Dyn) library_beside(wanted, own.seconds);
}

rkernel::Choices ContractionKernel::choices(const rkernel::PlanRequest& request,
                                            Policy policy) const {
  const std::vector<std::int64_t> ints = forms_.slots().evaluate(request.symbols);
  const ContractionRequest wanted{ints, request.threads, policy, false};
  if (policy == Policy::Vendor) return library_->candidates(wanted);
  rkernel::Choices result = own_.candidates(wanted);
  const bool beside = policy == Policy::Dyn && context().library_beside_dyn();
  if (!beside || result.candidates.empty()) return result;
  const double own_seconds = own_.choose(wanted).seconds;
  rkernel::Choices library = library_->candidates(wanted);
  for (rkernel::Candidate& candidate : library.candidates) {  // at most one
    if (vendor_pays(*candidate.predicted_seconds, own_seconds))
      result.chosen = result.candidates.size();
    result.candidates.push_back(std::move(candidate));
  }
  return result;
}

std::string ContractionKernel::explain_sizes(const ContractionRequest& request,
                                             std::size_t candidates) const {
  const choice::ContractionShape shape = forms_.shape_of(forms_.front().form, request.ints);
  const std::vector<choice::MemoryLevel>& levels = context().machine().levels;
  return fmt::format("  batch {} M {} N {} K {}; A from {}, B from {} ({}); {} candidates\n",
                     shape.batch, shape.m, shape.n, shape.k, levels[shape.a_level].name,
                     levels[shape.b_level].name, shape.b_packed ? "packed at load" : "fresh",
                     candidates);
}

std::string ContractionKernel::explain(const rkernel::PlanRequest& request) const {
  constexpr std::size_t shown = 8;
  const std::vector<std::int64_t> ints = forms_.slots().evaluate(request.symbols);
  const ContractionRequest wanted{ints, request.threads, context().policy()};
  std::vector<choice::Choice> candidates;
  own_.for_each_choice(wanted, [&](const choice::Choice& one) { candidates.push_back(one); });
  std::ranges::stable_sort(candidates, {}, &choice::Choice::seconds);
  std::string text = explain_sizes(wanted, candidates.size());
  if (wanted.policy == Policy::Vendor) {
    const rkernel::Choices library = library_->candidates(wanted);
    if (!library.candidates.empty())
      return text + "  by policy vendor\n" + line_of(library.candidates.front(), true);
    text += fmt::format("  policy vendor has none: {}\n", library.none_reason);
  }
  const choice::Choice own = own_.choose(wanted);
  bool is_own = wanted.policy == Policy::Dyn && !own.tuned;
  if (rkernel::uses_micro_kernels(wanted.policy) && wanted.policy != Policy::Oracle &&
      !own_.has_paper_choice(wanted)) {
    text += fmt::format("  {}; dyn's own choice runs\n{}", own_.why_none(wanted),
                        own_.describe(ints, own, true));
  } else if (own.tuned) {
    text += "  by the tuning file\n" + own_.describe(ints, own, true);
  } else if (!is_own) {
    const PaperPolicies* policies = context().policies();
    const bool tuned =
        policies != nullptr && policies->is_tuned(wanted.policy, own_.shape_for(own, wanted.ints));
    text += fmt::format("  by policy {}{}{}\n{}", name_of(wanted.policy), basis_of(wanted.policy),
                        tuned ? ", micro-kernels of the tuning file" : "",
                        own_.describe(ints, own, true));
  } else if (context().library_beside_dyn()) {
    const rkernel::Choices library = library_->candidates(wanted);
    if (library.candidates.empty())
      text += fmt::format("  no program of the vendor's: {}\n", library.none_reason);
    for (const rkernel::Candidate& candidate : library.candidates) {  // at most one
      is_own = !vendor_pays(*candidate.predicted_seconds, own.seconds);
      text += line_of(candidate, !is_own);
    }
  }
  for (std::size_t i = 0; i < std::min(candidates.size(), shown); ++i) {
    const bool chosen =
        is_own && candidates[i].threads == own.threads && candidates[i].program == own.program;
    text += own_.describe(ints, candidates[i], chosen);
  }
  return text;
}

std::vector<rkernel::CodeListing> ContractionKernel::listings_at(
    const rkernel::PlanRequest& request) const {
  const codegen::Isa& isa = context().isa();
  const rkernel::Launch launch = plan(request);
  auto listings = forms_.list_launched(launch);
  if (listings.empty() || launch.kept != nullptr) return listings;
  const std::vector<std::int64_t> ints = forms_.slots().evaluate(request.symbols);
  const choice::Choice choice = own_.choose({ints, request.threads, context().policy()});
  std::set<std::pair<int, int>> listed;
  for (const rkernel::Region& region : choice.program.regions) {
    const rkernel::Strategy& strategy = region.strategy;
    if (!listed.emplace(strategy.tile_rows, strategy.tile_columns).second) continue;
    const choice::ContractionShape shape =
        forms_.shape_of(forms_.with_lanes(strategy.lanes).form, ints);
    auto loop =
        strategy.lanes == rkernel::LaneAxis::K
            ? list_dot_loop(isa, {strategy.tile_rows, static_cast<int>(shape.n)})
            : list_main_loop(isa, {strategy.tile_rows, strategy.tile_columns}, shape.factors());
    if (loop) listings.push_back(std::move(*loop));
  }
  return listings;
}

std::string ContractionKernel::describe() const {
  std::string text = rkernel::to_string(contraction_rkernel(
      forms_.front().form.problem, context().isa(), context().machine().threads, false));
  for (const codegen::KernelSource& source : sources()) text += "class " + source.key + "\n";
  return text;
}

}  // namespace dyn::cpu
