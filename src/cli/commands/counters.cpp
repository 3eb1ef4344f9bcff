// dynrun explain --counters: what the kernels of one run do, as the device counts it.

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "src/cli/commands/explain.hpp"
#include "src/cli/input/inputs.hpp"
#include "src/cli/input/session.hpp"
#include "src/cli/report/table.hpp"

namespace dyn::cli {
namespace {

using rkernel::LaunchReport;

/// The devices of a model's parts, each once.
void add_devices(const runtime::Model& model, std::set<std::shared_ptr<rkernel::Device>>& devices) {
  if (std::shared_ptr<rkernel::Device> device = model.executable().device())
    devices.insert(std::move(device));
  for (const runtime::SegmentStep& step : model.steps()) {
    if (step.model) add_devices(*step.model, devices);
    if (step.body) add_devices(*step.body, devices);
  }
}

/// Launches that did the same share a row.
std::vector<Row> rows_of(std::span<const LaunchReport> reports) {
  std::vector<std::pair<std::vector<std::string>, const LaunchReport*>> distinct;
  for (const LaunchReport& report : reports) {
    const auto same = std::ranges::find_if(
        distinct, [&](const auto& known) { return known.second->figures == report.figures; });
    if (same == distinct.end())
      distinct.push_back({{report.group}, &report});
    else if (std::ranges::find(same->first, report.group) == same->first.end())
      same->first.push_back(report.group);
  }
  std::vector<Row> rows;
  for (const auto& [groups, report] : distinct) {
    rows.push_back({{"groups", fmt::format("{}", fmt::join(groups, " "))}});
    for (const auto& [what, figure] : report->figures) rows.back().emplace_back(what, figure);
  }
  return rows;
}

}  // namespace

void explain_by_counting(const Arguments& arguments) {
  const LoadedInputs given = load_inputs(arguments.load_inputs);
  const std::shared_ptr<const runtime::Model> usual = load_model(arguments);
  TextCoder texts(usual->inputs(), usual->outputs());
  const std::map<std::string, Tensor> loaded = as_declared(given, *usual, texts);
  const auto [model, symbols] = model_at(usual, requested_shape(*usual, arguments, loaded));
  std::set<std::shared_ptr<rkernel::Device>> devices;
  add_devices(*model, devices);
  const bool count = !devices.empty() && std::ranges::all_of(devices, [](const auto& device) {
    return device->count_launches();
  });
  if (!count)
    throw Error(ErrorKind::user,
                fmt::format("--counters: {} does not count what its kernels do; take --device "
                            "emulator, with --gpu NAME for the GPU that it imitates",
                            model->device_name()));
  run_once(model, symbols, loaded, arguments.options.seed);
  std::vector<LaunchReport> reports;
  for (const auto& device : devices)
    for (LaunchReport& report : device->take_launch_reports())
      if (arguments.group.empty() || report.group == arguments.group)
        reports.push_back(std::move(report));
  if (reports.empty() && !arguments.group.empty()) throw no_such_group(arguments.group);
  fmt::print("{}", to_text(rows_of(reports), arguments.format));
}

}  // namespace dyn::cli
