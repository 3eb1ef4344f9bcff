#pragma once
// What a model is loaded from.

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "dyn/info.hpp"
#include "dyn/options.hpp"
#include "graph/passes/segments.hpp"
#include "src/runtime/device/budget.hpp"
#include "src/runtime/run/memory_budget.hpp"

namespace dyn::runtime {

class ReadFiles;

/// nullptr where device memory has no limit.
std::shared_ptr<DeviceBudget> make_device_budget(const Options& options);
/// nullptr where the host's memory has no limit. Throws Error(user) for a negative one.
std::shared_ptr<MemoryBudget> make_memory_budget(const Options& options);

/// Where a model comes from. With `files` set, weight files are looked up there by the name that
/// the text uses and nothing is read from the file system.
struct LoadRequest {
  std::string text;
  std::string source_name = "<text>";
  std::string weight_directory = ".";
  const std::map<std::string, std::string_view>* files = nullptr;
  /// With `reader` set, likewise there.
  ReadFiles* reader = nullptr;
  /// Nobody reads `files`, or what was read through `reader`, after the load: what has been taken
  /// from their memory may be given back to the system, so that weights are in memory once.
  bool gives_files = false;
  /// Values of inputs that the text holds for: a run with others is refused.
  std::map<std::string, Tensor> decided = {};
  /// Metadata of the file that the text is made from; without a format: the text is the model.
  ModelMetadata metadata = {};
  std::map<std::string, int> remarks = {};  ///< Module::remarks of what the text is made of
  /// Bounds the device memory of all models that are parts or variants of one graph; nullptr: there
  /// is one for this model, as Options::device_memory says.
  std::shared_ptr<DeviceBudget> device_budget = nullptr;
  /// The same for the host's memory, by Options::memory_budget.
  std::shared_ptr<MemoryBudget> memory_budget = nullptr;
  /// This part of the module that the text was parsed to alone; dims get their values from the
  /// whole.
  const graph::Segment* segment = nullptr;
  const graph::Module* whole = nullptr;
  /// This body of a loop alone, in place of a text.
  const graph::Module* body = nullptr;
  /// In place of a text: a module with a table of dims that nobody else uses.
  const graph::Module* module = nullptr;
};

}  // namespace dyn::runtime
