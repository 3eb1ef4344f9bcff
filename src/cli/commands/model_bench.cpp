#include "src/cli/commands/model_bench.hpp"

#include <fmt/format.h>

#include "src/base/statistics.hpp"
#include "src/cli/input/inputs.hpp"
#include "src/cli/report/gpu_peak.hpp"
#include "src/cli/report/progress.hpp"
#include "src/cli/report/units.hpp"
#include "targets/ptx/cuda/device.hpp"

namespace dyn::cli {
namespace {

constexpr int plan_samples = 9;

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

std::vector<ModelPtr> load_models(Arguments arguments) {
  const std::vector<int> counts = arguments.thread_counts.empty()
                                      ? std::vector{arguments.options.threads}
                                      : arguments.thread_counts;
  std::vector<ModelPtr> models;
  for (const int threads : counts) {
    arguments.options.threads = threads;
    models.push_back(load_model(arguments));
  }
  return models;
}

double traffic_bytes(ShapeCall& shape, const runtime::Plan& plan) {
  const runtime::Model& model = *shape.at.model;
  double bytes = model.weight_bytes_read(plan);
  if (shape.session != nullptr && model.module().growth.valid()) {
    const std::int64_t appended = graph::evaluate(model.module().growth, plan.symbols);
    bytes += static_cast<double>(shape.session->bytes_below(shape.session->length() + appended));
  }
  for (const Tensor& input : shape.inputs) bytes += static_cast<double>(input.bytes());
  for (std::size_t i = 0; i < model.outputs().size(); ++i)
    bytes += static_cast<double>(shape.call.output(i).bytes());
  return bytes;
}

double plan_seconds(const ModelAt& at) {
  std::vector<double> samples;
  for (int i = 0; i < plan_samples; ++i)
    samples.push_back(seconds_of([&] { at.model->plan_uncached(at.symbols); }));
  return percentile(std::move(samples), 50);
}

}  // namespace

Arguments with_first_threads(Arguments arguments) {
  if (!arguments.thread_counts.empty()) arguments.options.threads = arguments.thread_counts.front();
  return arguments;
}

ShapeCall::ShapeCall(const ModelPtr& model, std::span<const std::int64_t> symbols,
                     const std::map<std::string, Tensor>& loaded, const Arguments& arguments)
    : at(model_at(model, symbols)),
      inputs(make_inputs(*model, symbols, loaded, arguments.options.seed)),
      session(make_session(model, symbols, arguments.options.seed)),
      call(cli::make_call(model, session)),
      head{{"model", model_name(arguments)}} {
  for (std::size_t i = 0; i < inputs.size(); ++i) call.set_input(i, inputs[i]);
  for (const auto& [name, value] : named_dims(*model, symbols)) head.emplace_back(name, value);
  head.emplace_back("threads", std::int64_t{at.model->threads()});
}

ModelBench::ModelBench(const Arguments& arguments)
    : arguments_(arguments), models_(load_models(arguments)) {
  const runtime::Model& model = *models_.front();
  TextCoder texts(model.inputs(), model.outputs());
  loaded_ = as_declared(load_inputs(arguments.load_inputs), model, texts);
  shapes_ = requested_shapes(model, arguments, loaded_);
  std::string problem;
  if (runs_on_cpu(arguments)) peak_ = machine_peak(arguments, problem);
  if (arguments.options.device == "cuda")
    gpu_ = ptx::open_cuda_device(arguments.options.gpu, "")->machine();
  if (!problem.empty()) show_note(problem);
}

/// Nothing where the run decides sizes, and plans on its way.
std::optional<double> ModelBench::limit_of(ShapeCall& shape) const {
  if (!shape.at.model->steps().empty()) return std::nullopt;
  const runtime::Plan& plan = shape.call.plan();
  const double bytes = traffic_bytes(shape, plan);
  if (peak_) return peak_->limit_seconds(plan.flops_by_group(), bytes, shape.at.model->threads());
  if (gpu_) return limit_seconds(*gpu_, arguments_.options.precision, plan.flops(), bytes);
  return std::nullopt;
}

Row ModelBench::time(ShapeCall& shape) const {
  const double first = seconds_of([&] { shape.call.run(); });
  const std::vector<double> samples = repeat(repetition_of(arguments_), [&] { shape.call.run(); });
  const double median = percentile(samples, 50);
  const bool has_plan = shape.at.model->steps().empty();
  Row row = shape.head;
  row.emplace_back("device", shape.at.model->device_name());
  row.emplace_back("first_ms", first * ms);
  row.emplace_back("new_shape_us", has_plan ? Cell(plan_seconds(shape.at) * us) : Cell());
  row.emplace_back("median_ms", median * ms);
  for (const double percent : arguments_.percentiles)
    row.emplace_back(fmt::format("p{}_ms", percent), percentile(samples, percent) * ms);
  row.emplace_back("gflops", has_plan ? Cell(shape.call.plan().flops() / median / 1e9) : Cell());
  const std::optional<double> limit = limit_of(shape);
  row.emplace_back("limit_ms", limit ? Cell(*limit * ms) : Cell());
  row.emplace_back("limit_ratio", limit ? Cell(*limit / median) : Cell());
  row.emplace_back("runs", static_cast<std::int64_t>(samples.size()));
  return row;
}

}  // namespace dyn::cli
