// dynrun run: one run, its outputs summarised or saved.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <span>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/codes.hpp"
#include "graph/ir/scalars.hpp"
#include "src/cli/arguments.hpp"
#include "src/cli/input/inputs.hpp"
#include "src/cli/input/npy.hpp"
#include "src/cli/input/session.hpp"
#include "src/cli/report/progress.hpp"
#include "src/cli/report/texts.hpp"

namespace dyn::cli {
namespace {

struct Summary {
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
  std::int64_t not_finite = 0;
};

Summary summarize(std::int64_t count, const auto& element) {
  Summary summary;
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = element(i);
    if (!std::isfinite(value)) {
      ++summary.not_finite;
      continue;
    }
    summary.low = std::min(summary.low, value);
    summary.high = std::max(summary.high, value);
    summary.sum += value;
  }
  return summary;
}

Summary summarize(const Tensor& tensor) {
  Summary summary;
  const bool has_elements = graph::with_element_type(tensor.dtype(), [&](auto zero) {
    const auto elements = tensor.data<decltype(zero)>();
    summary = summarize(tensor.size(), [&](std::int64_t i) {
      return static_cast<double>(elements[static_cast<std::size_t>(i)]);
    });
  });
  if (has_elements) return summary;
  const auto* bits = static_cast<const std::uint16_t*>(tensor.raw());
  return summarize(tensor.size(),
                   [&](std::int64_t i) { return graph::float_of_code(tensor.dtype(), bits[i]); });
}

Row output_row(const std::string& name, const Tensor& tensor) {
  Row row{{"output", name},
          {"dtype", std::string(name_of(tensor.dtype()))},
          {"shape", to_string(tensor.shape())}};
  const Summary summary = summarize(tensor);
  const std::int64_t finite = tensor.size() - summary.not_finite;
  row.emplace_back("min", finite > 0 ? Cell(summary.low) : Cell());
  row.emplace_back("max", finite > 0 ? Cell(summary.high) : Cell());
  row.emplace_back("mean", finite > 0 ? Cell(summary.sum / static_cast<double>(finite)) : Cell());
  row.emplace_back("not_finite", Cell(summary.not_finite));
  return row;
}

Row text_row(const std::string& name, const TextArray& array) {
  return {{"output", name},
          {"dtype", std::string("text")},
          {"shape", to_string(array.shape)},
          {"texts", shown(array.texts)}};
}

/// An output's elements: numbers, or texts.
std::variant<Tensor, TextArray> read_output(const PortInfo& port, const Tensor& tensor,
                                            const TextCoder& texts) {
  if (port.texts == nullptr) return tensor;
  return TextArray{texts.decode(port.name, tensor), tensor.shape()};
}

void save_outputs(const std::string& directory, std::span<const std::string> names,
                  std::span<const std::variant<Tensor, TextArray>> outputs) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    throw Error(ErrorKind::device,
                fmt::format("--save-outputs {}: {}", directory, error.message()));
  const std::vector<std::string> files = file_names(names);
  for (std::size_t i = 0; i < files.size(); ++i)
    std::visit(
        [&](const auto& output) {
          write_npy((std::filesystem::path(directory) / (files[i] + ".npy")).string(), output);
        },
        outputs[i]);
}

}  // namespace

void run_model(const Arguments& arguments) {
  const LoadedInputs given = load_inputs(arguments.load_inputs);
  const std::shared_ptr<const runtime::Model> model = load_model(arguments);
  TextCoder texts(model->inputs(), model->outputs());
  const std::map<std::string, Tensor> loaded = as_declared(given, *model, texts);
  show_progress("running " + arguments.model);
  const std::unique_ptr<runtime::CallState> call =
      run_once(model, requested_shape(*model, arguments, loaded), loaded, arguments.options.seed);
  show_progress("");
  std::vector<Row> rows;
  std::vector<std::string> names;
  std::vector<std::variant<Tensor, TextArray>> outputs;
  for (std::size_t i = 0; i < model->outputs().size(); ++i) {
    const PortInfo& port = model->outputs()[i];
    names.push_back(port.name);
    outputs.push_back(read_output(port, call->output(i), texts));
    const auto* array = std::get_if<TextArray>(&outputs.back());
    rows.push_back(array != nullptr ? text_row(port.name, *array)
                                    : output_row(port.name, call->output(i)));
  }
  if (!arguments.save_outputs.empty()) save_outputs(arguments.save_outputs, names, outputs);
  fmt::print("{}", to_text(rows, arguments.format));
}

}  // namespace dyn::cli
