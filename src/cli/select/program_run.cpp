#include "src/cli/select/program_run.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/base/statistics.hpp"
#include "src/cli/op/slices.hpp"
#include "src/cli/select/compare.hpp"

namespace dyn::cli {

DimMap open_dims_of(const OpCase& test) {
  DimMap dims;
  for (const std::string& name : dim_names(test.problem.operands))
    dims[name] = test.values.at(name);
  return dims;
}

ProgramRun::ProgramRun(const std::shared_ptr<const runtime::Model>& model, const OpCase& test,
                       std::size_t group, std::uint64_t seed)
    : run_(model, open_dims_of(test), seed),
      base_(model->plan_uncached(model->bind_dims(open_dims_of(test)))),
      label_(describe(test)),
      group_(group),
      threads_(model->threads()) {
  const auto outputs = static_cast<double>(std::max<std::int64_t>(run_.output(0).size(), 1));
  terms_ = static_cast<std::int64_t>(base_->launches[group].flops / (2 * outputs));
}

runtime::PlanPtr ProgramRun::plan_of(const rkernel::Candidate& program) const {
  return runtime::with_launch(*base_, group_, program.launch, threads_);
}

double ProgramRun::seconds(const runtime::PlanPtr& plan, const std::string& words,
                           double slice_seconds, bool check) {
  run_.use_plan(plan);
  if (check) poison(run_.output(0));
  const double taken = percentile(time_slice(slice_seconds, [&] { run_.run(); }), 50);
  if (check) compare(words);
  return taken;
}

void ProgramRun::compare(const std::string& words) {
  const std::span<const float> result = run_.output(0).data<float>();
  if (expected_.empty()) {
    first_ = words;
    expected_.assign(result.begin(), result.end());
  }
  if (const std::optional<std::string> found = difference(expected_, result, terms_))
    throw Error(ErrorKind::internal, fmt::format("{}: {} where \"{}\" runs, compared with \"{}\"",
                                                 label_, *found, words, first_));
}

}  // namespace dyn::cli
