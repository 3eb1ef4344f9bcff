#pragma once
// Files that commands write.

#include <filesystem>
#include <functional>
#include <ostream>

namespace dyn::cli {

/// A file appears whole or not at all: it is written under another name first. Throws Error(device)
/// where it cannot be.
void write_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);

}  // namespace dyn::cli
