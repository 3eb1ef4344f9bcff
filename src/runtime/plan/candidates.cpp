#include "src/runtime/plan/candidates.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/rkernel/target/same_program.hpp"

namespace dyn::runtime {
namespace {

std::size_t hash_of(const rkernel::Launch& launch) {
  std::size_t hash = std::hash<std::int64_t>()(launch.tickets);
  const auto mix = [&](std::size_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u + (hash >> 29);
  };
  mix(reinterpret_cast<std::size_t>(launch.function));
  mix(reinterpret_cast<std::size_t>(launch.grid.function));
  for (const std::int64_t value : launch.ints) mix(static_cast<std::size_t>(value));
  return hash;
}

/// Finds the place of a program in the union, or makes one.
class Union {
 public:
  explicit Union(std::vector<rkernel::Candidate>& programs) : programs_(programs) {}

  std::size_t add(rkernel::Candidate&& candidate) {
    const std::size_t hash = hash_of(candidate.launch);
    const auto [first, last] = places_.equal_range(hash);
    for (auto place = first; place != last; ++place) {
      if (rkernel::same_program(programs_[place->second].launch, candidate.launch))
        return place->second;
    }
    places_.emplace(hash, programs_.size());
    programs_.push_back(std::move(candidate));
    return programs_.size() - 1;
  }

 private:
  std::vector<rkernel::Candidate>& programs_;
  std::unordered_multimap<std::size_t, std::size_t> places_;
};

}  // namespace

CandidateUnion unite(std::vector<std::pair<rkernel::Policy, rkernel::Choices>> all) {
  CandidateUnion result;
  Union programs(result.programs);
  for (auto& [policy, choices] : all) {
    PolicyView view{policy, {}, std::nullopt, std::nullopt, std::move(choices.none_reason)};
    if (!choices.candidates.empty() && choices.chosen >= choices.candidates.size()) {
      throw Error(ErrorKind::internal,
                  fmt::format("policy {} chooses number {} of {} programs", name_of(policy),
                              choices.chosen, choices.candidates.size()));
    }
    for (std::size_t i = 0; i < choices.candidates.size(); ++i) {
      const std::optional<double> predicted = choices.candidates[i].predicted_seconds;
      const std::size_t place = programs.add(std::move(choices.candidates[i]));
      view.considered.push_back(place);
      if (i != choices.chosen) continue;
      view.chosen = place;
      view.predicted_seconds = predicted;
    }
    std::vector<bool> seen(result.programs.size());
    std::erase_if(view.considered, [&](std::size_t place) {
      const bool again = seen[place];
      seen[place] = true;
      return again;
    });
    if (policy != rkernel::Policy::Oracle) result.policies.push_back(std::move(view));
  }
  return result;
}

CandidateUnion candidates_of(const rkernel::Kernel& kernel, const rkernel::PlanRequest& request,
                             std::span<const rkernel::Policy> policies) {
  std::vector<std::pair<rkernel::Policy, rkernel::Choices>> choices;
  for (const rkernel::Policy policy : policies)
    choices.emplace_back(policy, kernel.choices(request, policy));
  return unite(std::move(choices));
}

CandidateUnion all_candidates(const rkernel::Kernel& kernel, const rkernel::PlanRequest& request) {
  std::vector<rkernel::Policy> policies;
  for (const rkernel::PolicyInfo& info : rkernel::all_policies()) policies.push_back(info.policy);
  return candidates_of(kernel, request, policies);
}

rkernel::Choices choices_of_run(const rkernel::Kernel& kernel, const rkernel::PlanRequest& request,
                                rkernel::Policy policy) {
  if (policy == rkernel::Policy::Oracle) return {all_candidates(kernel, request).programs, 0, {}};
  rkernel::Choices choices = kernel.choices(request, policy);
  if (choices.candidates.empty() && policy != rkernel::Policy::Dyn)
    choices = kernel.choices(request, rkernel::Policy::Dyn);
  return choices;
}

std::string program_of(const rkernel::Choices& choices, const rkernel::Launch& launch) {
  if (choices.candidates.empty()) return {};
  const auto runs = std::ranges::find_if(choices.candidates, [&](const auto& candidate) {
    return rkernel::same_program(candidate.launch, launch);
  });
  return runs != choices.candidates.end() ? runs->program
                                          : choices.candidates[choices.chosen].program;
}

}  // namespace dyn::runtime
