#pragma once
// `dynrun inspect` and the three forms of `dynrun explain` share these.

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "dyn/error.hpp"
#include "src/cli/arguments.hpp"
#include "src/runtime/load/model.hpp"

namespace dyn::cli {

/// The groups that --group asks for; all without it. Throws Error(user) where there is none of that
/// name.
std::vector<std::size_t> chosen_groups(const runtime::Model& model, const std::string& name);

/// The error for a --group that does not exist.
Error no_such_group(const std::string& name);

/// Layers of a model repeat: groups with the same explanation are printed together.
struct Explanation {
  std::string text;
  std::vector<std::size_t> groups;
};
/// `text_of` explains one group.
std::vector<Explanation> explanations(const std::vector<std::size_t>& groups,
                                      const std::function<std::string(std::size_t group)>& text_of);

/// "2 groups: matmul_3 matmul_7".
std::string names_of(const runtime::Model& model, const Explanation& explanation);

/// The code that a run of this plan launches for a group, assembly or PTX.
std::string code_text(const runtime::Model& model, const runtime::Plan& plan, std::size_t group);

/// `dynrun explain --measure`: all programs of every policy, fastest first. Throws
/// Error(unsupported) where nothing can be measured.
void explain_by_measuring(const Arguments& arguments);

/// `dynrun explain --counters`: runs the model once, and prints what the device counted of each
/// kernel, beside the time that follows. Throws Error(user) for a device that does not count.
void explain_by_counting(const Arguments& arguments);

}  // namespace dyn::cli
