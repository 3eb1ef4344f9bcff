// dynrun select: every policy's choice at many shapes, beside the best of all programs.

#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/cli/arguments.hpp"
#include "src/cli/op/op_cases.hpp"
#include "src/cli/op/op_model.hpp"
#include "src/cli/op/peer_team.hpp"
#include "src/cli/report/progress.hpp"
#include "src/cli/report/units.hpp"
#include "src/cli/select/plot.hpp"
#include "src/cli/select/policy_list.hpp"
#include "src/cli/select/select_report.hpp"
#include "src/cli/select/selected_cases.hpp"
#include "src/cli/select/shape_bench.hpp"
#include "src/cli/select/untuned_threads.hpp"
#include "src/runtime/system/thread_count.hpp"

namespace dyn::cli {
void select_programs(const Arguments& given) {
  Arguments arguments = with_problems(given);
  const SelectArguments& select = arguments.select;
  ShapeBench bench{parse_policies(select.policies),
                   {select.rounds, select.slice_ms / ms, arguments.options.seed},
                   arguments.options.device == "cpu",
                   arguments.options.seed};
  const auto [cases, left_out] = selected_cases(arguments);
  if (!bench.measured && !arguments.op.peers.empty())
    throw Error(ErrorKind::user, "--peers are timed beside dyn on device 'cpu' only");
  PeerTeam peers(arguments.op.peers, arguments.program);
  std::optional<MeasurementFile> file;
  if (!select.measurements.empty()) {
    if (!bench.measured)
      throw Error(ErrorKind::user, "--measurements are taken on device 'cpu' only");
    bench.file = &file.emplace(select.measurements);
  }
  if (!select.plot.empty()) write_plot(select.plot, {});  // fails before the work, not after it
  arguments.options.policy = name_of(rkernel::Policy::Oracle);  // makes all policies ready
  OpModels models(arguments.options);
  std::vector<int> thread_counts = arguments.thread_counts;
  if (thread_counts.empty()) thread_counts = {bench.measured ? runtime::default_threads() : 1};
  if (!arguments.options.tuning.empty()) {
    const runtime::TuningFile tuning = runtime::read_tuning_file(arguments.options.tuning);
    for (const std::string& line :
         untuned_threads(tuning, arguments.options.tuning, bench.policies, thread_counts))
      fmt::print(stderr, "dynrun: note: {}\n", line);
  }
  SelectReport report{{}, bench.measured ? "measured" : "predicted", !peers.specs().empty()};
  if (left_out > 0)
    fmt::print(stderr, "left out: {} problems of more than {:g} GFLOP\n", left_out,
               select.most_gflop);
  for (const int threads : thread_counts) {
    peers.start(threads);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      show_progress(fmt::format("threads {}, shape {} of {}: {}", threads, i + 1, cases.size(),
                                describe(cases[i])));
      const std::shared_ptr<const runtime::Model> model = models.get(cases[i].problem, 1, threads);
      const std::vector<PeerProcess*> ready = peers.prepare(problem_line(cases[i], 1));
      report.shapes.push_back(bench_shape(bench, model, cases[i], ready));
      peers.done(ready);
      if (arguments.format != Format::csv) continue;
      fmt::print("{}",
                 csv_lines(report.shapes.back(),
                           report.shapes.size() ==
                               1));  // writes each shape at once: an abort loses no measured shape
      std::fflush(stdout);
    }
    show_progress("");
  }
  fmt::print("{}", report_text(report, arguments.format));
  if (select.plot.empty()) return;
  write_plot(select.plot,
             ratio_plot("What each policy chooses, beside the best program of all",
                        fmt::format("oracle's time / policy's time ({})", report.basis),
                        plot_panels(report)));
}

}  // namespace dyn::cli
