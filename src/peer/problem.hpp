#pragma once
// One problem of the line protocol (docs/peers.md): an operator, its attributes, and its operands
// at one shape.

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "targets/vendor/library.hpp"

namespace dyn::peer {

using Shape = std::vector<std::int64_t>;

struct Operand {
  bool constant = false;  ///< may be packed before the timing
  std::string dtype;
  Shape shape;
};

struct Problem {
  std::string op;
  int copies = 1;
  std::map<std::string, std::string> attributes;
  std::vector<Operand> operands;
  Operand output;

  bool flag(const std::string& name) const;                       ///< absent: false
  double number(const std::string& name, double fallback) const;  ///< throws Malformed
  std::vector<std::int64_t> list(
      const std::string& name) const;  ///< "[1,0]" or "1"; absent: empty; throws Malformed
};

/// The line breaks the protocol.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A library throws this where it cannot do a problem, or cannot be used at all.
using vendor::Unsupported;

std::int64_t element_count(const Shape& shape);

/// Parses the text after the word `problem`. Throws Malformed.
Problem parse_problem(std::string_view text);

}  // namespace dyn::peer
