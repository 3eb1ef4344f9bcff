#pragma once
// The generated code of a model's GPU groups, as files.

#include <cstddef>
#include <span>
#include <string>

#include "src/runtime/load/model.hpp"

namespace dyn::cli {

/// Writes the listings of these groups, each code once, as DIRECTORY/NAME.ptx. Returns a table of
/// the files, with the hash of the IR that each was made from, and the groups that use it. Throws
/// Error(user) where no group has code to show, Error(device) for a directory that cannot be
/// written.
std::string dump_ptx(const runtime::Model& model, std::span<const std::size_t> groups,
                     const std::string& directory);

}  // namespace dyn::cli
