// dynrun inspect and explain: what a model became, and why a shape runs as it does.

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "graph/ir/op.hpp"
#include "src/cli/arguments.hpp"
#include "src/cli/commands/dump_ptx.hpp"
#include "src/cli/commands/explain.hpp"
#include "src/cli/commands/passes.hpp"
#include "src/cli/input/inputs.hpp"
#include "src/cli/input/session.hpp"
#include "src/cli/report/profile.hpp"
#include "src/cli/report/texts.hpp"

namespace dyn::cli {
namespace {

std::string indented(const std::string& text, std::string_view indent) {
  std::string result;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (end > start)
      result += fmt::format("{}{}", indent, std::string_view(text).substr(start, end - start));
    result += '\n';
    start = end + 1;
  }
  return result;
}

std::string ports_text(std::string_view title, const std::vector<PortInfo>& ports) {
  std::string text;
  for (const PortInfo& port : ports) {
    text += fmt::format("{:<8} {}: {}{}", title, port.name, name_of(port.dtype), port.shape);
    if (port.texts != nullptr)
      text += fmt::format(" of {} texts: {}", port.texts->size(), shown(*port.texts));
    text += '\n';
  }
  return text;
}

/// Who wrote an ONNX file, and for which operators; of a text nothing.
std::string origin_text(const ModelMetadata& metadata) {
  if (metadata.format != "onnx") return {};
  std::vector<std::string> parts;
  if (!metadata.producer.empty())
    parts.push_back(fmt::format("by {}{}{}", metadata.producer,
                                metadata.producer_version.empty() ? "" : " ",
                                metadata.producer_version));
  for (const auto& [domain, version] : metadata.opsets)
    parts.push_back(fmt::format("{} {}", domain.empty() ? "opset" : domain, version));
  std::string text = fmt::format("{:<8} {}\n", "onnx", fmt::join(parts, ", "));
  for (const auto& [key, value] : metadata.properties)
    text += fmt::format("{:<8} {}: {}\n", "property", key, shown({value}));
  return text;
}

std::string states_text(const graph::Module& module) {
  std::string text;
  for (const graph::ValueId id : module.states) {
    text += fmt::format("{:<8} {}: {}\n", "state", module.value(id).name,
                        to_string(module.value(id).type));
  }
  if (module.length.valid()) {
    text += fmt::format("{:<8} {} is the session's length; a run adds {}\n", "length",
                        to_string(module.length), to_string(module.growth));
  }
  return text;
}

std::string dims_text(const graph::Module& module) {
  std::string text;
  for (const int symbol : module.declared_symbols) {
    const graph::SymbolInfo& info = module.dims->info(symbol);
    text += fmt::format("{:<8} {} in {}..{}", "dim", info.name, info.low,
                        info.high == std::numeric_limits<std::int64_t>::max()
                            ? std::string()
                            : fmt::format("{}", info.high));
    if (info.divisor != 1) text += fmt::format(", a multiple of {}", info.divisor);
    if (info.hint) text += fmt::format(", hint {}", *info.hint);
    text += '\n';
  }
  return text;
}

/// Lists weights that were joined, so that several matmuls are one.
std::string merged_text(const graph::Module& module) {
  std::string text;
  for (const graph::Value& value : module.values) {
    if (value.weight.kind != graph::WeightSource::Kind::Parts || value.weight.parts.size() < 2)
      continue;
    std::vector<std::string> parts;
    for (const graph::ValueId part : value.weight.parts) parts.push_back(module.value(part).name);
    text += fmt::format("{:<8} {}: {} of {}\n", "joined", value.name, to_string(value.type),
                        fmt::join(parts, ", "));
  }
  return text;
}

/// Lists where other bits than the file's are computed.
std::string remarks_text(const graph::Module& module) {
  std::string text;
  for (const auto& [what, count] : module.remarks)
    text += fmt::format("{:<8} {} node{}: {}\n", "differs", count, count == 1 ? "" : "s", what);
  return text;
}

/// " B=1 S=8".
std::string dims_of(const runtime::Model& model, std::span<const std::int64_t> symbols) {
  std::string dims;
  for (const auto& [name, value] : named_dims(model, symbols))
    dims += fmt::format(" {}={}", name, value);
  return dims.empty() ? " its only shape" : dims;
}

/// `at`: the shape's dims.
std::string memory_text(const runtime::Model& model, std::span<const std::int64_t> symbols,
                        const std::string& at) {
  const runtime::PlanPtr plan = model.plan(symbols);
  const auto megabytes = [](std::size_t bytes) { return static_cast<double>(bytes) / 1e6; };
  std::string text = fmt::format(
      "{:<8} {:.1f} MB of weights; at{}: arena {:.2f} MB, scratch {:.0f} KB for each thread\n",
      "memory", megabytes(model.host_weight_bytes()), at, megabytes(plan->arena_bytes),
      static_cast<double>(plan->scratch_bytes) / 1e3);
  if (plan->device_offsets.empty()) return text;
  return text + fmt::format("{:<8} {:.1f} MB of weights; at{}: arena {:.2f} MB\n", "on GPU",
                            megabytes(model.device_weight_bytes()), at,
                            megabytes(plan->device_arena_bytes));
}

/// Lists what a run copies between the host and a GPU, in its order; empty where it copies nothing.
std::string copies_text(const runtime::Model& model, std::span<const std::int64_t> symbols,
                        const std::string& at) {
  const runtime::PlanPtr plan = model.plan(symbols);
  std::vector<Row> rows;
  for (const runtime::CopyInfo& copy : model.copies(*plan)) {
    rows.push_back({{"tensor", copy.tensor},
                    {"way", std::string(copy.to_device ? "host to GPU" : "GPU to host")},
                    {"before", copy.before.empty() ? "the end" : copy.before},
                    {"kb", static_cast<double>(copy.bytes) / 1e3},
                    {"why", copy.reason}});
  }
  return rows.empty() ? std::string()
                      : fmt::format("\nCopies of a run at{}:\n\n{}", at, to_text(rows, Format::md));
}

std::string group_operators(const runtime::Model& model, const graph::Group& group) {
  std::vector<std::string> names;
  for (const int node : group.nodes) {
    const graph::Node& made = model.module().nodes[static_cast<std::size_t>(node)];
    names.push_back(made.origin.empty() ? made.op->name
                                        : fmt::format("{}({})", made.op->name, made.origin));
  }
  return fmt::format("{}", fmt::join(names, " "));
}

std::string group_text(const runtime::Model& model, std::size_t index) {
  const graph::Group& group = model.fusion().groups[index];
  std::string text =
      fmt::format("group {}  target {}\n", group.name, model.kernel(index).target_name());
  text += fmt::format("  operators: {}\n", group_operators(model, group));
  text += indented(rkernel::to_string(model.problems()[index]), "  ");
  text += "  rKernel:\n" + indented(model.kernel(index).describe(), "    ");
  for (const graph::MemoryReason& reason : model.fusion().reasons) {
    if (std::find(group.outputs.begin(), group.outputs.end(), reason.value) == group.outputs.end())
      continue;
    text += fmt::format("  {} goes through memory: {}\n", model.module().value(reason.value).name,
                        reason.text);
  }
  return text;
}

/// The shapes that --dims or --shapes ask for; without them one shape: the hints, and the lowest
/// size of dims without a hint.
std::vector<std::vector<std::int64_t>> inspected_shapes(const runtime::Model& model,
                                                        const Arguments& arguments) {
  if (!arguments.dims.empty() || !arguments.shapes.empty())
    return requested_shapes(model, arguments, {});
  std::map<std::string, std::int64_t> dims;
  for (const int symbol : model.module().declared_symbols) {
    const graph::SymbolInfo& info = model.module().dims->info(symbol);
    if (!info.hint) dims[info.name] = info.low > 0 ? info.low : info.divisor;
  }
  return {model.bind_dims(dims)};
}

/// Describes memory and copies of a run at each shape. A default shape, which the user did not ask
/// for, may be too small for the model's windows.
std::string runs_text(const std::shared_ptr<const runtime::Model>& model,
                      const Arguments& arguments) {
  std::string text, copies;
  try {
    for (const auto& symbols : inspected_shapes(*model, arguments)) {
      const bool is_asked_for = !arguments.dims.empty() || !arguments.shapes.empty();
      const ModelAt run = is_asked_for ? model_at(model, symbols) : ModelAt{model, symbols};
      const std::string at = dims_of(*model, symbols);
      text += memory_text(*run.model, run.symbols, at);
      copies += copies_text(*run.model, run.symbols, at);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::user || !arguments.dims.empty() || !arguments.shapes.empty())
      throw;
    return fmt::format("{:<8} of a run: give --dims, as with the least sizes {}\n", "memory",
                       error.what());
  }
  return text + copies;
}

std::string segments_text(const runtime::Model& model, const std::string& group);

std::string groups_text(const runtime::Model& model, const std::string& group) {
  std::string text;
  for (std::size_t i = 0; i < model.problems().size(); ++i) {
    if (group.empty() || model.fusion().groups[i].name == group)
      text += "\n" + group_text(model, i);
  }
  return text;
}

/// What each step of a loop runs. Loops in loops are as deep as the text nests them by hand.
std::string body_text(const runtime::Model& body, const std::string& group) {
  return fmt::format("each step runs {}\n{}{}{}", body.module().name,
                     ports_text("input", body.inputs()), ports_text("output", body.outputs()),
                     body.steps().empty() ? groups_text(body, group) : segments_text(body, group));
}

/// Describes a model whose run decides sizes: each part with its groups, and the nodes between the
/// parts.
std::string segments_text(const runtime::Model& model, const std::string& group) {
  std::string text;
  int number = 0;
  for (const runtime::SegmentStep& step : model.steps()) {
    if (!step.model) {
      const graph::Node& node =
          model.module().nodes[static_cast<std::size_t>(step.segment.nodes.front())];
      text += fmt::format("\nthen {} (line {}), by the host\n", node.op->name, node.location.line);
      if (step.body) text += indented(body_text(*step.body, group), "  ");
      continue;
    }
    text += fmt::format("\nsegment {}{}\n", number++,
                        step.segment.sides.empty() ? "" : ", if the run needs it");
    text += groups_text(*step.model, group);
  }
  return text;
}

}  // namespace

void inspect_model(const Arguments& arguments) {
  if (!arguments.after.empty()) {
    fmt::print("{}", text_after_pass(arguments));
    return;
  }
  if (arguments.fusion) {
    fmt::print("{}", fusion_text(arguments));
    return;
  }
  const std::shared_ptr<const runtime::Model> model = load_model(arguments);
  const bool has_segments = !model->steps().empty(),
             has_groups = !has_segments && !model->problems().empty();
  const std::vector<std::size_t> groups =
      has_segments ? std::vector<std::size_t>() : chosen_groups(*model, arguments.group);
  // Where an error occurs, nothing else is printed.
  const std::string runs = has_groups ? runs_text(model, arguments) : std::string();
  fmt::print("{:<8} {} on {}, {} threads\n", "model", model_name(arguments), model->device_name(),
             model->threads());
  fmt::print("{}", origin_text(model->executable().info().metadata));
  fmt::print("{}{}{}{}", dims_text(model->module()), states_text(model->module()),
             ports_text("input", model->inputs()), ports_text("output", model->outputs()));
  if (has_segments)
    fmt::print("{}", segments_text(*model, arguments.group));
  else if (!has_groups)
    fmt::print("No groups: this device walks the operators one by one.\n");
  if (!has_groups) return;
  fmt::print("{}{}{}\n{}", remarks_text(model->module()), merged_text(model->module()), runs,
             to_text(target_rows(*model), Format::md));
  for (const std::size_t group : groups) fmt::print("\n{}", group_text(*model, group));
}

namespace {

void explain_at(const runtime::Model& model, const Arguments& arguments,
                const std::vector<std::int64_t>& symbols) {
  const runtime::PlanPtr plan = model.plan(symbols);
  const std::vector<std::size_t> chosen = chosen_groups(model, arguments.group);
  const std::string dumped =
      arguments.dump_ptx.empty() ? std::string() : dump_ptx(model, chosen, arguments.dump_ptx);
  const auto text_of = [&](std::size_t group) {
    return arguments.assembly ? code_text(model, *plan, group)
                              : indented(model.explain(group, *plan), "  ");
  };
  for (const Explanation& explanation : explanations(chosen, text_of))
    fmt::print("{}\n{}\n", names_of(model, explanation), explanation.text);
  if (chosen.empty()) fmt::print("No groups: this device walks the operators one by one.\n");
  fmt::print("{}", dumped);
}

/// The sizes of a body's dims: those that dims of the same names have outside, else their hints,
/// else the least.
std::vector<std::int64_t> symbols_of_body(const runtime::Model& body, const runtime::Model& outer,
                                          std::span<const std::int64_t> symbols) {
  std::map<std::string, std::int64_t> dims;
  const graph::DimTable& table = *body.module().dims;
  for (int symbol = 0; symbol < table.symbol_count(); ++symbol) {
    const graph::SymbolInfo& info = table.info(symbol);
    dims[info.name] = info.hint.value_or(std::max(info.low, info.divisor));
  }
  for (const auto& [name, value] : named_dims(outer, symbols))
    if (const auto same = dims.find(name); same != dims.end()) same->second = value;
  return body.bind_dims(dims);
}

/// Dims that a run decides take their values from --dims, else 0.
void explain_steps(const runtime::Model& model, const Arguments& arguments,
                   const std::vector<std::int64_t>& symbols) {
  if (model.steps().empty()) return explain_at(model, arguments, symbols);
  int number = 0;
  for (const runtime::SegmentStep& step : model.steps()) {
    if (step.model) {
      fmt::print("segment {}\n\n", number++);
      explain_at(*step.model, arguments, symbols);
    }
    if (!step.body) continue;
    fmt::print("each step of a loop: {}\n\n", step.body->module().name);
    explain_steps(*step.body, arguments, symbols_of_body(*step.body, model, symbols));
  }
}

}  // namespace

void explain_model(const Arguments& arguments) {
  if (arguments.counters) return explain_by_counting(arguments);
  if (arguments.measure) {
    if (!arguments.dump_ptx.empty())
      throw Error(ErrorKind::user,
                  "--measure and --dump-ptx exclude each other: give one or the other");
    return explain_by_measuring(arguments);
  }
  const std::shared_ptr<const runtime::Model> loaded = load_model(arguments);
  const auto [model, symbols] = model_at(loaded, requested_shape(*loaded, arguments, {}));
  explain_steps(*model, arguments, symbols);
}

}  // namespace dyn::cli
