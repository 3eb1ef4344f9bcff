#include "src/cli/tune/program_timer.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/base/clock.hpp"
#include "src/base/statistics.hpp"
#include "src/cli/input/session.hpp"
#include "src/cli/op/op_cases.hpp"
#include "src/cli/op/op_model.hpp"
#include "src/cli/op/slices.hpp"
#include "src/cli/select/compare.hpp"

namespace dyn::cli {
namespace {

class OpTimer final : public ProgramTimer {
 public:
  OpTimer(std::shared_ptr<const runtime::Model> model, const OpCase& test, std::size_t group,
          std::uint64_t seed)
      : run_(model, open_dims_of(test), seed),
        base_(model->plan_uncached(model->bind_dims(open_dims_of(test)))),
        label_(describe(test)),
        group_(group),
        threads_(model->threads()) {
    const auto outputs = static_cast<double>(std::max<std::int64_t>(run_.output(0).size(), 1));
    terms_ = static_cast<std::int64_t>(base_->launches[group].flops / (2 * outputs));
  }

  double seconds(const rkernel::Candidate& program, double slice_seconds) override {
    run_.use_plan(runtime::with_launch(*base_, group_, program.launch, threads_));
    const bool is_new = checked_.insert(program.program).second;
    if (is_new) poison(run_.output(0));
    const double taken = percentile(time_slice(slice_seconds, [&] { run_.run(); }), 50);
    if (is_new) check(program.program);
    return taken;
  }

 private:
  void check(const std::string& words) {
    const std::span<const float> result = run_.output(0).data<float>();
    if (first_.empty()) {
      first_ = words;
      expected_.assign(result.begin(), result.end());
    }
    if (const std::optional<std::string> found = difference(expected_, result, terms_))
      throw Error(ErrorKind::internal, fmt::format("{}: {} where \"{}\" runs, compared with \"{}\"",
                                                   label_, *found, words, first_));
  }

  OpRun run_;
  runtime::PlanPtr base_;
  std::string label_, first_;
  std::size_t group_;
  int threads_;
  std::int64_t terms_ = 1;
  std::set<std::string> checked_;
  std::vector<float> expected_;
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

DimMap open_dims_of(const OpCase& test) {
  DimMap dims;
  for (const std::string& name : dim_names(test.problem.operands))
    dims[name] = test.values.at(name);
  return dims;
}

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
