#pragma once
// A model as text, with its weights in files or in memory.

#include <map>
#include <string>
#include <string_view>

#include "graph/ir/module.hpp"
#include "src/cli/arguments.hpp"
#include "src/import/onnx/reader/weights.hpp"
#include "src/runtime/load/load_request.hpp"
#include "src/runtime/load/model.hpp"
#include "src/runtime/weights/weight_source.hpp"

namespace dyn::cli {

struct ModelText {
  std::string text;
  std::string name;                              ///< for messages
  std::string directory;                         ///< of weights files that are not held
  std::map<std::string, std::string> held = {};  ///< weights files by name

  /// The request, whose memory belongs to this object and `views`.
  runtime::LoadRequest request(std::map<std::string, std::string_view>& views) const;
  /// Loads another text with the same weights.
  std::shared_ptr<const runtime::Model> load(const std::string& other_text,
                                             const Options& options) const;
};

/// Arguments::model, which may be an ONNX file.
ModelText model_text_of(const Arguments& arguments);

/// Gives the module all of its weights in one file of that name, but for those that a text makes
/// itself, and returns text and file, which is held. Weights that passes have made are made now,
/// `made` has the bytes of others by name. `sources`: of the module, whose last use this is.
ModelText with_weights_in(graph::Module& module, const runtime::WeightSources& sources,
                          const runtime::LoadRequest& request, const Options& options,
                          std::map<std::string, std::string> made, const std::string& file_name);

}  // namespace dyn::cli
