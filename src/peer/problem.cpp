#include "src/peer/problem.hpp"

#include <charconv>
#include <functional>
#include <numeric>
#include <sstream>

#include <fmt/format.h>

namespace dyn::peer {
namespace {

std::int64_t integer_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    throw Malformed(fmt::format("\"{}\" is no number", text));
  return value;
}

/// f32:53x768; a scalar has nothing after the colon.
Operand operand_of(std::string_view text, bool constant) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos)
    throw Malformed(fmt::format("\"{}\" is no DTYPE:SHAPE", text));
  Operand operand{constant, std::string(text.substr(0, colon)), {}};
  std::string_view rest = text.substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t cross = rest.find('x');
    operand.shape.push_back(integer_of(rest.substr(0, cross)));
    if (operand.shape.back() < 0) throw Malformed(fmt::format("\"{}\" has a negative size", text));
    rest.remove_prefix(cross == std::string_view::npos ? rest.size() : cross + 1);
  }
  return operand;
}

}  // namespace

bool Problem::flag(const std::string& name) const {
  const auto found = attributes.find(name);
  return found != attributes.end() && found->second == "true";
}

double Problem::number(const std::string& name, double fallback) const {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return fallback;
  double value = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw Malformed(fmt::format("{}={} is no number", name, text));
  return value;
}

std::vector<std::int64_t> Problem::list(const std::string& name) const {
  const auto found = attributes.find(name);
  std::vector<std::int64_t> values;
  if (found == attributes.end()) return values;
  std::string_view text = found->second;
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    values.push_back(integer_of(text.substr(0, comma)));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return values;
}

std::int64_t element_count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Problem parse_problem(std::string_view text) {
  std::istringstream words{std::string(text)};
  Problem problem;
  words >> problem.op;
  bool has_output = false;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) throw Malformed(fmt::format("\"{}\" is no NAME=VALUE", word));
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    if (name == "copies")
      problem.copies = static_cast<int>(integer_of(value));
    else if (name == "input" || name == "weight")
      problem.operands.push_back(operand_of(value, name == "weight"));
    else if (name == "output")
      problem.output = operand_of(value, false), has_output = true;
    else if (name.starts_with('@'))
      problem.attributes[name.substr(1)] = value;
    else
      throw Malformed(fmt::format("\"{}\" is no part of a problem", word));
  }
  if (problem.op.empty() || problem.copies < 1 || !has_output)
    throw Malformed("a problem needs an operator, copies and an output");
  return problem;
}

}  // namespace dyn::peer
