#pragma once
// One expression of the text IR, evaluated by the reference.

#include <limits>
#include <string>
#include <vector>

#include "targets/reference/reference.hpp"

namespace dyn::testing {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Floats, whatever the dtype: small integers and 0/1 are exact.
using Numbers = std::vector<double>;

struct Argument {
  std::string type;  ///< "f32[2, 3]"; every dim is a number
  Numbers values;
};

/// `statement`, such as "r, s = split(a) ...", over arguments called a, b, c, d. `results` names
/// its results with their types: "r: f32[2], s: f32[3]".
std::vector<reference::Array> evaluate_all(
    const std::string& statement, const std::string& results,
    const std::vector<Argument>& arguments,
    reference::Precision precision = reference::Precision::f64);

/// The same for an expression with one result, of type `result`.
reference::Array evaluate(const std::string& expression, const std::string& result,
                          const std::vector<Argument>& arguments,
                          reference::Precision precision = reference::Precision::f64);

/// The elements as floats.
Numbers numbers(const reference::Array& array);

/// Equal, or both NaN, or within `tolerance` of one another.
bool close(const Numbers& actual, const Numbers& expected, double tolerance = 0);

}  // namespace dyn::testing
