#pragma once
// A model between two passes, and what the last one decided.

#include <string>

#include "src/cli/arguments.hpp"

namespace dyn::cli {

/// The text of the model as it is after the pass Arguments::after; "parse": before the first. A
/// model whose run decides sizes is compiled in segments: the text of each. Throws Error(user) for
/// a pass that does not exist, and what reading the model throws.
std::string text_after_pass(const Arguments& arguments);

/// For each group, or Arguments::group alone, which nodes joined it and which were refused, and by
/// which rule. Runs the passes, but compiles nothing and reads no weights. Throws Error(user) where
/// there is no such group, and what reading the model throws.
std::string fusion_text(const Arguments& arguments);

}  // namespace dyn::cli
