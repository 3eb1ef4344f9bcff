#pragma once
// The file that dynrun tune goes on with.

#include <optional>
#include <string>

#include "src/runtime/tuning/tuning_file.hpp"

namespace dyn::cli {

/// The content of the file; nullopt where it is not there. Throws Error(device) where it could not
/// be written: before the work, not after it.
std::optional<runtime::TuningFile> former_tuning(const std::string& path);

/// Throws Error(user) where the file was made with something else than is asked for now.
void require_equal(const std::string& path, const char* what, const std::string& of_file,
                   const std::string& now);
/// The same of version, target and machine.
void require_same_place(const std::string& path, const runtime::TuningFile& former,
                        const runtime::TuningFile& now);

void write_tuning(const std::string& path, const runtime::TuningFile& file);

}  // namespace dyn::cli
