// dynrun op: one operator at many shapes, beside the machine's limit and other libraries.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "src/cli/arguments.hpp"
#include "src/cli/op/op_cases.hpp"
#include "src/cli/op/op_model.hpp"
#include "src/cli/op/op_report.hpp"
#include "src/cli/op/peer_team.hpp"
#include "src/cli/op/slices.hpp"
#include "src/cli/report/peak.hpp"
#include "src/cli/report/progress.hpp"
#include "src/cli/report/units.hpp"
#include "src/runtime/system/thread_count.hpp"

namespace dyn::cli {
namespace {

constexpr double defect_ratio = 1.02;  // a limit that a measurement exceeds was no limit
constexpr int most_copies = 512;
constexpr double cold_in_caches = 4;
constexpr double usual_last_cache_bytes = 32 << 20;

struct OpBench {
  const Arguments& arguments;
  std::optional<Peak> peak;
  PeerTeam peers;
  int threads = 1;
  OpModels models;
  std::vector<OpRecord> records;
};

/// Copies that together exceed the caches. The number grows in steps of about a half, so that
/// similar shapes share a model.
int copies_for(const OpBench& bench, double bytes) {
  if (!bench.arguments.op.cold || bytes == 0) return 1;
  double cache = bench.peak ? bench.peak->cache_bytes[2] : 0;
  if (cache <= 0) cache = usual_last_cache_bytes;
  int copies = 1;
  while (copies < most_copies && copies * bytes <= cold_in_caches * cache)
    copies += std::max(1, copies / 2);
  return std::min(copies, most_copies);
}

OpRecord record_of(const OpBench& bench, const OpCase& test, int copies, const runtime::Plan& plan,
                   const SliceTimes& times) {
  const double flops = plan.flops() / copies;
  const std::vector<PeerSpec>& specs = bench.peers.specs();
  const double bytes = compulsory_bytes(test.problem, test.values, bench.arguments.options),
               all_bytes = bytes * copies;
  OpRecord record{{{"op", test.problem.op}},
                  describe(test),
                  bench.threads,
                  bench.arguments.op.cold ? "cold" : "warm",
                  {},
                  times.ratios};
  Row& row = record.row;
  if (!test.suite.empty()) row.emplace_back("suite", test.suite);
  for (const std::string& name : test.names) row.emplace_back(name, test.values.at(name));
  for (const auto& [name, value] : test.problem.attributes) row.emplace_back(name, value);
  row.emplace_back("threads", std::int64_t{bench.threads});
  row.emplace_back("device", bench.models.last()->device_name());
  if (const std::string& kept = kept_weights_of(bench.arguments.options);
      kept != Options().precision)
    row.emplace_back("weights", kept);
  row.emplace_back("state", record.state);
  if (bench.arguments.op.cold) {
    row.emplace_back("copies", std::int64_t{copies});
    row.emplace_back("rotated_mb", all_bytes / 1e6);
  }
  const double median = times.median_seconds / copies;
  row.emplace_back("median_ms", median * ms);
  row.emplace_back("p95_ms", times.p95_seconds / copies * ms);
  row.emplace_back("gflops", flops > 0 ? Cell(flops / median / 1e9) : Cell());
  row.emplace_back("gb_per_s", bytes / median / 1e9);
  row.emplace_back("intensity", bytes > 0 ? Cell(flops / bytes) : Cell());
  if (bench.peak && bytes > 0) {
    const double limit =
        bench.peak->limit_seconds(plan.flops_by_group(), all_bytes, bench.threads) / copies;
    record.limit_ratio = limit / median;
    row.emplace_back("limit_ms", limit * ms);
  }
  row.emplace_back("limit_ratio", record.limit_ratio ? Cell(*record.limit_ratio) : Cell());
  const auto cell = [](const std::optional<double>& ratio) {
    return ratio ? Cell(*ratio) : Cell();
  };
  for (std::size_t i = 0; i < specs.size(); ++i)
    row.emplace_back("ratio_" + specs[i].name, cell(times.ratios[i]));
  if (!specs.empty()) row.emplace_back("ratio_best", cell(record.ratio_best()));
  return record;
}

void bench_case(OpBench& bench, const OpCase& test) {
  const OpArguments& op = bench.arguments.op;
  const int copies =
      copies_for(bench, compulsory_bytes(test.problem, test.values, bench.arguments.options));
  DimMap named;
  for (const std::string& name : dim_names(test.problem.operands))
    named[name] = test.values.at(name);
  OpRun run(bench.models.get(test.problem, copies, bench.threads), named,
            bench.arguments.options.seed);
  run.run();
  const std::vector<PeerProcess*> ready = bench.peers.prepare(problem_line(test, copies));
  const SliceTimes times =
      time_alternating({op.rounds, op.slice_ms / ms}, [&] { run.run(); }, ready);
  bench.peers.done(ready);
  bench.records.push_back(record_of(bench, test, copies, run.plan(), times));
  const std::optional<double> limit_ratio = bench.records.back().limit_ratio;
  if (limit_ratio && *limit_ratio > defect_ratio) {
    show_note(fmt::format("{} threads={}: limit_ratio is {:.3f}: the limit is wrong here",
                          describe(test), bench.threads, *limit_ratio));
  }
}

}  // namespace

void bench_op(const Arguments& arguments) {
  const std::vector<OpCase> cases = requested_cases(arguments);
  for (const OpCase& test : cases)
    result_of(test.problem, test.values);  // reports unsuitable problems before anything is timed
  OpBench bench{arguments,
                std::nullopt,
                PeerTeam(arguments.op.peers, arguments.program),
                1,
                OpModels(arguments.options),
                {}};
  std::string problem;
  bench.peak = machine_peak(arguments, problem);
  if (!problem.empty()) show_note(problem);
  std::vector<int> thread_counts = arguments.thread_counts;
  if (thread_counts.empty()) thread_counts = {runtime::default_threads()};
  for (const int threads : thread_counts) {
    bench.threads = threads;
    bench.peers.start(threads);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      show_progress(fmt::format("threads {}, shape {} of {}: {}", threads, i + 1, cases.size(),
                                describe(cases[i])));
      bench_case(bench, cases[i]);
    }
    show_progress("");
  }
  fmt::print("{}", report_text(bench.records, bench.peers.names(), arguments.format));
}

}  // namespace dyn::cli
