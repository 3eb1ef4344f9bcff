#pragma once
// `--shapes ids=1x37`: shapes of some inputs determine the dims of a model.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dyn/tensor.hpp"
#include "src/runtime/load/model.hpp"

namespace dyn::cli {

/// NAME=1x37 or, for rank 0, NAME=scalar; several are separated by commas. Throws Error(user) that
/// quotes the text.
runtime::NamedShapes parse_shapes(std::string_view text);

/// The value of every symbol, from those of dims by name; other dims take their hints. Throws
/// Error(user), which says how the command line gives the dims that have neither.
std::vector<std::int64_t> bind_named(const runtime::Model& model,
                                     const std::map<std::string, std::int64_t>& dims);

/// The value of every symbol, from shapes of some or all inputs. Other dims take their hints.
/// Throws Error(user) for an unknown input, a wrong rank or size, and a dim that gets two values.
std::vector<std::int64_t> bind_partial(const runtime::Model& model,
                                       const runtime::NamedShapes& shapes);

}  // namespace dyn::cli
