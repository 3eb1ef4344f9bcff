#include "src/runtime/load/memory_reader.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {

MemoryReader::MemoryReader(std::string_view model,
                           const std::map<std::string, std::string_view>& files) {
  // As a model's names are before a reader is asked.
  for (const auto& [name, bytes] : files)
    files_.emplace(std::filesystem::path(name).lexically_normal().string(), bytes);
  files_.insert_or_assign(memory_model, model);
}

void MemoryReader::keep_copies() {
  for (auto& [name, bytes] : files_) bytes = copies_.emplace(name, bytes).first->second;
}

std::string_view MemoryReader::file(const std::string& name) const {
  const auto found = files_.find(name);
  if (found == files_.end()) user_error("it is not among the files that were given");
  return found->second;
}

std::size_t MemoryReader::read(const std::string& name, std::uint64_t offset,
                               std::span<std::byte> into) {
  const std::string_view bytes = file(name).substr(offset, into.size());
  std::ranges::copy(std::as_bytes(std::span(bytes)), into.begin());
  return bytes.size();
}

std::optional<std::span<const std::byte>> MemoryReader::in_place(const std::string& name) {
  return std::as_bytes(std::span(file(name)));
}

}  // namespace dyn::runtime
