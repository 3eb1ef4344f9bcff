#pragma once
// The types of a model's inputs, with the dims that an import frees.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/builder.hpp"
#include "src/import/onnx/import.hpp"
#include "src/import/onnx/messages/messages.hpp"
#include "src/import/onnx/sizes/file_sizes.hpp"
#include "src/import/onnx/sizes/shared_names.hpp"

namespace dyn::onnx {

/// Thrown where the file has no shapes for these inputs, and nobody has given their ranks.
struct UnrankedInputs {
  std::vector<std::string> names;
};

/// Names in the file become symbols, the same everywhere; where free_dims has words for an input,
/// they replace those of the file. A dim that is among the Ones is 1, and still has its name for
/// itself; one that free_dims frees stays a symbol. A dim that is among the Splits is what they
/// say.
class InputTypes {
 public:
  /// `options` must outlive it. Throws Error(user) for words that do not fit the inputs, and
  /// UnrankedInputs.
  InputTypes(graph::Builder& builder, FileSizes& sizes,
             const std::vector<const ValueInfoProto*>& inputs, const ImportOptions& options);

  /// Takes the inputs one after the other, in their order.
  graph::TensorType type_of(const ValueInfoProto& input);

  /// The file's names that stand in several places of the inputs so far.
  SharedNames shared_names() const;

 private:
  using Dimension = TensorShapeProto::Dimension;

  void read_words(const ValueInfoProto& input, const std::vector<std::string>& words);
  void read_word(const Dimension& dim, const std::string& word);
  int rank_of(const ValueInfoProto& input) const;
  graph::Dim given_dim(const Dimension& dim, const std::string& word, const std::string& place);
  graph::Dim file_dim(const Dimension& dim, DimPlace place);
  graph::Dim dim_called(const std::string& name, DimPlace place);
  graph::Dim symbol(const std::string& name);
  graph::Dim nameless_symbol();
  std::string text_name(const std::string& name);

  graph::Builder& builder_;
  FileSizes& sizes_;
  const FreeDims& free_dims_;
  const Ones& ones_;
  const std::map<std::string, int>& ranks_;
  const std::map<DimPlace, int> splits_;
  SharedNames names_;
  std::size_t inputs_ = 0;  ///< whose types were asked for
  std::map<std::string, std::optional<std::int64_t>>
      words_;  ///< names that free_dims gives, and the size in the file
  std::map<std::string, std::set<std::string>> renamed_;  ///< what free_dims makes of the file's
  std::map<std::string, graph::Dim> symbols_;
  graph::UniqueNames taken_;
};

}  // namespace dyn::onnx
