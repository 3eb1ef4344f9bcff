// dynrun tune: searches programs that dyn's rules do not consider, and writes the better ones.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/base/clock.hpp"
#include "src/cli/arguments.hpp"
#include "src/cli/report/progress.hpp"
#include "src/cli/report/units.hpp"
#include "src/cli/select/selected_cases.hpp"
#include "src/cli/tune/problem_search.hpp"
#include "src/cli/tune/stop_signals.hpp"
#include "src/cli/tune/tune_pools.hpp"
#include "src/cli/tune/tuned_file.hpp"
#include "src/cli/tune/tuned_work.hpp"

namespace dyn::cli {
namespace {

using runtime::TunedProblem;
using runtime::TuningFile;

constexpr double seconds_between_writes = 5;

/// The file of one command: what it begins with, and what is written.
class Tuner {
 public:
  explicit Tuner(const Arguments& arguments)
      : arguments_(arguments),
        path_(arguments.output),
        measured_(arguments.options.device == "cpu") {
    const TuneArguments& tune = arguments.tune;
    const std::string method =
        tune.method.empty() ? std::string(tune::all_methods().front().name) : tune.method;
    settings_.method = *tune::method_named(method);
    settings_.seed = arguments.options.seed;
    settings_.budget = parse_budget(tune.budget);
    settings_.slice_seconds = tune.slice_ms / ms;
    settings_.rounds = tune.rounds;
    settings_.stops = [] { return StopSignals::caught() != 0; };
    file_.version = runtime::tuning_version();
    file_.times = measured_ ? "measured" : "predicted";
    file_.method = method;
    file_.seed = settings_.seed;
    former_ = former_tuning(path_);
    if (former_) file_.pools = former_->pools;
  }

  void run() {
    const auto visit = [this](const TunedWork& work) { return tune(work); };
    if (arguments_.model.empty()) {
      for_each_op(arguments_, measured_, visit);
    } else {
      for_each_group(
          arguments_, measured_, [this](const std::string& name) { file_.model = name; }, visit);
    }
    if (file_.target.empty())
      throw Error(ErrorKind::user,
                  "there is nothing to tune: none of the problems has several programs");
    write();
  }

  void report() const {
    std::vector<Row> rows;
    for (const TunedProblem& problem : file_.problems) rows.push_back(row_of(problem));
    fmt::print("{}", to_text(rows, arguments_.format));
    if (StopSignals::caught() != 0)
      fmt::print(stderr, "stopped by a signal; the same command goes on from '{}'\n", path_);
  }

 private:
  bool tune(const TunedWork& work) {
    identify(*work.kernel);
    const TunedProblem* const known = former_problem(work);
    settings_.progress = [&] { show(work); };
    const std::unique_ptr<ProgramTimer> timer = work.make_timer ? work.make_timer() : nullptr;
    ProblemSearch search(settings_, work.name, *work.kernel, work.request, timer.get(), known);
    search_ = &search;
    search.run();
    search_ = nullptr;
    show_progress("");
    file_.problems.push_back(search.problem());
    write();
    return StopSignals::caught() == 0;
  }

  /// The first kernel says which machine this is.
  void identify(const rkernel::Kernel& kernel) {
    if (!file_.target.empty()) return;
    file_.target = kernel.target_name();
    file_.machine = kernel.machine_name();
    if (!former_) return;
    require_same_place(path_, *former_, file_);
    if (former_->problems.empty()) return;
    require_equal(path_, "kind of times", former_->times, file_.times);
    require_equal(path_, "model", former_->model.value_or(""), file_.model.value_or(""));
    require_equal(path_, "method", former_->method, file_.method);
    require_equal(path_, "seed", std::to_string(former_->seed), std::to_string(file_.seed));
  }

  const TunedProblem* former_problem(const TunedWork& work) const {
    if (!former_) return nullptr;
    const auto found = std::ranges::find_if(former_->problems, [&](const TunedProblem& problem) {
      return problem.name == work.name && problem.threads == work.request.threads;
    });
    return found == former_->problems.end() ? nullptr : &*found;
  }

  void show(const TunedWork& work) {
    const TunedProblem& problem = search_->problem();
    double least = 1;
    for (const TunedProblem::Trial& trial : problem.trials) least = std::min(least, trial.ratio);
    show_progress(fmt::format(
        "{}, threads {}: {} programs in {:.0f} s, the best {:.3f} of dyn's "
        "time",
        work.name, problem.threads, problem.trials.size(), problem.spent_seconds, least));
    if (seconds_since(written_) > seconds_between_writes) write();
  }

  /// With what former runs of the command found at other problems.
  void write() {
    TuningFile all = file_;
    if (search_ != nullptr) all.problems.push_back(search_->problem());
    const auto has = [&](const TunedProblem& one) {
      return std::ranges::any_of(all.problems, [&](const TunedProblem& other) {
        return other.name == one.name && other.threads == one.threads;
      });
    };
    if (former_) {
      for (const TunedProblem& problem : former_->problems) {
        if (!has(problem)) all.problems.push_back(problem);
      }
    }
    write_tuning(path_, all);
    written_ = Clock::now();
  }

  Row row_of(const TunedProblem& problem) const {
    const bool known = problem.own && problem.best;
    const auto cell = [&](const auto& value) { return known ? Cell(value()) : Cell(); };
    return {{"problem", problem.name},
            {"threads", std::int64_t{problem.threads}},
            {"tried", static_cast<std::int64_t>(problem.trials.size())},
            {"seconds", problem.spent_seconds},
            {"times", file_.times},
            {"dyn_us", cell([&] { return problem.own->seconds * us; })},
            {"best_us", cell([&] { return problem.best->seconds * us; })},
            {"dyn_over_best", cell([&] { return problem.own->seconds / problem.best->seconds; })},
            {"kept", std::string(problem.program ? "yes" : "no")},
            {"dyn", cell([&] { return problem.own->words; })},
            {"best", cell([&] { return problem.best->words; })}};
  }

  const Arguments& arguments_;
  std::string path_;
  bool measured_;
  SearchSettings settings_;
  TuningFile file_;
  std::optional<TuningFile> former_;
  const ProblemSearch* search_ = nullptr;
  Clock::time_point written_ = Clock::now();
};

}  // namespace

void tune_programs(const Arguments& given) {
  Arguments arguments = given;
  if (names_model(arguments.select.words)) {
    arguments.model = arguments.select.words.front();
  } else {
    arguments = with_problems(std::move(arguments));
    if (!arguments.op.suites.empty()) arguments.op.op.clear();  // convolutions too
  }
  const StopSignals signals;
  if (given.tune.policy != name_of(rkernel::Policy::Dyn)) {
    tune_pools(arguments);
    return;
  }
  Tuner tuner(arguments);
  tuner.run();
  tuner.report();
}

}  // namespace dyn::cli
