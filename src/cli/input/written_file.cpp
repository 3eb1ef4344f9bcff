#include "src/cli/input/written_file.hpp"

#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::cli {

void write_file(const std::filesystem::path& path,
                const std::function<void(std::ostream&)>& write) {
  const std::filesystem::path unfinished = path.string() + ".part";
  std::ofstream file(unfinished, std::ios::binary);
  write(file);
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(unfinished, path, error);
  if (file && !error) return;
  std::filesystem::remove(unfinished, error);
  throw Error(
      ErrorKind::device,
      fmt::format("{} cannot be written: is there room, and may you write there?", path.string()));
}

}  // namespace dyn::cli
