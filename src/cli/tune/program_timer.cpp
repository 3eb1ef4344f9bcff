#include "src/cli/tune/program_timer.hpp"

#include <set>
#include <utility>

#include "src/base/clock.hpp"
#include "src/base/statistics.hpp"
#include "src/cli/input/session.hpp"
#include "src/cli/op/op_cases.hpp"
#include "src/cli/op/op_model.hpp"
#include "src/cli/select/program_run.hpp"

namespace dyn::cli {
namespace {

class OpTimer final : public ProgramTimer {
 public:
  OpTimer(const std::shared_ptr<const runtime::Model>& model, const OpCase& test, std::size_t group,
          std::uint64_t seed)
      : run_(model, test, group, seed) {}

  double seconds(const rkernel::Candidate& program, double slice_seconds) override {
    const bool is_new = checked_.insert(program.program).second;
    return run_.seconds(run_.plan_of(program), program.program, slice_seconds, is_new);
  }

 private:
  ProgramRun run_;
  std::set<std::string> checked_;
};

class GroupTimer final : public ProgramTimer {
 public:
  GroupTimer(std::shared_ptr<const runtime::Model> model, const std::vector<std::int64_t>& symbols,
             std::size_t group, std::uint64_t seed)
      : base_(model->plan_uncached(symbols)),
        call_(run_once(model, symbols, {}, seed)),
        group_(group),
        threads_(model->threads()) {}

  double seconds(const rkernel::Candidate& program, double slice_seconds) override {
    call_->use_plan(runtime::with_launch(*base_, group_, program.launch, threads_));
    call_->run();  // its caches and pages
    std::vector<double> samples;
    const Clock::time_point start = Clock::now();
    do {
      runtime::RunProfile profile;
      call_->run(&profile);
      samples.push_back(profile.group_seconds.at(group_));
    } while (seconds_since(start) < slice_seconds);
    return percentile(samples, 50);
  }

 private:
  runtime::PlanPtr base_;
  std::unique_ptr<runtime::CallState> call_;
  std::size_t group_;
  int threads_;
};

}  // namespace

std::unique_ptr<ProgramTimer> make_op_timer(std::shared_ptr<const runtime::Model> model,
                                            const OpCase& test, std::size_t group,
                                            std::uint64_t seed) {
  return std::make_unique<OpTimer>(std::move(model), test, group, seed);
}

std::unique_ptr<ProgramTimer> make_group_timer(std::shared_ptr<const runtime::Model> model,
                                               const std::vector<std::int64_t>& symbols,
                                               std::size_t group, std::uint64_t seed) {
  return std::make_unique<GroupTimer>(std::move(model), symbols, group, seed);
}

}  // namespace dyn::cli
