#include "src/cli/commands/passes.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/passes/pipeline.hpp"
#include "graph/passes/segments.hpp"
#include "graph/text/text.hpp"
#include "src/base/dump.hpp"
#include "src/cli/input/imported.hpp"
#include "src/runtime/load/option_values.hpp"
#include "src/runtime/load/target_factory.hpp"
#include "src/runtime/system/mapped_file.hpp"

namespace dyn::cli {
namespace {

constexpr std::string_view before_all = "parse";

std::string text_of(const Arguments& arguments) {
  if (std::filesystem::path(arguments.model).extension() == ".onnx") {
    return imported_model(arguments, "weights.safetensors").text;
  }
  return runtime::read_text_file(arguments.model);
}

/// The modules that are compiled: the model, or its segments.
std::vector<graph::Module> modules_of(const std::string& text, const std::string& name) {
  std::vector<graph::Module> modules;
  graph::Module whole = graph::parse(text, name);
  if (!graph::defines_dims(whole)) {
    modules.push_back(std::move(whole));
    return modules;
  }
  for (const graph::Segment& segment : graph::cut(whole)) {
    if (segment.defines) continue;
    modules.push_back(graph::parse(text, name));  // symbols mean the same in all
    graph::keep_segment(modules.back(), segment);
  }
  return modules;
}

}  // namespace

std::string text_after_pass(const Arguments& arguments) {
  if (arguments.after != before_all && graph::find_pass(arguments.after) == nullptr) {
    throw Error(ErrorKind::user, fmt::format("--after {}: there is no such pass; there are {}, {}",
                                             arguments.after, before_all, graph::pass_names()));
  }
  std::vector<graph::Module> modules = modules_of(text_of(arguments), arguments.model);
  std::string text;
  const auto add = [&](const graph::Module& module) {
    if (modules.size() > 1) text += fmt::format("# segment {}\n", &module - modules.data());
    text += graph::print(module);
  };
  if (arguments.after == before_all) {
    std::ranges::for_each(modules, add);
    return text;
  }
  if (arguments.options.device == runtime::reference_device) {
    throw Error(ErrorKind::user,
                fmt::format("--after {}: device reference runs a model as it is parsed, without "
                            "passes; take another device, or --after {}",
                            arguments.after, before_all));
  }
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
