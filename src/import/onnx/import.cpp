#include "src/import/onnx/import.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "graph/dims/dim_info.hpp"
#include "graph/ir/scalars.hpp"
#include "graph/ir/verify.hpp"
#include "graph/passes/keep_wide.hpp"
#include "graph/text/text.hpp"
#include "src/import/onnx/converter.hpp"
#include "src/import/onnx/given_operator.hpp"
#include "src/import/onnx/node_context.hpp"
#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/reader/input_types.hpp"
#include "src/import/onnx/reader/metadata.hpp"
#include "src/import/onnx/reader/model_files.hpp"
#include "src/import/onnx/reader/needed_nodes.hpp"
#include "src/import/onnx/texts/input_lists.hpp"
#include "src/import/onnx/texts/text_node.hpp"

namespace dyn::onnx {
namespace {

/// Conditions on sizes may fit in one combination alone; no more are tried.
constexpr int most_answers = 64;

/// Thrown where sizes that an import has taken to be other than 1 turn out to be 1 always.
struct AlwaysOne {
  Ones sizes;
};

class Importer {
 public:
  /// `options` must outlive it.
  Importer(ModelProto& model, ModelFiles& files, const ImportOptions& options)
      : model_(model),
        path_(files.path()),
        options_(options),
        state_{.builder = graph::Builder(graph_name(model), files.path(), options.operators),
               .operands = {},
               .weights = {},
               .files = files,
               .ones = options.ones,
               .by_sizes = options.by_sizes,
               .by_data = options.by_data,
               .strict = options.strict,
               .alone = options.alone} {}

  Imported import(const std::string& weights_name) {
    read_opset();
    const Functions functions = within("", [&] { return Functions(model_); });
    if (!options_.strict) tidy_graph(functions);
    check_operators(functions);
    input_texts_ = within("", [&] { return lists_of_inputs(model_, functions); });
    read_initializers();
    read_inputs();
    Converter converter(state_, functions);
    within("", [&] {
      for (NodeProto& node : *model_.mutable_graph()->mutable_node()) converter.convert(node);
    });
    const std::vector<Dim> unlike_ones = open_ones();
    graph::Module module = finish(weights_name);
    std::vector<std::string> sources = converter.take_sources();
    sources.resize(module.nodes.size());
    if (!options_.strict) round_no_steps(module, sources);
    Imported imported;
    imported.warnings = std::move(state_.warnings);
    imported.ones = options_.ones;
    imported.unlike_ones = UnlikeOnes(module.dims, input_dims_, unlike_ones);
    if (!options_.strict && options_.splits.empty()) imported.shared_names = shared_names_;
    imported.text = graph::print(module);
    imported.remarks = module.remarks;
    imported.inputs = ports_of_inputs(module);
    for (std::size_t i = 0; i < module.outputs.size(); ++i) {
      const graph::TensorType& type = module.value(module.outputs[i]).type;
      imported.outputs.push_back(port_of(module.output_names[i], type, module.output_texts[i]));
    }
    imported.weights = within("", [&] { return take_weights(); });
    imported.sources = std::move(state_.body_sources);
    std::ranges::move(sources, std::back_inserter(imported.sources));
    imported.decided = options_.known;
    imported.metadata = metadata_of(model_, path_);
    return imported;
  }

  /// The sizes that it has taken to be other than 1 so far.
  Ones unlike_ones() const {
    Ones ones;
    for (const NotedSize& size : state_.unlike_ones) ones.insert(size.text);
    for (const NotedCondition& condition : state_.conditions) ones.erase(condition.text);
    return ones;
  }

  /// The answers to ask for next, where these did not fit: another to the last condition that was
  /// taken not to hold, and those before it as they are. Nothing where there is none.
  std::optional<Ones> next_answers(const Ones& facts) const {
    std::vector<NotedCondition> open = state_.conditions;
    while (!open.empty() && open.back().holds) open.pop_back();
    if (open.empty()) return std::nullopt;
    open.back().holds = true;
    Ones ones = facts;
    for (const NotedCondition& condition : open)
      if (condition.holds) ones.insert(condition.text);
    return ones;
  }

  /// The names that the inputs read so far share.
  const SharedNames& shared_names() const { return shared_names_; }

  /// The facts about a model whose structure needs the values of these inputs.
  Imported describe_undecided(const std::set<std::string>& names) const {
    Imported imported = describe_ports();
    imported.undecided.assign(names.begin(), names.end());
    return imported;
  }

  /// The same of one for whose inputs the file lacks shapes.
  Imported describe_unranked(std::vector<std::string> names) const {
    Imported imported = describe_ports();
    imported.unranked = std::move(names);
    return imported;
  }

 private:
  /// Inputs are as they were read, or as they are declared where no import has come that far.
  Imported describe_ports() const {
    Imported imported;
    imported.metadata = metadata_of(model_, path_);
    for (std::size_t i = 0; i < input_protos_.size(); ++i) {
      const ValueInfoProto& proto = *input_protos_[i];
      if (i >= inputs_.size()) {
        PortInfo port = within("the input " + proto.name(), [&] { return declared(proto); });
        port.texts = texts_of_input(proto.name());
        imported.inputs.push_back(std::move(port));
        continue;
      }
      const graph::Value& input = state_.builder.value(inputs_[i]);
      imported.inputs.push_back(port_of(input.name, input.type, texts_of_input(input.name)));
    }
    for (const ValueInfoProto& output : model_.graph().output())
      imported.outputs.push_back(
          within("the output " + output.name(), [&] { return declared(output); }));
    return imported;
  }

  static std::string graph_name(const ModelProto& model) {
    return model.graph().name().empty() ? "graph" : model.graph().name();
  }

  [[noreturn]] void fail(ErrorKind kind, const std::string& message) const {
    throw Error(kind, fmt::format("{}: {}", path_, message));
  }

  template <class Function>
  std::invoke_result_t<Function> within(const std::string& place, const Function& function) const {
    try {
      return function();
    } catch (const Error& error) {
      throw place.empty() ? error.within(path_) : error.within(place).within(path_);
    }
  }

  void read_opset() {
    const std::optional<int> opset =
        within("", [&] { return standard_opset(model_.opset_import()); });
    if (!opset && has_standard_operators())
      fail(ErrorKind::model, "it imports no version of the standard operators");
    state_.opset = opset.value_or(last_opset);
    if (state_.opset > last_opset)
      state_.warnings.push_back(
          fmt::format("{}: opset {} is newer than {}, the newest that is known; its "
                      "operators are taken for those of that one",
                      path_, state_.opset, last_opset));
  }

  bool has_standard_operators() const {
    bool found = false;
    for_each_node(model_.graph().node(),
                  [&](const NodeProto& node) { found |= is_standard(node.domain()); });
    return found;
  }

  /// True where the node is one that can be converted.
  bool is_known(const Functions& functions, const NodeProto& node) const {
    return find_given_operator(state_, node) != nullptr || functions.find(node) != nullptr ||
           Converter::knows(node);
  }

  void tidy_graph(const Functions& functions) {
    const Tidied tidied = tidy(*model_.mutable_graph());
    if (tidied.is_reordered)
      state_.warnings.push_back(
          fmt::format("{}: nodes stand before those that they read; they change places", path_));
    const auto unknown = std::ranges::find_if(
        tidied.unread, [&](const NodeProto& node) { return !is_known(functions, node); });
    if (unknown != tidied.unread.end())
      state_.warnings.push_back(
          fmt::format("{}: no output follows from {}, whose operator is not supported; it is left "
                      "out, with {} others like it",
                      path_, describe(*unknown), tidied.unread.size() - 1));
  }

  /// Lists all unsupported operators at once, those in functions that are called included.
  void check_operators(const Functions& functions) const {
    struct Missing {
      int count = 0;
      std::string first;
    };
    std::map<std::string, Missing> missing;
    bool is_blocked = false;
    const auto check = [&](const auto& nodes, const std::string& place) {
      for_each_node(nodes, [&](const NodeProto& node) {
        if (is_known(functions, node)) return;
        is_blocked |= node.domain() == blocked_domain;
        Missing& operators = missing[operator_name(node)];
        if (++operators.count == 1) operators.first = describe(node) + place;
      });
    };
    check(model_.graph().node(), "");
    for (const FunctionProto* function : functions.called_by(model_.graph())) {
      within("the function " + function_name(*function),
             [&] { return standard_opset(function->opset_import()); });
      check(function->node(), " in the function " + function_name(*function));
    }
    if (missing.empty()) return;
    std::string list;
    for (const auto& [name, operators] : missing)
      list += fmt::format("\n  {}: {} node(s), the first is {}", name, operators.count,
                          operators.first);
    if (is_blocked)
      list += fmt::format(
          "\nthe layout of {} is one CPU's own; save the model again with ONNX Runtime's level "
          "ORT_ENABLE_EXTENDED, which leaves it out",
          blocked_domain);
    else
      list +=
          "\nThe program can give operators of these names (dyn::Options::operators), or a plug-in "
          "(dyn::Options::plugins, dynrun --plugin FILE)";
    fail(ErrorKind::unsupported,
         fmt::format("{} operator(s) are not supported:{}", missing.size(), list));
  }

  /// Tensors that are one place of another file are one operand.
  void read_initializers() {
    std::map<std::string, std::shared_ptr<Operand>> by_place;
    for (TensorProto& proto : *model_.mutable_graph()->mutable_initializer()) {
      const std::string name = proto.name();
      const std::optional<std::string> place = within("", [&] { return external_place(proto); });
      std::shared_ptr<Operand> operand = place ? by_place[*place] : nullptr;
      if (proto.data_type() == TensorProto::STRING) {
        operand = std::make_shared<Operand>(within("", [&] { return texts_operand(proto); }));
      } else if (!operand) {
        Tensor tensor = within("", [&] { return take_tensor(proto, state_.files); });
        operand = std::make_shared<Operand>(
            Operand{graph::no_value, std::make_shared<const Tensor>(std::move(tensor)),
                    std::nullopt, name});
        if (place) by_place[*place] = operand;
      }
      if (!state_.operands.emplace(name, std::move(operand)).second)
        fail(ErrorKind::model, fmt::format("two tensors are called \"{}\"", name));
    }
    if (model_.graph().sparse_initializer_size() > 0)
      fail(ErrorKind::unsupported, "sparse tensors are not supported");
  }

  /// Files up to IR version 3 list initializers as inputs as well.
  void find_inputs() {
    std::set<std::string> names;
    for (const ValueInfoProto& input : model_.graph().input()) {
      if (input.name().empty()) fail(ErrorKind::model, "an input has no name");
      if (!names.insert(input.name()).second)
        fail(ErrorKind::model, fmt::format("two inputs are called \"{}\"", input.name()));
      if (!state_.operands.contains(input.name())) input_protos_.push_back(&input);
    }
  }

  void read_inputs() {
    find_inputs();
    InputTypes types = within(
        "", [&] { return InputTypes(state_.builder, state_.sizes, input_protos_, options_); });
    for (const ValueInfoProto* input : input_protos_) {
      graph::TensorType type =
          within("the input " + input->name(), [&] { return types.type_of(*input); });
      std::shared_ptr<const Tensor> value;
      if (const auto known = options_.known.find(input->name()); known != options_.known.end())
        value = copied(known->second);
      input_dims_.push_back(type.dims);
      const ValueId id = state_.builder.input(input->name(), std::move(type));
      inputs_.push_back(id);
      if (value) state_.known_inputs.insert(id);
      const auto operand =
          std::make_shared<Operand>(Operand{id, std::move(value), std::nullopt, input->name()});
      if (const auto texts = input_texts_.find(input->name()); texts != input_texts_.end())
        operand->texts = texts->second;
      state_.operands.emplace(input->name(), operand);
    }
    shared_names_ = types.shared_names();
    if (!options_.splits.empty()) warn_of_splits();
  }

  void warn_of_splits() {
    std::vector<std::string> places;
    for (const auto& [place, number] : numbers_of(options_.splits)) {
      const ValueInfoProto& input = *input_protos_.at(place.input);
      places.push_back(fmt::format(
          "{} (dim {}, \"{}\")", input.name(), place.axis,
          input.type().tensor_type().shape().dim(static_cast<int>(place.axis)).dim_param()));
    }
    state_.warnings.push_back(
        fmt::format("{}: dims that the file calls the same have sizes of their own: {}", path_,
                    fmt::join(places, ", ")));
  }

  /// Nothing more is known of these after all, among the sizes that were taken to be other than 1.
  std::vector<Dim> open_ones() {
    const Dim one = state_.builder.dims().constant(1);
    std::vector<Dim> open;
    AlwaysOne always;
    for (const auto& [size, text] : state_.unlike_ones) {
      const std::optional<bool> is_one = prove_equal(state_.builder.resolve(size), one);
      if (!is_one && std::ranges::find(open, size) == open.end()) open.push_back(size);
      if (is_one == true) always.sizes.insert(text);
    }
    if (!always.sizes.empty()) throw always;
    return open;
  }

  /// Freed dims have no influence on what the file declares, and may make it wrong.
  PortInfo declared(const ValueInfoProto& port) const {
    PortInfo info = declared_port(port);
    if (!options_.free_dims.empty()) {
      info.shape = "_";
      info.dims.clear();
    }
    return info;
  }

  static PortInfo port_of(const std::string& name, const graph::TensorType& type,
                          graph::Texts texts) {
    return {name, type.dtype, graph::to_string(type.dims), std::move(texts),
            graph::infos_of(type.dims)};
  }

  std::vector<PortInfo> ports_of_inputs(const graph::Module& module) const {
    std::vector<PortInfo> ports;
    for (const ValueId id : inputs_) {
      const graph::Value& input = module.value(id);
      ports.push_back(port_of(input.name, input.type, texts_of_input(input.name)));
    }
    return ports;
  }

  /// nullptr: the input holds numbers.
  graph::Texts texts_of_input(const std::string& name) const {
    const auto found = input_texts_.find(name);
    return found == input_texts_.end() ? nullptr : found->second->texts();
  }

  /// A tensor of texts is given as their places, with the list.
  ValueId output_value(const std::string& name, graph::Texts& texts) {
    const auto found = state_.operands.find(name);
    if (found == state_.operands.end() || !found->second->texts) return value_of(state_, name);
    texts = found->second->texts->texts();
    NodeProto reader;
    reader.add_input(name);
    return NodeContext(state_, reader).places_of_texts(0);
  }

  graph::Module finish(const std::string& weights_name) {
    std::vector<ValueId> outputs;
    std::vector<std::string> names;
    std::vector<graph::Texts> texts;
    std::set<std::string> seen;
    for (const ValueInfoProto& output : model_.graph().output()) {
      if (!seen.insert(output.name()).second)
        fail(ErrorKind::model, fmt::format("two outputs are called \"{}\"", output.name()));
      outputs.push_back(within("the output " + output.name(),
                               [&] { return output_value(output.name(), texts.emplace_back()); }));
      names.push_back(output.name());
    }
    if (outputs.empty()) fail(ErrorKind::model, "its graph has no outputs");
    graph::Module module = within("", [&] {
      return state_.builder.finish(
          outputs, names,
          state_.weights.empty() ? std::vector<std::string>{} : std::vector{weights_name});
    });
    for (const ValueId id : module.inputs)
      module.input_texts.push_back(texts_of_input(module.value(id).name));
    module.output_texts = std::move(texts);
    graph::verify(module);
    return module;
  }

  /// As ONNX Runtime on a CPU: f16 and bf16 are formats of inputs, weights and outputs.
  static void round_no_steps(graph::Module& module, std::vector<std::string>& sources) {
    const auto has_narrow = [&](const graph::Node& node) {
      return std::ranges::any_of(
          node.outputs, [&](ValueId id) { return graph::is_half(module.value(id).type.dtype); });
    };
    if (std::ranges::none_of(module.nodes, has_narrow)) return;
    std::vector<std::string> of_nodes;
    for (const std::size_t place : graph::keep_wide(module)) of_nodes.push_back(sources.at(place));
    sources = std::move(of_nodes);
  }

  Weights take_weights() {
    std::vector<Weight> weights;
    for (NamedTensor& named : state_.weights)
      weights.push_back({std::move(named.key), std::move(named.tensor)});
    state_.weights.clear();
    return Weights(std::move(weights));
  }

  static std::shared_ptr<const Tensor> copied(const dyn::Tensor& tensor) {
    return std::make_shared<const Tensor>(Tensor{
        tensor.dtype(), tensor.shape(),
        tensor.bytes() > 0 ? std::string(static_cast<const char*>(tensor.raw()), tensor.bytes())
                           : std::string()});
  }

  ModelProto& model_;
  const std::string path_;
  const ImportOptions& options_;  ///< known: the values that decide the structure, and no others
  GraphState state_;
  std::vector<const ValueInfoProto*> input_protos_;
  std::map<std::string, TextListPtr> input_texts_;
  std::vector<ValueId> inputs_;               ///< of these
  std::vector<std::vector<Dim>> input_dims_;  ///< as they were read
  SharedNames shared_names_;
};

}  // namespace

namespace {

/// Names in ONNX may hold anything, and a comment is one line.
std::string comment(std::string source) {
  if (source.empty()) return {};
  std::ranges::replace_if(
      source, [](char letter) { return std::iscntrl(static_cast<unsigned char>(letter)) != 0; },
      ' ');
  return "  # from " + source;
}

}  // namespace

std::string text_with_sources(const Imported& imported) {
  // Every node is a line, in order; those of a graph follow its signature, which ends with the only
  // brace at the end of a line, and its return statement follows them.
  std::string text;
  std::size_t begin = 0;
  bool in_graph = false;
  auto source = imported.sources.begin();
  for (std::size_t end = 0; begin < imported.text.size(); begin = end + 1) {
    end = std::min(imported.text.find('\n', begin), imported.text.size());
    const std::string_view line = std::string_view(imported.text).substr(begin, end - begin);
    text += line;
    in_graph = in_graph && !line.starts_with("  return ");
    if (in_graph && source != imported.sources.end()) text += comment(*source++);
    in_graph = in_graph || line.ends_with('{');
    text += '\n';
  }
  return text;
}

Imported import_model(const std::string& path, const std::string& weights_name,
                      const ImportOptions& options) {
  DiskModelFiles files(path);
  return import_model(files, weights_name, options);
}

namespace {

/// `names`: those that the last try found.
Imported import_with(ModelFiles& files, const std::string& weights_name, const ImportOptions& given,
                     SharedNames& names) {
  // An import stops at the first value that it needs, and starts again when that is known.
  ImportOptions options = given;
  options.known.clear();
  for (const auto& [name, value] : given.known)
    options.ranks.emplace(name, static_cast<int>(value.shape().size()));
  std::optional<Error> refused;  // where sizes other than 1 did not fit
  for (int left = most_answers;;) {
    ModelProto model = files.read();
    const std::set<std::string> locations = external_locations(model);
    Importer importer(model, files, options);
    try {
      Imported imported = importer.import(weights_name);
      if (!imported.unlike_ones.empty() || !imported.shared_names.empty()) files.hold(locations);
      return imported;
    } catch (const AlwaysOne& always) {
      options.ones.insert(always.sizes.begin(), always.sizes.end());
    } catch (const UndecidedBySizes& undecided) {
      options.by_sizes.insert(undecided.condition);
    } catch (const UndecidedByData& undecided) {
      options.by_data.insert(undecided.loop);
    } catch (const Error& error) {
      if (!refused) refused = error;
      names = importer.shared_names();
      if (std::optional<Ones> other = importer.next_answers(given.ones); other && left-- > 0) {
        options.ones = *std::move(other);
        continue;
      }
      const Ones sizes = importer.unlike_ones();
      if (error.kind() != ErrorKind::model || sizes.empty() || !given.ones.empty()) throw *refused;
      // Perhaps what follows expects the rank that sizes of 1 leave: then the model has no others.
      options.ones.insert(sizes.begin(), sizes.end());
    } catch (const UnrankedInputs& unranked) {
      files.hold(locations);
      return importer.describe_unranked(unranked.names);
    } catch (const UndecidedStructure& undecided) {
      std::set<std::string> missing;
      for (const std::string& name : undecided.inputs) {
        const auto value = given.known.find(name);
        if (value == given.known.end())
          missing.insert(name);
        else
          options.known.insert(*value);
      }
      if (missing.empty()) continue;
      files.hold(locations);
      return importer.describe_undecided(missing);
    }
  }
}

}  // namespace

Imported import_model(ModelFiles& files, const std::string& weights_name,
                      const ImportOptions& options) {
  SharedNames names;
  try {
    return import_with(files, weights_name, options, names);
  } catch (const Error& error) {
    const bool may_be_names = error.kind() == ErrorKind::model && !options.strict;
    if (!may_be_names || !options.splits.empty() || names.empty()) throw;
    // Perhaps one size cannot be all that the file calls by one name.
    ImportOptions apart = options;
    apart.splits = names.all();
    try {
      return import_with(files, weights_name, apart, names);
    } catch (const Error&) { throw error; }
  }
}

}  // namespace dyn::onnx
