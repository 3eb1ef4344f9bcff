#pragma once
// The types of a model's inputs, with the dims that an import frees.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/builder.hpp"
#include "onnx.pb.h"
#include "src/import/onnx/import.hpp"
#include "src/import/onnx/sizes/file_sizes.hpp"

namespace dyn::onnx {

/// Names in the file become symbols, the same everywhere; where free_dims has words for an input,
/// they replace those of the file. A dim that is among the Ones is 1, and still has its name for
/// itself; one that free_dims frees stays a symbol.
class InputTypes {
 public:
  /// Throws Error(user) for words that do not fit the inputs.
  InputTypes(graph::Builder& builder, FileSizes& sizes,
             const std::vector<const ValueInfoProto*>& inputs, const FreeDims& free_dims,
             const Ones& ones);

  graph::TensorType type_of(const ValueInfoProto& input);

 private:
  using Dimension = TensorShapeProto::Dimension;

  void read_word(const Dimension& dim, const std::string& word);
  graph::Dim dim_of(const Dimension& dim, const std::string* word, const std::string& place);
  graph::Dim symbol(const std::string& name);
  graph::Dim nameless_symbol();
  std::string text_name(const std::string& name);

  graph::Builder& builder_;
  FileSizes& sizes_;
  const FreeDims& free_dims_;
  const Ones& ones_;
  std::map<std::string, std::optional<std::int64_t>>
      words_;  ///< names that free_dims gives, and the size in the file
  std::map<std::string, std::string> renamed_;  ///< the file's names that free_dims replaces
  std::map<std::string, graph::Dim> symbols_;
  graph::UniqueNames taken_;
};

}  // namespace dyn::onnx
