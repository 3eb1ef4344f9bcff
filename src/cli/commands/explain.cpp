// dynrun explain --measure: every program of every policy, predicted and measured.

#include "src/cli/commands/explain.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "src/cli/input/session.hpp"
#include "src/cli/report/progress.hpp"
#include "src/cli/report/units.hpp"
#include "src/runtime/plan/oracle.hpp"

namespace dyn::cli {
namespace {

std::string policies_that_choose(const runtime::CandidateUnion& candidates, std::size_t program) {
  std::vector<std::string_view> names;
  for (const runtime::PolicyView& view : candidates.policies) {
    if (view.chosen == program) names.push_back(name_of(view.policy));
  }
  return fmt::format("{}", fmt::join(names, " "));
}

std::vector<Row> ranking(const runtime::MeasuredGroup& measured) {
  std::vector<std::size_t> order(measured.seconds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return measured.seconds[a] < measured.seconds[b];
  });
  std::vector<Row> rows;
  for (const std::size_t program : order) {
    const rkernel::Candidate& candidate = measured.candidates.programs[program];
    rows.push_back({{"rank", static_cast<std::int64_t>(rows.size() + 1)},
                    {"predicted_us", candidate.launch.predicted_seconds * us},
                    {"measured_us", measured.seconds[program] * us},
                    {"chosen by", policies_that_choose(measured.candidates, program)},
                    {"program", candidate.program}});
  }
  return rows;
}

std::string reasons_without(const runtime::CandidateUnion& candidates) {
  std::string text;
  for (const runtime::PolicyView& view : candidates.policies) {
    if (!view.chosen)
      text += fmt::format("- {} has none: {}\n", name_of(view.policy), view.none_reason);
  }
  return text;
}

}  // namespace

std::vector<std::size_t> chosen_groups(const runtime::Model& model, const std::string& name) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < model.problems().size(); ++i) {
    if (name.empty() || model.fusion().groups[i].name == name) chosen.push_back(i);
  }
  if (chosen.empty() && !name.empty()) throw no_such_group(name);
  return chosen;
}

Error no_such_group(const std::string& name) {
  return {ErrorKind::user,
          fmt::format("--group {}: the model has no such group; dynrun inspect lists them", name)};
}

std::vector<Explanation> explanations(
    const std::vector<std::size_t>& groups,
    const std::function<std::string(std::size_t group)>& text_of) {
  std::vector<Explanation> found;
  for (const std::size_t group : groups) {
    std::string text = text_of(group);
    auto same = std::find_if(found.begin(), found.end(),
                             [&](const Explanation& known) { return known.text == text; });
    if (same == found.end()) same = found.insert(same, {std::move(text), {}});
    same->groups.push_back(group);
  }
  return found;
}

std::string code_text(const runtime::Model& model, const runtime::Plan& plan, std::size_t group) {
  std::string text;
  for (const rkernel::CodeListing& listing :
       model.kernel(group).listings_at({plan.symbols, model.threads()}))
    text += listing.text + "\n";
  if (text.empty())
    return "no generated code: a function of the host or of a library computes it\n";
  return text;
}

std::string names_of(const runtime::Model& model, const Explanation& explanation) {
  std::vector<std::string> names;
  for (const std::size_t group : explanation.groups)
    names.push_back(model.fusion().groups[group].name);
  return fmt::format("{}{}", names.size() > 1 ? fmt::format("{} groups: ", names.size()) : "",
                     fmt::join(names, " "));
}

void explain_by_measuring(const Arguments& given) {
  Arguments arguments = given;
  arguments.options.policy = name_of(rkernel::Policy::Oracle);  // makes all policies ready
  const std::shared_ptr<const runtime::Model> loaded = load_model(arguments);
  runtime::require_measurable(loaded->executable());
  const auto [model, symbols] = model_at(loaded, requested_shape(*loaded, arguments, {}));
  const std::vector<std::size_t> chosen = chosen_groups(*model, arguments.group);
  const runtime::PlanPtr plan = model->plan_uncached(symbols);
  const std::vector<Explanation> alike =
      explanations(chosen, [&](std::size_t group) { return model->explain(group, *plan); });
  std::vector<std::size_t> first_of_each;
  for (const Explanation& explanation : alike) first_of_each.push_back(explanation.groups.front());
  show_progress(fmt::format("measuring the programs of {} groups", first_of_each.size()));
  const std::vector<runtime::MeasuredGroup> measured =
      runtime::measure_groups(model->executable(), plan, first_of_each);
  show_progress("");
  for (const runtime::MeasuredGroup& group : measured) {
    const auto same = std::find_if(alike.begin(), alike.end(), [&](const Explanation& explanation) {
      return explanation.groups.front() == group.group;
    });
    fmt::print("{}\n{} programs, measured in the first\n\n{}{}\n", names_of(*model, *same),
               group.seconds.size(), to_text(ranking(group), Format::md),
               reasons_without(group.candidates));
  }
  if (measured.empty()) fmt::print("There is one way to run each of these groups.\n");
}

}  // namespace dyn::cli
