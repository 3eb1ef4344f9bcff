#pragma once
// `dynrun op OP "TYPES"`: the operands of one operator, as the command line writes them.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dyn/dtype.hpp"
#include "dyn/tensor.hpp"

namespace dyn::cli {

struct OpOperand {
  bool constant = false;  ///< a weight of the model, else an input
  DType dtype = DType::f32;
  std::vector<std::string> dims;  ///< each a number or a name

  bool operator==(const OpOperand&) const = default;
};

/// One operator with symbolic operands.
struct OpProblem {
  std::string op;
  std::vector<std::pair<std::string, std::string>>
      attributes;  ///< name and value as the text IR writes it
  std::vector<OpOperand> operands;

  bool operator==(const OpProblem&) const = default;
};

using DimMap = std::map<std::string, std::int64_t>;

/// "f32[M,768] x const f32[768,2304]": types separated by ` x ` or a comma. Without a prefix `const
/// ` or `input `, an operand whose dims are all numbers is constant where another operand has
/// names. Throws Error(user) that quotes the text.
std::vector<OpOperand> parse_operands(std::string_view text);

/// Names of dims in order of first appearance.
std::vector<std::string> dim_names(const std::vector<OpOperand>& operands);

/// The operand's shape at these values. Throws Error(user) for a name without a value.
Shape shape_of(const OpOperand& operand, const DimMap& values);

/// "f32[M,768] x const f32[768,2304]".
std::string to_string(const std::vector<OpOperand>& operands);

/// name=value; throws Error(user) that quotes the text.
std::pair<std::string, std::string> parse_attribute(std::string_view text);

}  // namespace dyn::cli
