#include "tests/conformance/run_case.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dyn/error.hpp"
#include "dyn/graph.hpp"
#include "dyn/texts.hpp"
#include "src/runtime/load/model.hpp"
#include "tests/conformance/values.hpp"

namespace dyn::conformance {
namespace {

namespace fs = std::filesystem;

constexpr const char* result_names[] = {"pass", "fail", "refused", "out of scope"};

/// Inputs or outputs of a graph.
using Declared = std::vector<const onnx::ValueInfoProto*>;

/// A caller gives these, and gets these.
struct DataSet {
  std::vector<Values> inputs, outputs;
};

std::vector<Values> read_values(const fs::path& folder, const std::string& prefix,
                                const Declared& declared) {
  std::vector<Values> values;
  for (std::size_t i = 0; fs::exists(folder / fmt::format("{}_{}.pb", prefix, i)); ++i) {
    const onnx::TensorProto tensor =
        read_tensor((folder / fmt::format("{}_{}.pb", prefix, i)).string());
    if (i < declared.size())
      values.emplace_back(tensor, *declared[i]);
    else
      values.emplace_back(tensor);
  }
  return values;
}

DataSet light_data(const Case& test, const Declared& inputs) {
  DataSet data;
  for (const onnx::ValueInfoProto* input : inputs) {
    Shape dims;
    for (const onnx::TensorShapeProto::Dimension& dim : input->type().tensor_type().shape().dim())
      dims.push_back(dim.has_dim_value() ? dim.dim_value() : 1);
    data.inputs.push_back(Values::ramp(dims));
  }
  data.outputs.emplace_back(read_tensor(test.light_output));
  return data;
}

std::vector<DataSet> read_data(const Case& test, const Declared& inputs,
                               const onnx::GraphProto& graph) {
  if (!test.light_output.empty()) return {light_data(test, inputs)};
  Declared outputs;
  for (const onnx::ValueInfoProto& output : graph.output()) outputs.push_back(&output);
  std::vector<DataSet> sets;
  for (const std::string& folder : test.data_sets)
    sets.push_back({read_values(folder, "input", inputs), read_values(folder, "output", outputs)});
  if (sets.empty()) throw std::runtime_error("the case has no data");
  return sets;
}

/// Views of the case's values by the names of the graph's inputs, texts as their places.
NamedTensors named(const Declared& inputs, const DataSet& data, TextCoder& texts) {
  if (inputs.size() != data.inputs.size())
    throw std::runtime_error(fmt::format("the case gives {} inputs, the graph has {}",
                                         data.inputs.size(), inputs.size()));
  NamedTensors tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    tensors.emplace_back(
        inputs[i]->name(),
        data.inputs[i].are_texts()
            ? texts.encode(inputs[i]->name(), data.inputs[i].texts(), data.inputs[i].dims())
            : data.inputs[i].view());
  return tensors;
}

/// Nothing where the outputs are right.
std::optional<std::string> run(const Graph& graph, const NamedTensors& inputs, const DataSet& data,
                               const Case& test, const TextCoder& texts) {
  const std::vector<PortInfo> ports = graph.outputs();
  const Outputs outputs = graph.run(inputs);
  if (outputs.size() != data.outputs.size())
    return fmt::format("{} outputs instead of {}", outputs.size(), data.outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Values& expected = data.outputs[i];
    if (expected.are_texts() != (ports[i].texts != nullptr))
      return fmt::format(
          "output {}: {}", i,
          expected.are_texts() ? "numbers instead of texts" : "texts instead of numbers");
    const auto wrong =
        expected.are_texts()
            ? difference(expected, texts.decode(ports[i].name, outputs[i]), outputs[i].shape())
            : difference(expected, outputs[i], test.rtol, test.atol);
    if (wrong) return fmt::format("output {}: {}", i, *wrong);
  }
  return std::nullopt;
}

std::map<std::string, int> targets_of(const runtime::Model& model) {
  std::map<std::string, int> targets;
  for (std::size_t group = 0; group < model.problems().size(); ++group)
    ++targets[model.kernel(group).target_name()];
  for (const runtime::SegmentStep& step : model.steps()) {
    if (!step.model)
      ++targets["host"];
    else
      for (const auto& [target, groups] : targets_of(*step.model)) targets[target] += groups;
  }
  return targets;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// Message and innermost place, in one line, without the model's path.
std::string line_of(const Error& error, const std::string& model) {
  std::string text = error.message();
  if (!error.where().empty() && error.where().front() != model)
    text += " (in " + error.where().front() + ")";
  replace_all(text, model + ": ", "");
  replace_all(text, model, "the model");
  replace_all(text, "\n  ", " ");
  replace_all(text, "\n", " ");
  return text;
}

/// The model that ran: where the values of inputs decide its structure, it is loaded again for
/// those of the case.
std::map<std::string, int> targets_of(const Graph& graph, const std::string& path, Options options,
                                      const NamedTensors& inputs) {
  if (graph.model()->deciding_inputs().empty()) return targets_of(*graph.model());
  options.known_inputs = {inputs.begin(), inputs.end()};
  return targets_of(*Graph::load(path, options).model());
}

Outcome run_unguarded(const Case& test, const RunSettings& settings) {
  Outcome outcome;
  const onnx::ModelProto model = read_model(test.model);
  const Declared inputs = inputs_of(model.graph());
  Options options;
  options.device = settings.device;
  options.threads = settings.threads;
  const Graph graph = Graph::load(test.model, options);
  for (const DataSet& data : read_data(test, inputs, model.graph())) {
    TextCoder texts(graph);
    const NamedTensors tensors = named(inputs, data, texts);
    if (const auto wrong = run(graph, tensors, data, test, texts)) {
      outcome.reason = *wrong;
      return outcome;
    }
    outcome.targets = targets_of(graph, test.model, options, tensors);
  }
  outcome.result = Result::Pass;
  return outcome;
}

}  // namespace

const char* name_of(Result result) { return result_names[static_cast<int>(result)]; }

Outcome run_case(const Case& test, const RunSettings& settings) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome;
  try {
    outcome = run_unguarded(test, settings);
  } catch (const Error& error) {
    outcome.result = error.kind() == ErrorKind::unsupported ? Result::Refused : Result::Fail;
    outcome.reason =
        (outcome.result == Result::Fail ? fmt::format("{} error: ", dyn::name_of(error.kind()))
                                        : "") +
        line_of(error, test.model);
  } catch (const std::exception& error) {
    outcome.result = Result::Fail;
    outcome.reason = fmt::format("exception: {}", error.what());
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

void to_json(nlohmann::json& json, const Outcome& outcome) {
  json = {{"result", name_of(outcome.result)},
          {"reason", outcome.reason},
          {"targets", outcome.targets},
          {"seconds", outcome.seconds}};
}

void from_json(const nlohmann::json& json, Outcome& outcome) {
  for (const Result result : {Result::Pass, Result::Fail, Result::Refused, Result::OutOfScope})
    if (json.at("result") == name_of(result)) outcome.result = result;
  json.at("reason").get_to(outcome.reason);
  json.at("targets").get_to(outcome.targets);
  json.at("seconds").get_to(outcome.seconds);
}

}  // namespace dyn::conformance
