// dynrun op: one operator at many shapes, beside the machine's limit and other libraries.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/cli/arguments.hpp"
#include "src/cli/op/op_model.hpp"
#include "src/cli/op/op_report.hpp"
#include "src/cli/op/peer_process.hpp"
#include "src/cli/op/slices.hpp"
#include "src/cli/op/suite.hpp"
#include "src/cli/peak.hpp"
#include "src/cli/ranges.hpp"
#include "src/cli/session.hpp"
#include "src/runtime/thread_count.hpp"

namespace dyn::cli {
namespace {

constexpr double ms = 1e3;
constexpr double defect_ratio = 1.02;  // a limit that is passed was not one
constexpr int most_copies = 512;
constexpr double cold_in_caches = 4;
constexpr double usual_last_cache_bytes = 32 << 20;

struct OpBench {
  const Arguments& arguments;
  std::optional<Peak> peak;
  std::vector<PeerSpec> specs;
  std::vector<std::unique_ptr<PeerProcess>> peers;  ///< of the present number of threads
  std::vector<bool> told;                           ///< for each peer: its end was reported
  int threads = 1;
  std::string model_key;  ///< of the model that is loaded: shapes that follow each other often share one
  std::shared_ptr<const runtime::Model> model;
  std::vector<OpRecord> records;
};

void note(const std::string& text) {
  show_progress("");
  fmt::print(stderr, "dynrun: note: {}\n", text);
}

std::vector<OpCase> cases_from_types(const Arguments& arguments) {
  OpCase base;
  base.problem = {arguments.op.op, {}, parse_operands(arguments.op.types)};
  for (const std::string& text : arguments.op.attributes) base.problem.attributes.push_back(parse_attribute(text));
  base.names = dim_names(base.problem.operands);
  std::vector<DimValues> dims;
  for (const std::string& text : arguments.dims) {
    dims.push_back(parse_dim_values(text));
    if (std::find(base.names.begin(), base.names.end(), dims.back().name) == base.names.end()) {
      throw Error(ErrorKind::user, fmt::format("--dims {}: no operand has that dim", text));
    }
  }
  std::vector<OpCase> cases;
  for (const DimMap& values : product(dims)) {
    cases.push_back(base);
    cases.back().values = values;
  }
  return cases;
}

std::vector<OpCase> requested_cases(const Arguments& arguments) {
  const OpArguments& op = arguments.op;
  if (op.op.empty() && op.suites.empty()) throw Error(ErrorKind::user, "give an OPERATOR and the TYPES of its operands, or --suite FILE");
  if (op.suites.empty() == op.types.empty()) throw Error(ErrorKind::user, "give either the TYPES of the operands, or --suite FILE");
  if (!op.types.empty()) return cases_from_types(arguments);
  if (!op.op.empty() && op.op != "matmul") throw Error(ErrorKind::unsupported, fmt::format("--suite holds shapes of matmul, not of {}", op.op));
  if (!arguments.dims.empty() || !op.attributes.empty()) throw Error(ErrorKind::user, "--dims and --attr do not go with --suite");
  std::vector<OpCase> cases;
  for (const std::string& path : op.suites) {
    const std::vector<OpCase> read = read_suite(path);
    cases.insert(cases.end(), read.begin(), read.end());
  }
  return cases;
}

/// So many that together they exceed the caches, in steps of about a half, so that similar shapes share a model.
int copies_for(const OpBench& bench, double bytes) {
  if (!bench.arguments.op.cold || bytes == 0) return 1;
  double cache = bench.peak ? bench.peak->cache_bytes[2] : 0;
  if (cache <= 0) cache = usual_last_cache_bytes;
  int copies = 1;
  while (copies < most_copies && copies * bytes <= cold_in_caches * cache) copies += std::max(1, copies / 2);
  return std::min(copies, most_copies);
}

std::string describe(const OpCase& test) {
  std::string text = test.problem.op;
  for (const std::string& name : test.names) text += fmt::format(" {}={}", name, test.values.at(name));
  for (const auto& [name, value] : test.problem.attributes) text += fmt::format(" {}={}", name, value);
  return text;
}

/// As docs/peers.md has it.
std::string problem_line(const OpCase& test, int copies) {
  std::string line = fmt::format("problem {} copies={}", test.problem.op, copies);
  const auto add = [&](const char* kind, DType dtype, const Shape& shape) {
    line += fmt::format(" {}={}:{}", kind, name_of(dtype), fmt::join(shape, "x"));
  };
  for (const auto& [name, value] : test.problem.attributes) line += fmt::format(" @{}={}", name, value);
  for (const OpOperand& operand : test.problem.operands) {
    add(operand.constant ? "weight" : "input", operand.dtype, shape_of(operand, test.values));
  }
  const OpResult result = result_of(test.problem, test.values);
  add("output", result.dtype, result.shape);
  return line;
}

std::shared_ptr<const runtime::Model> load_op(OpBench& bench, const OpProblem& problem, int copies) {
  const std::string text = model_text(problem, copies), key = fmt::format("{}{}", bench.threads, text);
  if (bench.model == nullptr || bench.model_key != key) {
    Options options = bench.arguments.options;
    options.threads = bench.threads;
    bench.model = nullptr;  // its memory is free before the next one's is taken
    bench.model = Graph::from_text(text, options).model();
    bench.model_key = key;
  }
  return bench.model;
}

/// Tells once what became of a peer.
void report_ended_peers(OpBench& bench) {
  for (std::size_t i = 0; i < bench.peers.size(); ++i) {
    if (bench.peers[i]->alive() || bench.told[i]) continue;
    note(fmt::format("peer {}: {}; its columns stay empty from here on", bench.peers[i]->name(), bench.peers[i]->problem()));
    bench.told[i] = true;
  }
}

void start_peers(OpBench& bench) {
  bench.peers.clear();
  bench.told.assign(bench.specs.size(), false);
  for (const PeerSpec& spec : bench.specs) {
    bench.peers.push_back(std::make_unique<PeerProcess>(spec, bench.threads));
    if (bench.peers.back()->alive()) fmt::print(stderr, "dynrun: peer {}: {}\n", spec.name, bench.peers.back()->version());
  }
  report_ended_peers(bench);
}

std::vector<PeerProcess*> prepared_peers(OpBench& bench, const std::string& line) {
  std::vector<PeerProcess*> ready;
  for (const auto& peer : bench.peers) {
    std::string reason;
    const bool can = peer->alive() && peer->prepare(line, reason);
    if (!reason.empty()) note(fmt::format("peer {} cannot do \"{}\": {}", peer->name(), line, reason));
    ready.push_back(can ? peer.get() : nullptr);
    peer->wait_until_asleep();
  }
  return ready;
}

OpRecord record_of(const OpBench& bench, const OpCase& test, int copies, double flops, const SliceTimes& times) {
  const double bytes = compulsory_bytes(test.problem, test.values, bench.arguments.options.precision), all_bytes = bytes * copies;
  OpRecord record{{{"op", test.problem.op}}, describe(test), bench.threads, bench.arguments.op.cold ? "cold" : "warm", {}, times.ratios};
  Row& row = record.row;
  if (!test.suite.empty()) row.emplace_back("suite", test.suite);
  for (const std::string& name : test.names) row.emplace_back(name, test.values.at(name));
  for (const auto& [name, value] : test.problem.attributes) row.emplace_back(name, value);
  row.emplace_back("threads", std::int64_t{bench.threads});
  row.emplace_back("device", bench.model->device_name());
  if (bench.arguments.options.precision != Options().precision) row.emplace_back("weights", bench.arguments.options.precision);
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
    const double limit = std::max(flops / (bench.peak->at(bench.threads).gflops * 1e9),
                                  bytes / bench.peak->bytes_per_second(all_bytes, bench.threads));
    record.limit_ratio = limit / median;
    row.emplace_back("limit_ms", limit * ms);
  }
  row.emplace_back("limit_ratio", record.limit_ratio ? Cell(*record.limit_ratio) : Cell());
  const auto cell = [](const std::optional<double>& ratio) { return ratio ? Cell(*ratio) : Cell(); };
  for (std::size_t i = 0; i < bench.specs.size(); ++i) row.emplace_back("ratio_" + bench.specs[i].name, cell(times.ratios[i]));
  if (!bench.specs.empty()) row.emplace_back("ratio_best", cell(record.ratio_best()));
  return record;
}

void bench_case(OpBench& bench, const OpCase& test) {
  const OpArguments& op = bench.arguments.op;
  const int copies = copies_for(bench, compulsory_bytes(test.problem, test.values, bench.arguments.options.precision));
  DimMap named;
  for (const std::string& name : dim_names(test.problem.operands)) named[name] = test.values.at(name);
  OpRun run(load_op(bench, test.problem, copies), named, bench.arguments.options.seed);
  run.run();
  const double flops = run.plan().flops() / copies;
  const std::vector<PeerProcess*> ready = prepared_peers(bench, problem_line(test, copies));
  const SliceTimes times = time_alternating({op.rounds, op.slice_ms / ms}, [&] { run.run(); }, ready);
  for (PeerProcess* peer : ready) {
    if (peer != nullptr) peer->done();
  }
  report_ended_peers(bench);
  bench.records.push_back(record_of(bench, test, copies, flops, times));
  const std::optional<double> limit_ratio = bench.records.back().limit_ratio;
  if (limit_ratio && *limit_ratio > defect_ratio) {
    note(fmt::format("{} threads={}: limit_ratio is {:.3f}: the limit is wrong here", describe(test), bench.threads, *limit_ratio));
  }
}

}  // namespace

void bench_op(const Arguments& arguments) {
  const std::vector<OpCase> cases = requested_cases(arguments);
  for (const OpCase& test : cases) result_of(test.problem, test.values);  // what does not fit is told before anything is timed
  const std::string peer_program = (std::filesystem::path(arguments.program).parent_path() / "dyn-peer").string();
  OpBench bench{arguments, std::nullopt, parse_peers(arguments.op.peers, peer_program), {}, {}, 1, {}, nullptr, {}};
  std::string problem;
  bench.peak = machine_peak(arguments, problem);
  if (!problem.empty()) note(problem);
  std::vector<int> thread_counts = arguments.thread_counts;
  if (thread_counts.empty()) thread_counts = {runtime::default_threads()};
  for (const int threads : thread_counts) {
    bench.threads = threads;
    start_peers(bench);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      show_progress(fmt::format("threads {}, shape {} of {}: {}", threads, i + 1, cases.size(), describe(cases[i])));
      bench_case(bench, cases[i]);
    }
    show_progress("");
  }
  std::vector<std::string> names;
  for (const PeerSpec& spec : bench.specs) names.push_back(spec.name);
  fmt::print("{}", report_text(bench.records, names, arguments.format));
}

}  // namespace dyn::cli
