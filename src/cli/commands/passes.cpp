#include "src/cli/commands/passes.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "graph/passes/pipeline.hpp"
#include "graph/passes/segments.hpp"
#include "graph/text/text.hpp"
#include "src/cli/input/inputs.hpp"
#include "src/import/onnx/import.hpp"
#include "src/runtime/load/target_factory.hpp"

namespace dyn::cli {
namespace {

constexpr std::string_view before_all = "parse";

std::string text_of(const Arguments& arguments) {
  if (std::filesystem::path(arguments.model).extension() != ".onnx") {
    std::ifstream file(arguments.model, std::ios::binary);
    if (!file) throw Error(ErrorKind::user, fmt::format("{} cannot be read", arguments.model));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  onnx::Imported imported =
      onnx::import_model(arguments.model, "weights.safetensors", load_inputs(arguments.load_inputs),
                         arguments.options.free_dims);
  if (imported.undecided.empty()) return imported.text;
  throw Error(ErrorKind::user, fmt::format("the values of its input(s) {} decide the structure of "
                                           "the model; give them with --load-inputs NAME=FILE.npy",
                                           fmt::join(imported.undecided, ", ")));
}

/// The modules that are compiled.
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
  const graph::PipelineOptions options =
      runtime::pipeline_options(*runtime::make_target(arguments.options, 1));
  std::vector<graph::Module> modules = modules_of(text_of(arguments), arguments.model);
  std::string text;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    if (modules.size() > 1) text += fmt::format("# segment {}\n", i);
    if (arguments.after == before_all) text += graph::print(modules[i]);
    graph::run_pipeline(modules[i], options,
                        [&](const graph::Pass& pass, const graph::Module& module) {
                          if (pass.name == arguments.after) text += graph::print(module);
                        });
  }
  return text;
}

}  // namespace dyn::cli
