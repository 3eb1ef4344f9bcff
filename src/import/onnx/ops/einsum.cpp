// Einsum: sums over letters, pair by pair, each as a matrix product.

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "graph/ir/scalars.hpp"
#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {
namespace {

/// Axes named by letters. Axes of an ellipsis are digits, counted from the right, so that operands
/// of several ranks broadcast.
using Letters = std::string;

struct Factor {
  TensorExpr value;
  Letters letters;
};

struct Equation {
  std::vector<Letters> inputs;
  Letters output;
};

bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

constexpr std::size_t most_ellipsis_axes = 10;

Letters letters_of(NodeContext& node, const std::string& text, std::size_t ellipsis_axes) {
  Letters letters;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_letter(text[i])) {
      letters += text[i];
    } else if (text.compare(i, 3, "...") == 0 &&
               letters.find_first_of("0123456789") == std::string::npos) {
      for (std::size_t axis = ellipsis_axes; axis-- > 0;) letters += static_cast<char>('0' + axis);
      i += 2;
    } else {
      node.fail(fmt::format("its equation has \"{}\", which is no letter and no single ellipsis",
                            text.substr(i, 3)));
    }
  }
  return letters;
}

/// Without an arrow the result has the ellipsis, and all letters that occur once, in the alphabet's
/// order.
Letters implied_output(const std::vector<Letters>& inputs) {
  std::map<char, int> counts;
  Letters output;
  for (const Letters& input : inputs) {
    for (const char letter : input) {
      if (is_letter(letter))
        ++counts[letter];
      else if (output.find(letter) == std::string::npos)
        output += letter;
    }
  }
  std::ranges::sort(output, std::greater());
  for (const auto& [letter, count] : counts) {
    if (count == 1) output += letter;
  }
  return output;
}

Equation equation_of(NodeContext& node) {
  std::string text = node.word("equation", "");
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  std::vector<std::string> parts{""};
  for (const char letter : text.substr(0, arrow)) {
    if (letter == ',')
      parts.emplace_back();
    else
      parts.back() += letter;
  }
  if (parts.size() != node.inputs())
    node.fail(fmt::format("its equation has {} operands, but it has {} inputs", parts.size(),
                          node.inputs()));
  Equation equation;
  std::size_t most = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto rank = static_cast<std::size_t>(node.type(i).rank());
    const auto named = static_cast<std::size_t>(std::ranges::count_if(parts[i], is_letter));
    const bool has_ellipsis = parts[i].find("...") != std::string::npos;
    if (has_ellipsis ? rank < named : rank != named)
      node.fail(fmt::format("operand {} has {} dims, but its equation gives it \"{}\"", i, rank,
                            parts[i]));
    if (rank - named > most_ellipsis_axes)
      node.fail_unsupported("an ellipsis of more than ten axes is not supported");
    if (has_ellipsis) most = std::max(most, rank - named);
    equation.inputs.push_back(letters_of(node, parts[i], rank - named));
  }
  equation.output = arrow == std::string::npos ? implied_output(equation.inputs)
                                               : letters_of(node, text.substr(arrow + 2), most);
  for (const char letter : equation.output) {
    const bool known = std::ranges::any_of(equation.inputs, [&](const Letters& input) {
      return input.find(letter) != std::string::npos;
    });
    if (!known || std::ranges::count(equation.output, letter) > 1)
      node.fail(
          fmt::format("its result's \"{}\" must be in an operand, and once in the result", letter));
  }
  return equation;
}

/// A letter that occurs twice means the diagonal: both axes become one, of which every (n + 1)-th
/// element is taken.
void take_diagonals(Factor& operand) {
  NodeContext& node = operand.value.node();
  for (std::size_t i = 0; i < operand.letters.size(); ++i) {
    const std::size_t again = operand.letters.find(operand.letters[i], i + 1);
    if (again == std::string::npos) continue;
    const Dims dims = operand.value.dims();
    Integers perm(dims.size());
    std::iota(perm.begin(), perm.end(), 0);
    perm.erase(perm.begin() + static_cast<std::ptrdiff_t>(again));
    perm.insert(perm.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                static_cast<std::int64_t>(again));
    if (graph::prove_equal(dims[i], dims[again]) == false)
      node.fail(fmt::format("\"{}\" is both {} and {}", operand.letters[i],
                            graph::to_string(dims[i]), graph::to_string(dims[again])));
    const TensorExpr square = transpose(operand.value, perm);
    Dims flat = square.dims();
    const Dim extent = flat[i];
    // Where the second axis has another size than the first, this reshape fails.
    flat[i] = extent * extent;
    flat.erase(flat.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    const TensorExpr place = range(node, extent);
    operand.value =
        gather(reshape(square, flat), place * size(node, extent + 1), static_cast<int>(i));
    operand.letters.erase(again, 1);
    --i;
  }
}

bool has(const Letters& letters, char letter) { return letters.find(letter) != std::string::npos; }

void sum_away(Factor& operand, const std::function<bool(char)>& is_wanted) {
  Integers axes;
  Letters kept;
  for (std::size_t i = 0; i < operand.letters.size(); ++i) {
    if (is_wanted(operand.letters[i]))
      kept += operand.letters[i];
    else
      axes.push_back(static_cast<std::int64_t>(i));
  }
  operand = {reduce("reduce_sum", operand.value, axes, false), kept};
}

/// The operand with these letters and no others; letters that it lacks are axes of 1.
TensorExpr arranged(const Factor& operand, const Letters& letters) {
  Integers perm;
  Dims dims;
  for (const char letter : letters) {
    const std::size_t place = operand.letters.find(letter);
    if (place == std::string::npos) continue;
    perm.push_back(static_cast<std::int64_t>(place));
  }
  const TensorExpr transposed =
      std::ranges::is_sorted(perm) ? operand.value : transpose(operand.value, perm);
  std::size_t next = 0;
  for (const char letter : letters)
    dims.push_back(has(operand.letters, letter) ? transposed.dims()[next++]
                                                : operand.value.node().dims().constant(1));
  return dims == transposed.dims() ? transposed : reshape(transposed, dims);
}

Dim extent_of(const Factor& operand, char letter) {
  return operand.value.dims()[operand.letters.find(letter)];
}

/// Letters of a pair of operands by their part in a matrix product.
struct Roles {
  Letters batch, rows, columns, summed;
};

/// A letter of both sides that one side has with a dim of 1 broadcasts, and is no axis of the
/// product: nothing where there is such a letter.
std::optional<Roles> roles_of(const Factor& a, const Factor& b,
                              const std::function<bool(char)>& is_wanted) {
  Roles roles;
  for (const char letter : a.letters) {
    if (!has(b.letters, letter)) {
      roles.rows += letter;
      continue;
    }
    const Dim left = extent_of(a, letter), right = extent_of(b, letter);
    if ((left.constant() == 1) != (right.constant() == 1)) return std::nullopt;
    (is_wanted(letter) ? roles.batch : roles.summed) += letter;
  }
  for (const char letter : b.letters) {
    if (!has(a.letters, letter)) roles.columns += letter;
  }
  return roles;
}

Dim extent_of(const Factor& operand, const Letters& letters) {
  Dim extent = operand.value.node().dims().constant(1);
  for (const char letter : letters) extent = extent * extent_of(operand, letter);
  return extent;
}

/// [batch..., rows, summed] times [batch..., summed, columns].
Factor matrix_product(const Factor& a, const Factor& b, const Roles& roles) {
  Dims left, right, result;
  for (const char letter : roles.batch) left.push_back(extent_of(a, letter));
  right = result = left;
  const Dim summed = extent_of(a, roles.summed);
  left.insert(left.end(), {extent_of(a, roles.rows), summed});
  right.insert(right.end(), {extent_of(b, roles.summed), extent_of(b, roles.columns)});
  for (const char letter : roles.rows) result.push_back(extent_of(a, letter));
  for (const char letter : roles.columns) result.push_back(extent_of(b, letter));
  const TensorExpr product =
      matmul(reshape(arranged(a, roles.batch + roles.rows + roles.summed), left),
             reshape(arranged(b, roles.batch + roles.summed + roles.columns), right));
  return {reshape(product, result), roles.batch + roles.rows + roles.columns};
}

/// Multiplies two operands, and sums over the letters that are not wanted any more.
Factor product(Factor a, Factor b, const std::function<bool(char)>& is_wanted) {
  sum_away(a, [&](char letter) { return is_wanted(letter) || has(b.letters, letter); });
  sum_away(b, [&](char letter) { return is_wanted(letter) || has(a.letters, letter); });
  if (a.value.dtype() == DType::f32 || graph::is_half(a.value.dtype())) {
    if (const std::optional<Roles> roles = roles_of(a, b, is_wanted);
        roles && !roles->summed.empty())
      return matrix_product(a, b, *roles);
  }
  Letters all = a.letters;
  for (const char letter : b.letters) {
    if (!has(all, letter)) all += letter;
  }
  Factor result{arranged(a, all) * arranged(b, all), all};
  sum_away(result, is_wanted);
  return result;
}

void convert_einsum(NodeContext& node) {
  const Equation equation = equation_of(node);
  std::vector<Factor> operands;
  for (std::size_t i = 0; i < equation.inputs.size(); ++i) {
    operands.push_back({input_expr(node, i), equation.inputs[i]});
    take_diagonals(operands.back());
  }
  Factor result = operands.front();
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const auto is_wanted = [&](char letter) {
      return has(equation.output, letter) ||
             std::any_of(operands.begin() + static_cast<std::ptrdiff_t>(i) + 1, operands.end(),
                         [&](const Factor& later) { return has(later.letters, letter); });
    };
    result = product(result, operands[i], is_wanted);
  }
  sum_away(result, [&](char letter) { return has(equation.output, letter); });
  const TensorExpr value = arranged(result, equation.output);
  if (value.id() == node.value(0)) return node.give(node.operand(0));
  node.give(value.id());
}

}  // namespace

Family einsum_operators() { return {{"Einsum", convert_einsum}}; }

}  // namespace dyn::onnx
