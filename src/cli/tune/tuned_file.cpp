#include "src/cli/tune/tuned_file.hpp"

#include <filesystem>

#include <unistd.h>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/cli/input/written_file.hpp"

namespace dyn::cli {

std::optional<runtime::TuningFile> former_tuning(const std::string& path) {
  std::optional<runtime::TuningFile> former;
  if (std::filesystem::exists(path)) former = runtime::read_tuning_file(path);
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (access(folder.c_str(), W_OK) != 0)
    throw Error(ErrorKind::device,
                fmt::format("{} cannot be written: is '{}' a folder that you may write to?", path,
                            folder.string()));
  return former;
}

void require_equal(const std::string& path, const char* what, const std::string& of_file,
                   const std::string& now) {
  if (of_file == now) return;
  throw Error(ErrorKind::user,
              fmt::format("'{}' cannot be resumed: its {} is '{}', now it is '{}'; give another "
                          "--output, or remove the file",
                          path, what, of_file, now));
}

void require_same_place(const std::string& path, const runtime::TuningFile& former,
                        const runtime::TuningFile& now) {
  require_equal(path, "version", former.version, now.version);
  require_equal(path, "target", former.target, now.target);
  require_equal(path, "machine", former.machine, now.machine);
}

void write_tuning(const std::string& path, const runtime::TuningFile& file) {
  write_file(path, [&](std::ostream& stream) { stream << runtime::to_json(file); });
}

}  // namespace dyn::cli
