#pragma once
// Everything that is known of a value of an ONNX graph while it is imported.

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/ir/module.hpp"
#include "src/import/onnx/reader/tensor.hpp"
#include "src/import/onnx/texts/text_list.hpp"

namespace dyn::onnx {

/// Tensors with more elements are no shape arithmetic.
inline constexpr std::size_t most_known_ints = 1024;

/// Integers that shape arithmetic has made: each a dim, which may be negative where it is constant.
struct KnownInts {
  DType dtype = DType::i64;
  bool scalar = false;
  std::vector<graph::Dim> elements;
  std::vector<std::int64_t> dims = {};  ///< dims of a tensor of rank 2 or more, whose elements
                                        ///< stand in row-major order; empty for lists and scalars
};

/// Nothing can read the operand, since a run decides which of two unlike results it is.
struct Refusal {
  std::string message;
  std::set<std::string> deciding;  ///< inputs of the graph whose values would tell; empty: none
};

struct Operand;

/// The integers that a tensor of numbers stands for: number = (integer - zero point) * scale, both
/// of them for all elements or for each along one axis.
struct OperandIntegers {
  std::shared_ptr<Operand> elements, scale, zero_point;  ///< zero_point nullptr: 0
  int axis = 0;
};

/// A constant becomes a value of the module when something reads it as a tensor, and never where
/// only shapes depend on it.
struct Operand {
  graph::ValueId id = graph::no_value;
  ConstantTensor constant;
  std::optional<KnownInts> ints;
  std::string name = {};  ///< the name that its definition has; a weight's key
  std::vector<std::shared_ptr<Operand>> parts =
      {};  ///< for a list of integers, the lists that it is joined from, where one of them depends
           ///< on data
  TextListPtr texts = nullptr;  ///< for a tensor of texts: its elements are places in this list
  // At most one of these is set, and then nothing else is.
  std::shared_ptr<const Refusal> refusal = nullptr;
  std::shared_ptr<const std::vector<std::shared_ptr<Operand>>> sequence =
      nullptr;              ///< it is no tensor, but a list of tensors
  bool is_nothing = false;  ///< it is an optional value that there is none of

  /// Before the tensors of a sequence that grows in a loop: behind the loop those that its steps
  /// have put there, as one tensor with an axis before theirs; in the loop's body what was there
  /// before the step, which is no value.
  std::shared_ptr<Operand> front = nullptr;

  std::shared_ptr<const OperandIntegers> integers = nullptr;  ///< what f32 elements come from
  graph::ValueId raised = graph::no_value;  ///< u8: elements of i8, each plus 128, as products take
                                            ///< them
  bool is_from_integers = false;  ///< it follows from tensors that have these, by arithmetic
};

using OperandList = std::vector<std::shared_ptr<Operand>>;

/// Operands by name. One operand may have several names, in the graph and in functions, and still
/// becomes one value of the module.
using Operands = std::unordered_map<std::string, std::shared_ptr<Operand>>;

/// Elements in the file, or integers that contain no symbol; nullptr: neither.
const Tensor* constant_of(Operand& operand);

}  // namespace dyn::onnx
