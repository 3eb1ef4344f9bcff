#include "tests/conformance/suite.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dyn/error.hpp"
#include "tests/conformance/scope.hpp"

namespace dyn::conformance {
namespace {

namespace fs = std::filesystem;

template <class Message>
Message read_message(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  Message message;
  if (!file || !message.ParseFromString(bytes))
    throw Error(ErrorKind::device, fmt::format("{}: cannot be read as protobuf", path));
  return message;
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    entries.push_back(entry.path());
  if (error)
    throw Error(ErrorKind::device, fmt::format("{}: {}; it is not the ONNX suite's data",
                                               folder.string(), error.message()));
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::string without(const std::string& prefix, const std::string& text) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

void add_operators(const onnx::GraphProto& graph, std::set<std::string>& operators) {
  for (const onnx::NodeProto& node : graph.node()) {
    operators.insert(node.domain().empty() || node.domain() == "ai.onnx"
                         ? node.op_type()
                         : node.domain() + "." + node.op_type());
    for (const onnx::AttributeProto& attribute : node.attribute())
      if (attribute.has_g()) add_operators(attribute.g(), operators);
  }
}

/// Every model has constants and names for values: a case is about its other operators, where there
/// are any.
std::vector<std::string> operators_of(const onnx::ModelProto& model) {
  std::set<std::string> all;
  add_operators(model.graph(), all);
  std::vector<std::string> rest;
  for (const std::string& name : all)
    if (name != "Constant" && name != "Identity") rest.push_back(name);
  return rest.empty() ? std::vector<std::string>(all.begin(), all.end()) : rest;
}

std::map<std::string, onnx::TensorProto> first_inputs(const Case& test,
                                                      const onnx::ModelProto& model) {
  std::map<std::string, onnx::TensorProto> tensors;
  if (test.data_sets.empty()) return tensors;
  int index = 0;
  for (const onnx::ValueInfoProto* input : inputs_of(model.graph())) {
    const fs::path file = fs::path(test.data_sets.front()) / fmt::format("input_{}.pb", index++);
    if (input->type().has_tensor_type() && fs::exists(file))
      tensors.emplace(input->name(), read_tensor(file.string()));
  }
  return tensors;
}

void describe(Case& test) {
  const onnx::ModelProto model = read_model(test.model);
  test.operators = operators_of(model);
  test.out_of_scope = out_of_scope(model, first_inputs(test, model));
}

void add_folder(const fs::path& data, const std::string& kind, std::vector<Case>& cases) {
  for (const fs::path& folder : sorted_entries(data / kind)) {
    if (!fs::exists(folder / "model.onnx")) continue;
    Case test;
    test.name = kind + "/" + without("test_", folder.filename().string());
    test.model = (folder / "model.onnx").string();
    for (const fs::path& entry : sorted_entries(folder))
      if (entry.filename().string().starts_with("test_data_set_"))
        test.data_sets.push_back(entry.string());
    if (std::ifstream file(folder / "data.json"); file) {
      const nlohmann::json declared = nlohmann::json::parse(file);
      test.rtol = declared.value("rtol", test.rtol);
      test.atol = declared.value("atol", test.atol);
    }
    describe(test);
    cases.push_back(std::move(test));
  }
}

/// Their tolerances are declared apart, in real/test_NAME/data.json, which names the file.
void add_light(const fs::path& data, std::vector<Case>& cases) {
  for (const fs::path& folder : sorted_entries(data / "real")) {
    std::ifstream file(folder / "data.json");
    if (!file) continue;
    const nlohmann::json declared = nlohmann::json::parse(file);
    const fs::path model =
        data / "light" / fs::path(declared.at("url").get<std::string>()).filename();
    Case test;
    test.name = "light/" + declared.at("model_name").get<std::string>();
    test.model = model.string();
    test.light_output = (data / "light" / (model.stem().string() + "_output_0.pb")).string();
    test.rtol = declared.value("rtol", test.rtol);
    test.atol = declared.value("atol", test.atol);
    describe(test);
    cases.push_back(std::move(test));
  }
}

/// test_NAME_expanded is test_NAME with the operator's function in its place.
void name_functions(std::vector<Case>& cases) {
  std::map<std::string, const Case*> by_name;
  for (const Case& test : cases) by_name.emplace(test.name, &test);
  for (Case& test : cases) {
    const auto base = by_name.find(test.name.substr(0, test.name.find("_expanded")));
    if (base != by_name.end() && base->second != &test) test.operators = base->second->operators;
  }
}

}  // namespace

onnx::ModelProto read_model(const std::string& path) {
  return read_message<onnx::ModelProto>(path);
}

onnx::TensorProto read_tensor(const std::string& path) {
  return read_message<onnx::TensorProto>(path);
}

std::vector<const onnx::ValueInfoProto*> inputs_of(const onnx::GraphProto& graph) {
  std::set<std::string> initializers;
  for (const onnx::TensorProto& tensor : graph.initializer()) initializers.insert(tensor.name());
  std::vector<const onnx::ValueInfoProto*> inputs;
  for (const onnx::ValueInfoProto& input : graph.input())
    if (!initializers.contains(input.name())) inputs.push_back(&input);
  return inputs;
}

std::vector<Case> find_cases(const std::string& folder) {
  std::vector<Case> cases;
  for (const char* kind : {"node", "simple", "pytorch-converted", "pytorch-operator"})
    add_folder(folder, kind, cases);
  add_light(folder, cases);
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.name < b.name; });
  name_functions(cases);
  return cases;
}

}  // namespace dyn::conformance
