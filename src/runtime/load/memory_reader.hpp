#pragma once
// The files of a model that a caller has in memory.

#include <map>
#include <string>
#include <string_view>

#include "dyn/reader.hpp"

namespace dyn::runtime {

/// The model is `memory_model`, the others have the names that it uses for them.
class MemoryReader final : public Reader {
 public:
  MemoryReader(std::string_view model, const std::map<std::string, std::string_view>& files);

  /// From here on the caller's memory is not read.
  void keep_copies();

  std::uint64_t size(const std::string& name) override { return file(name).size(); }
  std::size_t read(const std::string& name, std::uint64_t offset,
                   std::span<std::byte> into) override;
  std::optional<std::span<const std::byte>> in_place(const std::string& name) override;

 private:
  std::string_view file(const std::string& name) const;

  std::map<std::string, std::string_view> files_;
  std::map<std::string, std::string> copies_;
};

inline constexpr const char* memory_model = "<memory>";

}  // namespace dyn::runtime
