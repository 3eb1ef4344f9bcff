// dynrun bench: load, first call, new shapes and steady state, each apart.

#include <algorithm>
#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "src/base/statistics.hpp"
#include "src/cli/arguments.hpp"
#include "src/cli/commands/load_times.hpp"
#include "src/cli/input/inputs.hpp"
#include "src/cli/input/session.hpp"
#include "src/cli/input/standard_input.hpp"
#include "src/cli/report/gpu_peak.hpp"
#include "src/cli/report/peak.hpp"
#include "src/cli/report/profile.hpp"
#include "src/cli/report/statistics.hpp"
#include "src/cli/report/units.hpp"
#include "targets/ptx/cuda/device.hpp"

namespace dyn::cli {
namespace {

constexpr int plan_samples = 9;

struct Bench {
  const Arguments& arguments;
  std::vector<std::shared_ptr<const runtime::Model>> models;  ///< one for each number of threads
  std::shared_ptr<const runtime::Model> model;  ///< the model at the number of threads in use
  std::optional<Peak> peak;                     ///< the CPU's limits, for a model on it
  std::optional<choice::GpuMachine>
      gpu;  ///< the GPU that the model runs on; an emulated one has no speed
  std::map<std::string, Tensor> loaded;
  std::vector<Row> rows, group_rows;
  std::vector<TraceRun> trace;
};

bool runs_on_cpu(const Arguments& arguments) {
  return arguments.options.device == "cpu" || arguments.options.device == "reference";
}

/// The emulator is slow and needs no warm-up: it does the fewest runs, unless more are asked for.
Repetition repetition_of(const Arguments& arguments) {
  const Repetition defaults =
      arguments.options.device == "emulator" ? Repetition{0, 0, 0} : Repetition{};
  return {arguments.iterations, arguments.duration_seconds.value_or(defaults.duration_seconds),
          arguments.warmup_seconds.value_or(defaults.warmup_seconds)};
}

std::vector<std::shared_ptr<const runtime::Model>> load_models(
    Arguments arguments, const std::vector<int>& thread_counts) {
  std::vector<std::shared_ptr<const runtime::Model>> models;
  for (const int threads : thread_counts) {
    arguments.options.threads = threads;
    models.push_back(load_model(arguments));
  }
  return models;
}

/// `model`: whose the plan is.
double traffic_bytes(const runtime::Model& model, const runtime::Plan& plan,
                     const std::vector<Tensor>& inputs, runtime::CallState& call,
                     const runtime::SessionState* session) {
  double bytes = model.weight_bytes_read(plan);
  if (session != nullptr && model.module().growth.valid()) {
    const std::int64_t appended = graph::evaluate(model.module().growth, plan.symbols);
    bytes += static_cast<double>(session->bytes_below(session->length() + appended));
  }
  for (const Tensor& input : inputs) bytes += static_cast<double>(input.bytes());
  for (std::size_t i = 0; i < model.outputs().size(); ++i)
    bytes += static_cast<double>(call.output(i).bytes());
  return bytes;
}

std::optional<double> limit_of(const Bench& bench, const runtime::Plan& plan, double bytes) {
  if (bench.peak)
    return bench.peak->limit_seconds(plan.flops_by_group(), bytes, bench.model->threads());
  if (bench.gpu)
    return limit_seconds(*bench.gpu, bench.arguments.options.precision, plan.flops(), bytes);
  return std::nullopt;
}

double plan_seconds(const runtime::Model& model, std::span<const std::int64_t> symbols) {
  std::vector<double> samples;
  for (int i = 0; i < plan_samples; ++i)
    samples.push_back(seconds_of([&] { model.plan_uncached(symbols); }));
  return percentile(std::move(samples), 50);
}

/// first_ms: the first call at this shape; in the first row, the first call at all. new_shape_us:
/// the time that planning adds to a steady call when a shape is new. All other columns are steady
/// state.
void bench_shape(Bench& bench, const std::vector<std::int64_t>& symbols) {
  const Arguments& arguments = bench.arguments;
  const ModelAt at = model_at(bench.model, symbols);
  const runtime::Model& model = *at.model;
  const std::vector<Tensor> inputs =
      make_inputs(*bench.model, symbols, bench.loaded, arguments.options.seed);
  const std::shared_ptr<runtime::SessionState> session =
      make_session(bench.model, symbols, arguments.options.seed);
  runtime::CallState call = make_call(bench.model, session);
  for (std::size_t i = 0; i < inputs.size(); ++i) call.set_input(i, inputs[i]);

  const double first = seconds_of([&] { call.run(); });
  const std::vector<double> samples = repeat(repetition_of(arguments), [&] { call.run(); });
  const double median = percentile(samples, 50);
  const bool has_plan = model.steps().empty();  // else the run decides sizes, and plans on its way
  const double flops = has_plan ? call.plan().flops() : 0;
  Row shape{{"model", model_name(arguments)}};
  for (const auto& [name, value] : named_dims(*bench.model, symbols))
    shape.emplace_back(name, value);
  shape.emplace_back("threads", std::int64_t{model.threads()});
  Row row = shape;
  row.emplace_back("device", model.device_name());
  row.emplace_back("first_ms", first * ms);
  row.emplace_back("new_shape_us", has_plan ? Cell(plan_seconds(model, at.symbols) * us) : Cell());
  row.emplace_back("median_ms", median * ms);
  for (const double percent : arguments.percentiles) {
    row.emplace_back(fmt::format("p{}_ms", percent), percentile(samples, percent) * ms);
  }
  row.emplace_back("gflops", has_plan ? Cell(flops / median / 1e9) : Cell());
  const std::optional<double> limit =
      has_plan ? limit_of(bench, call.plan(),
                          traffic_bytes(model, call.plan(), inputs, call, session.get()))
               : std::nullopt;
  row.emplace_back("limit_ms", limit ? Cell(*limit * ms) : Cell());
  row.emplace_back("limit_ratio", limit ? Cell(*limit / median) : Cell());
  row.emplace_back("runs", static_cast<std::int64_t>(samples.size()));
  bench.rows.push_back(std::move(row));

  if (arguments.profile || !arguments.trace.empty()) model.require_plan();
  if (arguments.profile) append_rows(bench.group_rows, group_profile(model, call, shape));
  if (!arguments.trace.empty()) bench.trace.push_back(traced_run(model, call, shape));
}

void print_tables(const Bench& bench, const std::vector<Row>& loads) {
  const Format format = bench.arguments.format;
  const std::vector<Row> targets = target_rows(*bench.model);
  if (format == Format::md) {
    if (!loads.empty()) fmt::print("{}\n", to_text(loads, format));
    if (!targets.empty()) fmt::print("{}\n", to_text(targets, format));
    fmt::print("{}", to_text(bench.rows, format));
    if (!bench.group_rows.empty()) fmt::print("\n{}", to_text(bench.group_rows, format));
    return;
  }
  // One flat table: the load's times stand in each row.
  std::vector<Row> rows = bench.rows;
  for (Row& row : rows) {
    for (const Row& load : loads) {
      const std::string& state = std::get<std::string>(load[1].second);
      row.emplace_back(fmt::format("load_{}_ms", state), load[2].second);
    }
    for (const Row& target : targets) {
      row.emplace_back(fmt::format("groups_on_{}", std::get<std::string>(target[0].second)),
                       target[1].second);
    }
  }
  append_rows(rows, bench.group_rows);
  fmt::print("{}", to_text(rows, format));
}

}  // namespace

void bench_model(const Arguments& given) {
  Arguments arguments = given;
  const std::vector<int> counts =
      given.thread_counts.empty() ? std::vector{given.options.threads} : given.thread_counts;
  arguments.options.threads = counts.front();
  if (arguments.load_only) {
    const std::shared_ptr<const runtime::Model> model = load_model(arguments);
    fmt::print("{}", to_text({load_row(model_name(arguments), "this", model->load_report())},
                             arguments.format));
    return;
  }
  if (!arguments.skip_load)
    refuse_standard_input(arguments.model, "other processes load it again; give --skip-load");
  if (!arguments.trace.empty())
    write_trace(arguments.trace, {});  // fails before the work, not after it
  Bench bench{
      arguments, load_models(given, counts), nullptr, std::nullopt, std::nullopt, {}, {}, {}, {}};
  bench.model = bench.models.front();
  TextCoder texts(bench.model->inputs(), bench.model->outputs());
  bench.loaded = as_declared(load_inputs(arguments.load_inputs), *bench.model, texts);
  const auto shapes = requested_shapes(*bench.model, arguments, bench.loaded);
  std::string problem;
  if (runs_on_cpu(arguments)) bench.peak = machine_peak(arguments, problem);
  if (arguments.options.device == "cuda")
    bench.gpu = ptx::open_cuda_device(arguments.options.gpu, "")->machine();
  if (!problem.empty()) fmt::print(stderr, "dynrun: note: {}\n", problem);
  const std::vector<Row> loads = arguments.skip_load ? std::vector<Row>() : time_loads(arguments);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (const auto& model : bench.models) {
      show_progress(
          fmt::format("shape {} of {}, threads {}", i + 1, shapes.size(), model->threads()));
      bench.model = model;
      bench_shape(bench, shapes[i]);
    }
  }
  show_progress("");
  print_tables(bench, loads);
  if (!arguments.trace.empty()) write_trace(arguments.trace, bench.trace);
}

}  // namespace dyn::cli
