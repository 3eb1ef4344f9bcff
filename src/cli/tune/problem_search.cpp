#include "src/cli/tune/problem_search.hpp"

#include <algorithm>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dyn/error.hpp"
#include "src/base/clock.hpp"
#include "src/base/statistics.hpp"
#include "src/rkernel/target/same_program.hpp"

namespace dyn::cli {
namespace {

constexpr int rounds_of_batch = 3;
constexpr double hopeless_ratio = 2;   // after one round: not worth another
constexpr double long_in_slices = 20;  // one round of a batch is enough
constexpr std::size_t most_finalists = 5;

/// `programs` must outlive it.
tune::Space space_of(const rkernel::ProgramSpace& programs) {
  tune::Space space;
  for (const rkernel::ProgramSpace::Axis& axis : programs.axes())
    space.parameters.push_back({axis.name, axis.values, axis.ordered});
  space.allowed = [&programs](const tune::Values& point) { return programs.allows(point); };
  space.fits = [&programs](const tune::Values& point) { return programs.fits(point); };
  space.unmet = [&programs](const tune::Values& point) { return programs.unmet(point); };
  space.seeds = programs.seeds();
  return space;
}

rkernel::Candidate own_choice(const rkernel::Kernel& kernel, const rkernel::PlanRequest& request,
                              const std::string& name) {
  rkernel::Choices choices = kernel.choices(request, rkernel::Policy::Dyn);
  if (choices.candidates.empty())
    throw Error(ErrorKind::unsupported, fmt::format("{}: {}", name, choices.none_reason));
  return std::move(choices.candidates.at(choices.chosen));
}

std::vector<tune::Trial> trials_of(const runtime::TunedProblem& known) {
  std::vector<tune::Trial> trials;
  for (const runtime::TunedProblem::Trial& trial : known.trials)
    trials.push_back({trial.point, trial.ratio});
  return trials;
}

}  // namespace

ProblemSearch::ProblemSearch(const SearchSettings& settings, std::string name,
                             const rkernel::Kernel& kernel, const rkernel::PlanRequest& request,
                             ProgramTimer* timer, const runtime::TunedProblem* known)
    : settings_(settings),
      kernel_(kernel),
      timer_(timer),
      programs_(kernel_.program_space(request)),
      own_(own_choice(kernel, request, name)) {
  if (!programs_ || !own_.model_input)
    throw Error(ErrorKind::unsupported, name + ": there is one way to run it");
  space_ = space_of(*programs_);
  problem_.name = std::move(name);
  problem_.threads = request.threads;
  problem_.sizes = own_.model_input().sizes;
  if (timer_ != nullptr) seen_.emplace_back(own_.launch, 1);
  for (const tune::Parameter& parameter : space_.parameters)
    problem_.axes.push_back(parameter.name);
  std::unique_ptr<tune::Search> search =
      tune::make_search(settings_.method, space_, settings_.seed);
  if (known == nullptr) {
    session_.emplace(space_, std::move(search));
    return;
  }
  try {
    if (nlohmann::json::parse(known->sizes) != nlohmann::json::parse(problem_.sizes) ||
        known->axes != problem_.axes)
      throw Error(ErrorKind::user, "the file has another problem of that name");
    session_.emplace(space_, std::move(search), trials_of(*known));
  } catch (const Error& error) { throw error.within("resuming " + problem_.name); }
  problem_.spent_seconds = known->spent_seconds;
  problem_.own = known->own;
  problem_.best = known->best;
  problem_.program = known->program;
  problem_.scored = known->scored;
  write_trials();
  if (timer_ == nullptr) return;
  for (const tune::Trial& trial : session_->trials())
    seen_.emplace_back(programs_->program(trial.values).launch, trial.value);
}

bool ProblemSearch::has_budget() const {
  const TuneBudget& budget = settings_.budget;
  if (budget.programs)
    return session_->trials().size() < static_cast<std::size_t>(*budget.programs);
  return problem_.spent_seconds < *budget.seconds;
}

std::size_t ProblemSearch::left() const {
  if (!settings_.budget.programs) return std::numeric_limits<std::size_t>::max();
  return static_cast<std::size_t>(*settings_.budget.programs) - session_->trials().size();
}

void ProblemSearch::run() {
  const std::size_t before = session_->trials().size();
  while (has_budget() && !settings_.stops()) {
    const Clock::time_point start = Clock::now();
    const bool goes_on = session_->step(
        left(), [this](const std::vector<tune::Values>& points) { return evaluate(points); });
    problem_.spent_seconds += seconds_since(start);
    write_trials();
    settings_.progress();
    if (!goes_on) break;
  }
  if (session_->trials().size() > before) problem_.scored = false;
  if (problem_.scored || session_->trials().empty()) return;
  if (timer_ != nullptr && !settings_.stops())
    compare();
  else
    compare_trials();
}

void ProblemSearch::write_trials() {
  for (std::size_t i = problem_.trials.size(); i < session_->trials().size(); ++i) {
    const tune::Trial& trial = session_->trials()[i];
    problem_.trials.push_back({trial.values, trial.value});
  }
}

std::vector<double> ProblemSearch::evaluate(const std::vector<tune::Values>& points) {
  std::vector<rkernel::Candidate> programs;
  for (const tune::Values& point : points) programs.push_back(programs_->program(point));
  std::vector<double> ratios;
  if (timer_ == nullptr) {
    for (const rkernel::Candidate& program : programs)
      ratios.push_back(program.launch.predicted_seconds / own_.launch.predicted_seconds);
    return ratios;
  }
  std::vector<const rkernel::Candidate*> run{&own_};
  for (const rkernel::Candidate& program : programs) {
    if (!known_ratio(program)) run.push_back(&program);
  }
  if (run.size() > 1) {
    const std::vector<double> seconds = measure(run);
    if (seconds.empty()) return {};
    own_seconds_ = seconds.front();
    for (std::size_t i = 1; i < run.size(); ++i)
      seen_.emplace_back(run[i]->launch, seconds[i] / own_seconds_);
  }
  for (const rkernel::Candidate& program : programs) ratios.push_back(known_ratio(program).value());
  return ratios;
}

std::optional<double> ProblemSearch::known_ratio(const rkernel::Candidate& program) const {
  const auto found = std::ranges::find_if(
      seen_, [&](const auto& seen) { return rkernel::same_program(seen.first, program.launch); });
  return found == seen_.end() ? std::nullopt : std::optional(found->second);
}

// Beside dyn's own choice, the first, in each round: what slows all of them slows it too. Empty
// where it was told to stop.
std::vector<double> ProblemSearch::measure(const std::vector<const rkernel::Candidate*>& programs) {
  std::vector<std::vector<double>> samples(programs.size());
  std::vector<std::size_t> order(programs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::mt19937_64 random(settings_.seed + session_->trials().size());
  for (int round = 0; round < rounds_of_batch; ++round) {
    std::ranges::shuffle(order, random);
    for (const std::size_t i : order) {
      if (settings_.stops()) return {};
      const bool is_hopeless =
          round > 0 && samples[i].front() > hopeless_ratio * samples.front().front();
      if (is_hopeless) continue;
      samples[i].push_back(timer_->seconds(*programs[i], settings_.slice_seconds));
    }
    if (samples.front().front() > long_in_slices * settings_.slice_seconds) break;
  }
  std::vector<double> seconds;
  for (const std::vector<double>& of : samples) seconds.push_back(percentile(of, lower_quartile));
  return seconds;
}

std::vector<rkernel::Candidate> ProblemSearch::finalists() const {
  std::vector<const tune::Trial*> order;
  for (const tune::Trial& trial : session_->trials()) order.push_back(&trial);
  std::ranges::stable_sort(order, {}, [](const tune::Trial* trial) { return trial->value; });
  std::vector<rkernel::Candidate> programs{own_};
  for (const tune::Trial* trial : order) {
    if (programs.size() > most_finalists) break;
    rkernel::Candidate program = programs_->program(trial->values);
    const bool is_known = std::ranges::any_of(programs, [&](const rkernel::Candidate& other) {
      return rkernel::same_program(other.launch, program.launch);
    });
    if (!is_known) programs.push_back(std::move(program));
  }
  return programs;
}

void ProblemSearch::compare() {
  const std::vector<rkernel::Candidate> programs = finalists();
  problem_.scored = true;
  if (programs.size() < 2) {  // nothing but dyn's own choice was tried
    const double seconds = timer_->seconds(own_, settings_.slice_seconds);
    keep(own_, seconds, seconds, worth_keeping);
    return;
  }
  std::vector<std::size_t> all(programs.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  const auto take = [&](std::size_t program, double slice_seconds) {
    return timer_->seconds(programs[program], slice_seconds);
  };
  const Sampled sampled = sample_programs(
      programs.size(), all, {settings_.rounds, settings_.slice_seconds, settings_.seed}, take);
  std::size_t best = 1;
  for (std::size_t i = 2; i < programs.size(); ++i) {
    if (sampled.programs[i].choosing_seconds() < sampled.programs[best].choosing_seconds())
      best = i;
  }
  keep(programs[best], *sampled.programs[best].scoring_seconds(),
       *sampled.programs.front().scoring_seconds(), worth_keeping);
}

void ProblemSearch::compare_trials() {
  const tune::Trial& best = *session_->best();
  const bool is_measured = timer_ != nullptr;
  const double own = is_measured && own_seconds_ > 0 ? own_seconds_ : own_.launch.predicted_seconds;
  problem_.scored = !is_measured;
  keep(programs_->program(best.values), best.value * own, own,
       is_measured ? worth_keeping * worth_keeping : worth_keeping);
}

void ProblemSearch::keep(const rkernel::Candidate& best, double seconds, double own_seconds,
                         double worth) {
  problem_.own = {own_.program, own_seconds};
  problem_.best = {best.program, seconds};
  problem_.program.reset();
  if (seconds < worth * own_seconds) problem_.program = best.model_input();
}

}  // namespace dyn::cli
