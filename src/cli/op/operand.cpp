#include "src/cli/op/operand.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/cli/input/ranges.hpp"

namespace dyn::cli {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_number(const std::string& dim) {
  return std::isdigit(static_cast<unsigned char>(dim.front())) != 0;
}

/// Reads operands from left to right.
class OperandParser {
 public:
  explicit OperandParser(std::string_view text) : whole_(text), rest_(text) {}

  std::vector<OpOperand> run() {
    std::vector<OpOperand> operands;
    std::vector<std::size_t> open;  // operands whose kind the text leaves to the rule
    for (;;) {
      std::string word = take_word();
      const bool forced = word == "const" || word == "input";
      OpOperand operand;
      operand.constant = word == "const";
      if (forced)
        word = take_word();
      else
        open.push_back(operands.size());
      take_type(word, operand);
      operands.push_back(std::move(operand));
      skip_spaces();
      if (rest_.empty()) break;
      if (rest_.front() != 'x' && rest_.front() != ',') fail("expected ` x ` and another type");
      rest_.remove_prefix(1);
    }
    decide(operands, open);
    return operands;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(
        ErrorKind::user,
        fmt::format("\"{}\": {}. Example: \"f32[M,768] x const f32[768,2304]\"", whole_, problem));
  }

  static void decide(std::vector<OpOperand>& operands, const std::vector<std::size_t>& open) {
    const auto has_names = [](const OpOperand& operand) {
      return !std::all_of(operand.dims.begin(), operand.dims.end(), is_number);
    };
    const bool any_names = std::any_of(operands.begin(), operands.end(), has_names);
    for (const std::size_t index : open)
      operands[index].constant = any_names && !has_names(operands[index]);
  }

  void skip_spaces() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }

  std::string take_word() {
    skip_spaces();
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), is_word);
    std::string word(rest_.begin(), end);
    rest_.remove_prefix(word.size());
    return word;
  }

  void take_type(const std::string& dtype, OpOperand& operand) {
    const std::optional<DType> known = parse_dtype(dtype);
    if (!known) fail(fmt::format("\"{}\" is no dtype", dtype));
    operand.dtype = *known;
    if (rest_.empty() || rest_.front() != '[') fail(fmt::format("expected [ after {}", dtype));
    const std::size_t close = rest_.find(']');
    if (close == std::string_view::npos) fail("a ] is missing");
    std::string_view list = rest_.substr(1, close - 1);
    rest_.remove_prefix(close + 1);
    if (list.find_first_not_of(' ') == std::string_view::npos) return;  // a scalar
    for (;;) {
      const std::size_t comma = list.find(',');
      operand.dims.push_back(checked_dim(list.substr(0, comma)));
      if (comma == std::string_view::npos) return;
      list.remove_prefix(comma + 1);
    }
  }

  std::string checked_dim(std::string_view text) const {
    const std::size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
    if (first == std::string_view::npos) fail("a dim is missing");
    const std::string dim(text.substr(first, last - first + 1));
    if (!std::all_of(dim.begin(), dim.end(), is_word))
      fail(fmt::format("the dim \"{}\" is neither a number nor a name", dim));
    if (is_number(dim)) parse_integer(dim, whole_);
    return dim;
  }

  std::string_view whole_, rest_;
};

}  // namespace

std::vector<OpOperand> parse_operands(std::string_view text) { return OperandParser(text).run(); }

std::vector<std::string> dim_names(const std::vector<OpOperand>& operands) {
  std::vector<std::string> names;
  for (const OpOperand& operand : operands) {
    for (const std::string& dim : operand.dims) {
      if (!is_number(dim) && std::find(names.begin(), names.end(), dim) == names.end())
        names.push_back(dim);
    }
  }
  return names;
}

Shape shape_of(const OpOperand& operand, const DimMap& values) {
  Shape shape;
  for (const std::string& dim : operand.dims) {
    if (is_number(dim)) {
      shape.push_back(parse_integer(dim, dim));
    } else {
      const auto found = values.find(dim);
      if (found == values.end())
        throw Error(ErrorKind::user,
                    fmt::format("dim {} has no value; give --dims {}=...", dim, dim));
      shape.push_back(found->second);
    }
  }
  return shape;
}

std::string to_string(const std::vector<OpOperand>& operands) {
  std::string text;
  for (const OpOperand& operand : operands) {
    text += fmt::format("{}{}{}[{}]", text.empty() ? "" : " x ", operand.constant ? "const " : "",
                        name_of(operand.dtype), fmt::join(operand.dims, ","));
  }
  return text;
}

std::pair<std::string, std::string> parse_attribute(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size() ||
      text.find_first_of("\r\n") != std::string_view::npos) {
    throw Error(ErrorKind::user,
                fmt::format("--attr {}: expected NAME=VALUE, such as axis=-1 or perm=[1,0]", text));
  }
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

}  // namespace dyn::cli
