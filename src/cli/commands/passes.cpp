#include "src/cli/commands/passes.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/op.hpp"
#include "graph/passes/pipeline.hpp"
#include "graph/passes/segments.hpp"
#include "graph/text/text.hpp"
#include "src/base/dump.hpp"
#include "src/cli/commands/explain.hpp"
#include "src/cli/input/imported.hpp"
#include "src/cli/input/standard_input.hpp"
#include "src/runtime/build/plugins.hpp"
#include "src/runtime/load/model_format.hpp"
#include "src/runtime/load/option_values.hpp"
#include "src/runtime/load/target_factory.hpp"

namespace dyn::cli {
namespace {

constexpr std::string_view before_all = "parse";

std::string text_of(const Arguments& arguments) {
  const bool is_given = is_standard_input(arguments.model);
  const bool is_onnx = is_given ? standard_input_is_onnx()
                                : std::filesystem::path(arguments.model).extension() == ".onnx";
  if (is_onnx) return imported_model(arguments, "weights.safetensors").text;
  return is_given ? standard_input() : runtime::read_model_text(arguments.model);
}

void refuse_reference(const Arguments& arguments, const std::string& flag,
                      std::string_view instead) {
  if (arguments.options.device != runtime::reference_device) return;
  throw Error(ErrorKind::user,
              fmt::format("{}: device reference runs a model as it is parsed, without passes; take "
                          "another device{}",
                          flag, instead));
}

/// The modules that are compiled: the model, or its segments.
/// Their nodes point to the operators.
std::vector<graph::Module> modules_of(const Arguments& arguments, const Operators& operators) {
  std::vector<graph::Module> modules;
  graph::Module whole = graph::parse(text_of(arguments), arguments.model, operators.set());
  if (!graph::defines_dims(whole)) {
    modules.push_back(std::move(whole));
    return modules;
  }
  for (const graph::Segment& segment : graph::cut(whole)) {
    if (!segment.defines) modules.push_back(graph::module_of(whole, segment));
  }
  return modules;
}

/// "add h.3".
std::string node_text(const graph::Module& module, int id) {
  const graph::Node& node = module.nodes[static_cast<std::size_t>(id)];
  return fmt::format("{} {}", node.op->name, module.value(node.outputs.front()).name);
}

std::string decision_text(const graph::Module& module, const graph::FusionDecision& decision,
                          const std::map<int, std::string>& group_of) {
  const graph::FusionRule& rule = *decision.rule;
  std::string text = fmt::format("  {:<7}  {}", rule.joins ? "joined" : "refused",
                                 node_text(module, decision.node));
  const auto group = group_of.find(decision.node);
  if (!rule.joins && group != group_of.end()) text += fmt::format(" (in {})", group->second);
  text += fmt::format("  by {}: {}", rule.name, rule.says);
  if (decision.about != graph::no_value)
    text += fmt::format(" ({})", module.value(decision.about).name);
  return text + '\n';
}

/// The groups called `only`, all where it is empty.
std::string decisions_text(const graph::Module& module, const graph::Fusion& fusion,
                           const std::string& only) {
  std::map<int, std::string> group_of;
  for (const graph::Group& group : fusion.groups) {
    for (const int id : group.nodes) group_of.emplace(id, group.name);
  }
  std::string text;
  for (const graph::Group& group : fusion.groups) {
    if (!only.empty() && group.name != only) continue;
    text += fmt::format("{}group {} around {}\n", text.empty() ? "" : "\n", group.name,
                        node_text(module, group.backbone_node));
    for (const graph::FusionDecision& decision : group.decisions)
      text += decision_text(module, decision, group_of);
  }
  return text;
}

}  // namespace

std::string fusion_text(const Arguments& arguments) {
  refuse_reference(arguments, "--fusion", "");
  graph::PipelineOptions options = runtime::pipeline_options(
      *runtime::make_target(arguments.options, 1, dyn::Dump::from_environment()));
  options.fuse.record_decisions = true;
  const Operators operators = runtime::with_plugins(arguments.options).operators;
  std::vector<graph::Module> modules = modules_of(arguments, operators);
  std::string text;
  for (graph::Module& module : modules) {
    const graph::Fusion fusion = graph::run_pipeline(module, options);
    const std::string part = decisions_text(module, fusion, arguments.group);
    if (modules.size() > 1 && !part.empty())
      text += fmt::format("segment {}\n\n", &module - modules.data());
    text += part;
    if (modules.size() > 1 && !part.empty()) text += '\n';
  }
  if (text.empty() && !arguments.group.empty()) throw no_such_group(arguments.group);
  return text;
}

std::string text_after_pass(const Arguments& arguments) {
  if (arguments.after != before_all && graph::find_pass(arguments.after) == nullptr) {
    throw Error(ErrorKind::user, fmt::format("--after {}: there is no such pass; there are {}, {}",
                                             arguments.after, before_all, graph::pass_names()));
  }
  const Operators operators = runtime::with_plugins(arguments.options).operators;
  std::vector<graph::Module> modules = modules_of(arguments, operators);
  std::string text;
  const auto add = [&](const graph::Module& module) {
    if (modules.size() > 1) text += fmt::format("# segment {}\n", &module - modules.data());
    text += graph::print(module);
  };
  if (arguments.after == before_all) {
    std::ranges::for_each(modules, add);
    return text;
  }
  refuse_reference(arguments, fmt::format("--after {}", arguments.after),
                   fmt::format(", or --after {}", before_all));
  const graph::PipelineOptions options = runtime::pipeline_options(
      *runtime::make_target(arguments.options, 1, dyn::Dump::from_environment()));
  for (graph::Module& module : modules) {
    graph::run_pipeline(module, options, [&](const graph::Pass& pass, const graph::Module& now) {
      if (pass.name == arguments.after) add(now);
    });
  }
  return text;
}

}  // namespace dyn::cli
