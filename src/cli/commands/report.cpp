// dynrun report: a page about a model at some shapes, or about two such pages.

#include <algorithm>
#include <ctime>
#include <filesystem>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "dyn/error.hpp"
#include "dyn/version.hpp"
#include "src/cli/arguments.hpp"
#include "src/cli/commands/explain.hpp"
#include "src/cli/commands/load_times.hpp"
#include "src/cli/commands/model_bench.hpp"
#include "src/cli/op/peer_team.hpp"
#include "src/cli/op/slices.hpp"
#include "src/cli/page/page.hpp"
#include "src/cli/page/run_data.hpp"
#include "src/cli/report/profile.hpp"
#include "src/cli/report/progress.hpp"
#include "src/cli/report/units.hpp"
#include "targets/cpu/x86/cpu_info.hpp"

namespace dyn::cli {
namespace {

constexpr std::size_t profiled_runs_of_report = 5;

/// The one of the median duration among some.
Profile usual_run(ShapeCall& shape) {
  std::vector<Profile> runs;
  while (runs.size() < profiled_runs_of_report)
    runs.push_back(profiled_run(shape.call, shape.head));
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
  std::ranges::nth_element(runs, middle, {},
                           [](const Profile& run) { return run.end_ns - run.start_ns; });
  return std::move(*middle);
}

/// Blanks and what is no printable ASCII as %XX: a word of the peers' protocol.
std::string as_word(const std::string& text) {
  std::string word;
  for (const unsigned char c : text) {
    if (c <= ' ' || c > '~' || c == '%')
      word += fmt::format("%{:02X}", c);
    else
      word += static_cast<char>(c);
  }
  return word;
}

std::string tensor_word(const char* role, const Tensor& tensor) {
  return fmt::format(" {}={}:{}", role, name_of(tensor.dtype()), fmt::join(tensor.shape(), "x"));
}

/// The request of docs/peers.md for a whole model.
std::string model_problem(const Arguments& arguments, const ShapeCall& shape) {
  std::string line = "problem model copies=1 @file=" +
                     as_word(std::filesystem::absolute(arguments.model).string());
  for (const Tensor& input : shape.inputs) line += tensor_word("input", input);
  for (std::size_t i = 0; i < shape.at.model->outputs().size(); ++i)
    line += tensor_word("output", shape.call.output(i));
  return line;
}

/// Adds the seconds of each peer, and of dyn's slices between theirs.
void add_peers(ReportData& data, const Arguments& arguments, ShapeCall& shape, PeerTeam& peers) {
  data["peers"] = ReportData::object();
  if (peers.specs().empty()) return;
  const std::vector<PeerProcess*> ready = peers.prepare(model_problem(arguments, shape));
  const OpArguments& op = arguments.op;
  const SliceTimes times =
      time_alternating({op.rounds, op.slice_ms / ms}, [&] { shape.call.run(); }, ready);
  peers.done(ready);
  data["times"]["peer_base_s"] = times.median_seconds;
  for (std::size_t i = 0; i < times.ratios.size(); ++i) {
    if (times.ratios[i])
      data["peers"][peers.specs()[i].name] = *times.ratios[i] * times.median_seconds;
  }
}

/// None where the run plans on its way.
ReportData choices_data(const ShapeCall& shape) {
  ReportData data = ReportData::array();
  const runtime::Model& model = *shape.at.model;
  if (!model.steps().empty()) return data;
  const runtime::Plan& plan = shape.call.plan();
  const std::vector<Explanation> alike = explanations(
      chosen_groups(model, ""), [&](std::size_t group) { return model.explain(group, plan); });
  for (const Explanation& explanation : alike) {
    ReportData names = ReportData::array();
    for (const std::size_t group : explanation.groups)
      names.push_back(model.fusion().groups[group].name);
    data.push_back({{"groups", std::move(names)}, {"text", explanation.text}});
  }
  return data;
}

ReportData shape_data(const Arguments& arguments, const ModelBench& bench, ShapeCall& shape,
                      PeerTeam& peers) {
  const Row row = bench.time(shape);
  ReportData dims = row_data({shape.head.begin() + 1, shape.head.end() - 1});
  ReportData data{
      {"dims", std::move(dims)},
      {"threads", shape.at.model->threads()},
      {"times",
       row_data({row.begin() + static_cast<std::ptrdiff_t>(shape.head.size()) + 1, row.end()})}};
  add_peers(data, arguments, shape, peers);
  data["run"] = run_data(usual_run(shape));
  data["choices"] = choices_data(shape);
  return data;
}

ReportData options_data(const Arguments& arguments, const ModelBench& bench) {
  const Options& options = arguments.options;
  const Options usual;
  ReportData data = ReportData::object();
  std::vector<int> threads;
  for (const ModelPtr& model : bench.models()) threads.push_back(model->threads());
  data["threads"] = fmt::format("{}", fmt::join(threads, ", "));
  data["precision"] = options.precision;
  if (!options.weights.empty()) data["weights"] = options.weights;
  if (options.random_weights) data["weights from"] = fmt::format("seed {}", options.seed);
  if (options.policy != usual.policy) data["policy"] = options.policy;
  if (!options.tuning.empty()) data["tuning"] = options.tuning;
  if (options.vendor) data["vendor"] = "as well";
  if (options.deterministic) data["deterministic"] = "yes";
  return data;
}

/// The machine's rates at each number of threads that was measured.
ReportData peak_data(const ModelBench& bench) {
  if (!bench.peak()) return nullptr;
  ReportData data = ReportData::array();
  for (const ModelPtr& model : bench.models()) {
    const PeakFigures figures = bench.peak()->at(model->threads());
    data.push_back({{"threads", model->threads()},
                    {"gflops", figures.gflops},
                    {"i8_gflops", figures.i8_gflops},
                    {"bf16_gflops", figures.bf16_gflops},
                    {"l1_gb_per_s", figures.l1_gb_per_s},
                    {"l2_gb_per_s", figures.l2_gb_per_s},
                    {"l3_gb_per_s", figures.l3_gb_per_s},
                    {"dram_gb_per_s", figures.dram_gb_per_s}});
  }
  return data;
}

ReportData loads_data(const Arguments& arguments, const ModelBench& bench) {
  std::vector<Row> rows{
      load_row(model_name(arguments), "this", bench.models().front()->load_report())};
  if (!arguments.skip_load) append_rows(rows, time_loads(arguments));
  ReportData data = ReportData::array();
  for (const Row& row : rows) data.push_back(row_data(row));
  return data;
}

ReportData report_data(const Arguments& arguments) {
  PeerTeam peers(arguments.op.peers, arguments.program);
  const ModelBench bench(arguments);
  ReportData data{{"format", "dyn-report"},
                  {"version", report_version},
                  {"dyn", version()},
                  {"made", fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)))},
                  {"model", model_name(arguments)},
                  {"file", arguments.model},
                  {"machine", cpu::cpu_name()},
                  {"device", bench.models().front()->device_name()},
                  {"options", options_data(arguments, bench)},
                  {"loads", loads_data(arguments, bench)},
                  {"peak", peak_data(bench)},
                  {"peers", peers.names()},
                  {"shapes", ReportData::array()}};
  const std::size_t count = bench.shapes().size();
  for (const ModelPtr& model : bench.models()) {
    if (!peers.specs().empty()) peers.start(model->threads());
    for (std::size_t i = 0; i < count; ++i) {
      show_progress(fmt::format("shape {} of {}, threads {}", i + 1, count, model->threads()));
      ShapeCall shape = bench.make_call(model, bench.shapes()[i]);
      data["shapes"].push_back(shape_data(arguments, bench, shape, peers));
    }
  }
  show_progress("");
  return data;
}

/// Before the work, which may be long.
void require_place(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (std::filesystem::is_directory(path) || !std::filesystem::is_directory(folder))
    throw Error(ErrorKind::device, fmt::format("-o {}: there is no such folder", path));
}

std::string title_of(const ReportData& data) {
  return fmt::format("dyn: {}", data["model"].get<std::string>());
}

}  // namespace

void report_model(const Arguments& arguments) {
  const ReportArguments& report = arguments.report;
  require_place(arguments.output);
  const int sources = (arguments.model.empty() ? 0 : 1) + (report.from.empty() ? 0 : 1) +
                      (report.compare.empty() ? 0 : 1);
  if (sources != 1)
    throw Error(ErrorKind::user, "give one of: a MODEL, --from REPORT, or --compare REPORT REPORT");
  if (!report.compare.empty()) {
    const ReportData first = read_report(report.compare[0]),
                     second = read_report(report.compare[1]);
    write_report(arguments.output, title_of(first) + " and " + title_of(second),
                 compared(first, second));
  } else {
    const ReportData data =
        report.from.empty() ? report_data(with_first_threads(arguments)) : read_report(report.from);
    write_report(arguments.output, title_of(data), data);
  }
  fmt::print("{}\n", arguments.output);
}

}  // namespace dyn::cli
