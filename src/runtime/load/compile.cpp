#include "src/runtime/load/compile.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/base/clock.hpp"
#include "src/rkernel/problem/lower.hpp"
#include "src/runtime/load/bundles.hpp"
#include "src/runtime/load/target_factory.hpp"

namespace dyn::runtime {
namespace {

/// `module` and `fusion` must outlive the result.
rkernel::BufferFacts buffer_facts(const graph::Module& module, const graph::Fusion& fusion) {
  std::set<graph::ValueId> ports(module.inputs.begin(), module.inputs.end());
  ports.insert(module.states.begin(), module.states.end());
  for (const graph::ValueId output : module.outputs)
    ports.insert(fusion.views.at(static_cast<std::size_t>(output)).base);
  return {
      [&module](graph::ValueId id) { return module.value(id).kind == graph::ValueKind::Weight; },
      [ports = std::move(ports)](graph::ValueId id) { return ports.contains(id); }};
}

void check_complete(const rkernel::Prepared& prepared, std::size_t groups,
                    const rkernel::Target& target) {
  if (prepared.kernels.size() != groups || prepared.problems.size() != groups)
    throw Error(ErrorKind::internal, "the target made another number of kernels than of groups");
  for (std::size_t group = 0; group < groups; ++group) {
    if (prepared.kernels[group] == nullptr)
      throw Error(ErrorKind::internal, fmt::format("target {} has no kernel for '{}'",
                                                   target.name(), prepared.problems[group].name));
  }
}

void add(LoadReport& report, const rkernel::CompileReport& compiled) {
  report.compile += compiled.compile_seconds;
  report.measure += compiled.measure_seconds;
  report.machine += compiled.machine_seconds;
  report.kernels += compiled.kernels;
  report.kernels_compiled += compiled.compiled;
  report.kernels_from_disk += compiled.from_disk;
}

}  // namespace

std::vector<std::size_t> CompiledGroups::in(rkernel::Space space) const {
  std::vector<std::size_t> groups;
  for (std::size_t group = 0; group < spaces.size(); ++group) {
    if (spaces[group] == space) groups.push_back(group);
  }
  return groups;
}

CompiledModule compile(graph::Module module, rkernel::Target& target, const ModelDump& dump,
                       LoadReport& report) {
  const Clock::time_point start = Clock::now();
  graph::Fusion fusion = graph::run_pipeline(module, pipeline_options(target), dump.passes(module));
  std::vector<rkernel::Problem> problems = rkernel::lower(module, fusion);
  bundle_groups(fusion, problems, target);
  dump.problems(problems);
  report.parse += seconds_since(start);
  const std::size_t count = problems.size();
  rkernel::Prepared prepared = target.prepare(std::move(problems), buffer_facts(module, fusion));
  check_complete(prepared, count, target);
  std::vector<rkernel::Space> spaces;
  for (const auto& kernel : prepared.kernels) {
    spaces.push_back(kernel->space());
    dump.listings(*kernel);
  }
  add(report, prepared.report);
  return {std::move(module),
          {std::move(fusion), std::move(prepared.problems), std::move(prepared.kernels),
           std::move(spaces)}};
}

}  // namespace dyn::runtime
