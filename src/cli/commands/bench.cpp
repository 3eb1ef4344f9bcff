// dynrun bench: load, first call, new shapes and steady state, each apart.

#include <cstdio>

#include <fmt/format.h>

#include "src/cli/arguments.hpp"
#include "src/cli/commands/load_times.hpp"
#include "src/cli/commands/model_bench.hpp"
#include "src/cli/input/standard_input.hpp"
#include "src/cli/report/profile.hpp"
#include "src/cli/report/progress.hpp"

namespace dyn::cli {
namespace {

struct Tables {
  std::vector<Row> loads, targets, shapes, groups;
};

void print_tables(const Tables& tables, Format format) {
  if (format == Format::md) {
    if (!tables.loads.empty()) fmt::print("{}\n", to_text(tables.loads, format));
    if (!tables.targets.empty()) fmt::print("{}\n", to_text(tables.targets, format));
    fmt::print("{}", to_text(tables.shapes, format));
    if (!tables.groups.empty()) fmt::print("\n{}", to_text(tables.groups, format));
    return;
  }
  // One flat table: the load's times stand in each row.
  std::vector<Row> rows = tables.shapes;
  for (Row& row : rows) {
    for (const Row& load : tables.loads) {
      const std::string& state = std::get<std::string>(load[1].second);
      row.emplace_back(fmt::format("load_{}_ms", state), load[2].second);
    }
    for (const Row& target : tables.targets) {
      row.emplace_back(fmt::format("groups_on_{}", std::get<std::string>(target[0].second)),
                       target[1].second);
    }
  }
  append_rows(rows, tables.groups);
  fmt::print("{}", to_text(rows, format));
}

}  // namespace

void bench_model(const Arguments& given) {
  const Arguments arguments = with_first_threads(given);
  if (arguments.load_only) {
    const ModelPtr model = load_model(arguments);
    fmt::print("{}", to_text({load_row(model_name(arguments), "this", model->load_report())},
                             arguments.format));
    return;
  }
  if (!arguments.skip_load)
    refuse_standard_input(arguments.model, "other processes load it again; give --skip-load");
  if (!arguments.trace.empty())
    write_trace(arguments.trace, {});  // fails before the work, not after it
  const ModelBench bench(arguments);
  Tables tables;
  if (!arguments.skip_load) tables.loads = time_loads(arguments);
  tables.targets = target_rows(*bench.models().back());
  std::vector<Profile> traced;
  for (std::size_t i = 0; i < bench.shapes().size(); ++i) {
    for (const ModelPtr& model : bench.models()) {
      show_progress(fmt::format("shape {} of {}, threads {}", i + 1, bench.shapes().size(),
                                model->threads()));
      ShapeCall shape = bench.make_call(model, bench.shapes()[i]);
      tables.shapes.push_back(bench.time(shape));
      if (arguments.profile) {
        shape.at.model->require_plan();
        append_rows(tables.groups, group_profile(*shape.at.model, shape.call, shape.head));
      }
      if (!arguments.trace.empty()) traced.push_back(profiled_run(shape.call, shape.head));
    }
  }
  show_progress("");
  print_tables(tables, arguments.format);
  if (!arguments.trace.empty()) write_trace(arguments.trace, traced);
}

}  // namespace dyn::cli
