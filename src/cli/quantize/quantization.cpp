#include "src/cli/quantize/quantization.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/passes/products/narrow_products.hpp"
#include "graph/passes/products/quantize_products.hpp"
#include "graph/text/text.hpp"
#include "src/cli/report/progress.hpp"

namespace dyn::cli {
namespace {

const QuantizeArguments& checked(const QuantizeArguments& wanted) {
  if (wanted.weights == "i8" && wanted.compute != "i8")
    throw Error(ErrorKind::user,
                fmt::format("weights of i8 are multiplied in i8: give --compute i8 in place of {}, "
                            "or leave the file as it is and load it with Options::weights",
                            wanted.compute));
  return wanted;
}

}  // namespace

Quantization::Quantization(const Arguments& arguments)
    : arguments_(arguments),
      wanted_(checked(arguments.quantize)),
      source_(model_text_of(arguments)),
      module_(graph::parse(source_.text, source_.name)),
      layers_(layers_of(module_, wanted_.exclude)),
      samples_(samples_of(arguments, wanted_.calibrate)) {
  const auto stays = [](const QuantizedLayer& layer) { return !layer.kept.empty(); };
  if (std::ranges::all_of(layers_, stays))
    throw Error(ErrorKind::user,
                fmt::format("{}: no product of f32 by a constant weight can be quantised; those of "
                            "f16 and bf16 stay as they are",
                            arguments.model));
}

ModelText Quantization::make(const std::string& file) {
  watch_originals();
  graph::Module module = module_;
  narrow(module);
  std::map<std::string, std::string_view> views;
  const runtime::LoadRequest request = source_.request(views);
  const runtime::WeightSources sources(module, request, arguments_.options);
  std::map<std::string, std::string> made;
  if (by_codes()) code_weights(module, layers_, wanted_.group, sources, made);
  ModelText quantised =
      with_weights_in(module, sources, request, arguments_.options, std::move(made), file);
  compare(load(quantised, watching(module, results())));
  return quantised;
}

/// Left sides, and weights of i8; codes of 4 bits are made later.
void Quantization::narrow(graph::Module& module) const {
  const auto chosen = [this](const graph::Node& node) { return is_chosen(node); };
  if (wanted_.compute == "bf16") graph::narrow_products(module, DType::bf16, chosen);
  if (!by_bytes()) return;
  graph::DecomposeOptions target;
  target.integer_factor = DType::u8;
  target.codes_weights = by_codes();
  graph::quantize_products(module, target, {chosen, reaches_});
}

std::string Quantization::format_of(const QuantizedLayer& layer) const {
  if (!layer.kept.empty()) return "f32";
  const std::string weights =
      by_codes() && !(by_bytes() && layer.is_conv) ? fmt::format("i4 in {}", wanted_.group) : "i8";
  return wanted_.compute == "f32" ? weights : fmt::format("{} by {}", weights, wanted_.compute);
}

std::vector<Row> Quantization::layer_rows() const {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const QuantizedLayer& layer = layers_[i];
    const graph::Value& weight = module_.value(layer.weight);
    rows.push_back({{"layer", layer.name},
                    {"weight", weight.name},
                    {"shape", to_string(runtime::weight_shape(weight))},
                    {"format", format_of(layer)},
                    {"relative_error", errors_[i].value()},
                    {"kept_because", layer.kept.empty() ? Cell() : Cell(layer.kept)}});
  }
  return rows;
}

std::vector<Row> Quantization::output_rows() const {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < module_.outputs.size(); ++i) {
    if (output_errors_[i])
      rows.push_back({{"output", module_.output_names[i]},
                      {"samples", static_cast<std::int64_t>(samples_.size())},
                      {"relative_error", output_errors_[i]->value()}});
  }
  return rows;
}

bool Quantization::is_chosen(const graph::Node& node) const {
  return std::ranges::any_of(layers_, [&](const QuantizedLayer& layer) {
    return layer.result == node.outputs[0] && layer.kept.empty();
  });
}

std::vector<graph::ValueId> Quantization::results() const {
  std::vector<graph::ValueId> values;
  for (const QuantizedLayer& layer : layers_) values.push_back(layer.result);
  return values;
}

std::shared_ptr<const runtime::Model> Quantization::load(const ModelText& weights,
                                                         const graph::Module& module) const {
  show_progress("loading");
  return weights.load(graph::print(module), arguments_.options);
}

/// Notes the values of outputs and layers in the model as it was, and how far its left sides reach.
void Quantization::watch_originals() {
  const bool calibrates = by_bytes() && !wanted_.calibrate.empty();
  std::vector<graph::ValueId> watched = results();
  for (const QuantizedLayer& layer : layers_) {
    if (calibrates && layer.kept.empty()) watched.push_back(layer.left);
  }
  const std::size_t own = module_.outputs.size(), kept = own + layers_.size();
  run_samples(load(source_, watching(module_, watched)), arguments_, samples_,
              [&](std::size_t, const std::vector<Tensor>& outputs) {
                for (std::size_t i = kept; i < outputs.size(); ++i)
                  widen(watched[i - own], outputs[i]);
                originals_.emplace_back(outputs.begin(),
                                        outputs.begin() + static_cast<std::ptrdiff_t>(kept));
              });
  show_progress("");
}

void Quantization::widen(graph::ValueId left, const Tensor& tensor) {
  double& reach = reaches_[left];
  for (const float element : tensor.data<float>())
    reach = std::max(reach, std::fabs(double{element}));
}

void Quantization::compare(const std::shared_ptr<const runtime::Model>& quantised) {
  const std::size_t own = module_.outputs.size();
  errors_.resize(layers_.size());
  for (std::size_t i = 0; i < own; ++i) {
    const bool is_number = originals_.front()[i].dtype() == DType::f32;
    output_errors_.push_back(is_number ? std::optional(RelativeError()) : std::nullopt);
  }
  run_samples(quantised, arguments_, samples_,
              [&](std::size_t sample, const std::vector<Tensor>& outputs) {
                const std::vector<Tensor>& originals = originals_[sample];
                for (std::size_t i = 0; i < own; ++i) {
                  if (output_errors_[i]) output_errors_[i]->add(originals[i], outputs[i]);
                }
                for (std::size_t i = 0; i < layers_.size(); ++i)
                  errors_[i].add(originals[own + i], outputs[own + i]);
              });
  show_progress("");
}

}  // namespace dyn::cli
