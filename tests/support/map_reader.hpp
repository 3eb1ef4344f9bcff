#pragma once
// A reader of files in memory, which can be made to fail.

#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "dyn/reader.hpp"

namespace dyn::testing {

/// Reads `files`, and notes what it is asked for.
class MapReader : public Reader {
 public:
  explicit MapReader(std::map<std::string, std::string> its_files) : files(std::move(its_files)) {}

  std::uint64_t size(const std::string& name) override {
    before("size", name);
    return file(name).size();
  }

  std::size_t read(const std::string& name, std::uint64_t offset,
                   std::span<std::byte> into) override {
    before("read", name);
    const std::string& bytes = file(name);
    if (offset > bytes.size()) return 0;
    const std::size_t count =
        std::min(into.size(), bytes.size() - static_cast<std::size_t>(offset));
    std::memcpy(into.data(), bytes.data() + offset, count);
    bytes_read[name] += count;
    return count;
  }

  std::optional<std::span<const std::byte>> in_place(const std::string& name) override {
    before("in_place", name);
    if (!lends) return std::nullopt;
    return std::as_bytes(std::span(file(name)));
  }

  std::string identity(const std::string& name) override {
    before("identity", name);
    return identities.contains(name) ? identities.at(name) : "";
  }

  std::map<std::string, std::string> files, identities;
  bool lends = false;  ///< its memory, in place
  std::map<std::string, std::size_t> bytes_read;
  std::vector<std::string> calls;  ///< "size m.onnx"
  /// Called before each answer with what is in `calls`, and may throw.
  std::function<void(const std::string&)> fault;

 private:
  void before(const char* what, const std::string& name) {
    calls.push_back(std::string(what) + " " + name);
    if (fault) fault(calls.back());
  }

  const std::string& file(const std::string& name) const {
    const auto found = files.find(name);
    if (found == files.end()) throw std::out_of_range("no file " + name + " in the container");
    return found->second;
  }
};

}  // namespace dyn::testing
