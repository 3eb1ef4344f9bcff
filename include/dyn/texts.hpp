#pragma once
// dyn::TextCoder: tensors of texts at a model's inputs and outputs.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dyn/export.hpp"
#include "dyn/graph.hpp"
#include "dyn/tensor.hpp"

namespace dyn {

/// Makes texts the tensors that a model's inputs of texts take, and its outputs of texts again:
/// i64, the place of each text in the list of its port (PortInfo::texts). A text that is not in the
/// list is a negative place: -1 for the first such text that this coder is given, -2 for the
/// second, and so on, the same for all ports. So inputs of one run must come from one coder, where
/// the model compares texts of one with those of another, and outputs that pass on such texts are
/// decoded by the coder that knows them. Texts are bytes, UTF-8 by convention, and are compared as
/// they are. Not thread-safe; may be moved, not copied: one that was moved from throws Error(user).
class DYN_API TextCoder {
 public:
  explicit TextCoder(const Graph& graph);
  /// The same for ports that were asked for before (Graph::inputs() and outputs()).
  TextCoder(const std::vector<PortInfo>& inputs, const std::vector<PortInfo>& outputs);
  ~TextCoder();
  TextCoder(TextCoder&&) noexcept;
  TextCoder& operator=(TextCoder&&) noexcept;

  /// An i64 tensor of this shape for the input: `texts` in row-major order. Throws Error(user)
  /// where the model has no such input, it is one of numbers, or the number of texts is not the
  /// shape's.
  Tensor encode(std::string_view input, std::span<const std::string> texts, Shape shape);

  /// The texts of an output's i64 tensor, in row-major order. Throws Error(user) where the model
  /// has no such output, it is one of numbers, the tensor is not i64, or an element is neither a
  /// place in the list of the output nor that of a text that encode() was given.
  std::vector<std::string> decode(std::string_view output, const Tensor& tensor) const;

  /// Forgets texts that are in no list, whose number grows with every new one.
  void forget();

 private:
  struct State;
  State& state() const;
  std::unique_ptr<State> state_;
};

}  // namespace dyn
