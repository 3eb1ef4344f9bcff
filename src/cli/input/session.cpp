#include "src/cli/input/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ops/state_rules.hpp"
#include "src/cli/input/inputs.hpp"
#include "src/cli/input/ranges.hpp"
#include "src/cli/input/shapes.hpp"
#include "src/cli/input/standard_input.hpp"
#include "src/cli/report/progress.hpp"

namespace dyn::cli {
namespace {

/// The shapes that each --shapes says, with those of the loaded inputs; where there is no --shapes,
/// one of these alone.
std::vector<runtime::NamedShapes> given_shapes(const Arguments& arguments,
                                               const std::map<std::string, Tensor>& loaded) {
  std::vector<runtime::NamedShapes> list;
  for (const std::string& text : arguments.shapes) list.push_back(parse_shapes(text));
  if (list.empty()) list.emplace_back();
  for (runtime::NamedShapes& shapes : list) {
    for (const auto& [name, tensor] : loaded) shapes.emplace_back(name, tensor.shape());
  }
  return list;
}

/// The model that runs where one shape is given for every input: dims that a file calls by one name
/// may have several sizes there. Else the model itself.
std::shared_ptr<const runtime::Model> at_given_shapes(std::shared_ptr<const runtime::Model> model,
                                                      const Arguments& arguments,
                                                      const LoadedInputs& loaded) {
  if (arguments.shapes.size() > 1 || !arguments.dims.empty()) return model;
  TextCoder texts(model->inputs(), model->outputs());
  const runtime::NamedShapes shapes =
      given_shapes(arguments, as_declared(loaded, *model, texts)).front();
  const std::vector<PortInfo>& inputs = model->inputs();
  const bool are_all = std::ranges::all_of(inputs, [&](const PortInfo& input) {
    return std::ranges::count(shapes, input.name, &runtime::NamedShapes::value_type::first) == 1;
  });
  if (!are_all || shapes.size() != inputs.size()) return model;
  return runtime::model_at(std::move(model), shapes);
}

}  // namespace

std::shared_ptr<const runtime::Model> load_model(const Arguments& arguments) {
  Options options = arguments.options;
  const LoadedInputs loaded = load_inputs(arguments.load_inputs);
  options.known_inputs = loaded.tensors;
  if (isatty(STDERR_FILENO) != 0) {
    options.progress = [model = arguments.model](const LoadProgress& progress) {
      show_progress(load_line(model, progress), Pace::frequent);
      return true;
    };
    options.log = [](LogLevel level, std::string_view line) {
      if (level == LogLevel::warning) fmt::print(stderr, "dynrun: warning: {}\n", line);
    };
  }
  show_progress("loading " + arguments.model);
  const Graph graph = is_standard_input(arguments.model) ? load_standard_input(options)
                                                         : Graph::load(arguments.model, options);
  show_progress("");
  graph.model()->require_structure();
  return at_given_shapes(graph.model(), arguments, loaded);
}

std::vector<std::vector<std::int64_t>> requested_shapes(
    const runtime::Model& model, const Arguments& arguments,
    const std::map<std::string, Tensor>& loaded) {
  if (!arguments.dims.empty() && !arguments.shapes.empty()) {
    throw Error(ErrorKind::user, "--dims and --shapes exclude each other: give one or the other");
  }
  std::vector<std::vector<std::int64_t>> shapes;
  if (arguments.dims.empty()) {
    for (const runtime::NamedShapes& given : given_shapes(arguments, loaded))
      shapes.push_back(bind_partial(model, given));
    return shapes;
  }
  std::vector<DimValues> dims;
  for (const std::string& text : arguments.dims) dims.push_back(parse_dim_values(text));
  for (const auto& combination : product(dims)) shapes.push_back(bind_named(model, combination));
  return shapes;
}

std::vector<std::int64_t> requested_shape(const runtime::Model& model, const Arguments& arguments,
                                          const std::map<std::string, Tensor>& loaded) {
  auto shapes = requested_shapes(model, arguments, loaded);
  if (shapes.size() != 1) {
    throw Error(ErrorKind::user,
                fmt::format("{} give {} shapes, but this command takes one; see dynrun bench",
                            arguments.dims.empty() ? "--shapes" : "--dims", shapes.size()));
  }
  return std::move(shapes.front());
}

ModelAt model_at(const std::shared_ptr<const runtime::Model>& model,
                 std::span<const std::int64_t> symbols) {
  const runtime::NamedShapes shapes = model->input_shapes(symbols);
  std::shared_ptr<const runtime::Model> variant = runtime::model_at(model, shapes);
  if (variant == model) return {model, {symbols.begin(), symbols.end()}};
  std::vector<std::int64_t> own = variant->bind(shapes);
  return {std::move(variant), std::move(own)};
}

std::shared_ptr<runtime::SessionState> make_session(
    const std::shared_ptr<const runtime::Model>& model, std::span<const std::int64_t> symbols,
    std::uint64_t seed) {
  const graph::Module& module = model->module();
  if (module.states.empty()) return nullptr;
  std::map<std::string, std::int64_t> dims;
  graph::for_each_session_symbol(module, [&](int symbol) {
    if (module.length.valid() && module.length.symbol() == symbol) return;
    dims[module.dims->info(symbol).name] = symbols[static_cast<std::size_t>(symbol)];
  });
  auto session = std::make_shared<runtime::SessionState>(model, dims);
  const std::int64_t length = module.length.valid() ? graph::evaluate(module.length, symbols) : 0;
  for (std::size_t i = 0; i < module.states.size() && length > 0; ++i) {
    Tensor state = session->read(i);
    fill_state(state, module.value(module.states[i]).name, seed);
    session->write(i, state);
  }
  session->hold_at(length);
  return session;
}

runtime::CallState make_call(const std::shared_ptr<const runtime::Model>& model,
                             const std::shared_ptr<runtime::SessionState>& session) {
  return session ? runtime::CallState(session) : runtime::CallState(model);
}

std::unique_ptr<runtime::CallState> run_once(const std::shared_ptr<const runtime::Model>& model,
                                             std::span<const std::int64_t> symbols,
                                             const std::map<std::string, Tensor>& given,
                                             std::uint64_t seed) {
  const std::vector<Tensor> inputs = make_inputs(*model, symbols, given, seed);
  const auto session = make_session(model, symbols, seed);
  auto call = session ? std::make_unique<runtime::CallState>(session)
                      : std::make_unique<runtime::CallState>(model);
  for (std::size_t i = 0; i < inputs.size(); ++i) call->set_input(i, inputs[i]);
  call->run();
  return call;
}

std::vector<std::pair<std::string, std::int64_t>> named_dims(
    const runtime::Model& model, std::span<const std::int64_t> symbols) {
  std::vector<std::pair<std::string, std::int64_t>> named;
  for (const int symbol : model.module().declared_symbols) {
    named.emplace_back(model.module().dims->info(symbol).name,
                       symbols[static_cast<std::size_t>(symbol)]);
  }
  return named;
}

std::string model_name(const Arguments& arguments) {
  if (is_standard_input(arguments.model)) return "stdin";
  return std::filesystem::path(arguments.model).stem().string();
}

}  // namespace dyn::cli
