#pragma once
// The search for the best program of one problem at one shape.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/select/sampling.hpp"
#include "src/cli/tune/budget.hpp"
#include "src/cli/tune/program_timer.hpp"
#include "src/rkernel/target/program_space.hpp"
#include "src/runtime/tuning/tuning_file.hpp"
#include "src/tune/session.hpp"

namespace dyn::cli {

struct SearchSettings {
  tune::Method method = tune::Method::Bayes;
  std::uint64_t seed = 0;
  TuneBudget budget;
  double slice_seconds = 1e-3;
  int rounds = 10;  ///< in which dyn's own choice and the best of the search are compared
  std::function<bool()> stops;     ///< asked before each program that is run
  std::function<void()> progress;  ///< called after each batch
};

/// A program is kept where it takes less than this share of the time of dyn's own choice: less is
/// what measurements of equal programs differ by.
inline constexpr double worth_keeping = 0.98;

class ProblemSearch {
 public:
  /// `kernel` must outlive it. `timer`: nullptr where times are predicted. `known`: of the file
  /// that is resumed, with the same name and threads; throws Error(user) where it was tried in
  /// another space. Error(unsupported) where the kernel has one program alone.
  ProblemSearch(const SearchSettings& settings, std::string name, const rkernel::Kernel& kernel,
                const rkernel::PlanRequest& request, ProgramTimer* timer,
                const runtime::TunedProblem* known);

  /// Goes on until the budget is spent, nothing is left to try, or it stops. Then compares dyn's
  /// own choice with the best programs that were found, unless that is done already; in runs of
  /// their own, unless it stopped.
  void run();
  /// So far; of a search that stopped before anything was compared, by the times of the search.
  const runtime::TunedProblem& problem() const noexcept { return problem_; }

 private:
  bool has_budget() const;
  std::size_t left() const;
  std::vector<double> evaluate(const std::vector<tune::Values>& points);
  std::vector<double> measure(const std::vector<const rkernel::Candidate*>& programs);
  /// The distinct programs of the best trials, dyn's own first.
  std::vector<rkernel::Candidate> finalists() const;
  void compare();
  /// The same by the times of the search, without running anything: its best is too good by luck,
  /// so twice as much must be gained.
  void compare_trials();
  void keep(const rkernel::Candidate& best, double seconds, double own_seconds, double worth);
  /// The ratio of a program that was tried under another point.
  std::optional<double> known_ratio(const rkernel::Candidate& program) const;
  void write_trials();

  SearchSettings settings_;
  const rkernel::Kernel& kernel_;
  ProgramTimer* timer_;
  std::unique_ptr<const rkernel::ProgramSpace> programs_;
  rkernel::Candidate own_;
  tune::Space space_;
  runtime::TunedProblem problem_;
  std::optional<tune::Session> session_;
  std::vector<std::pair<rkernel::Launch, double>> seen_;  ///< with its ratio
  double own_seconds_ = 0;  ///< of dyn's own choice in the last batch; 0: none was measured
};

}  // namespace dyn::cli
