#include "src/base/host_file.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn {
namespace {

constexpr std::size_t most_bytes = std::size_t{16} << 20;  ///< of one read, as reader.hpp promises

/// Gives what `ask` gives. `what` was asked: "its size".
template <class Ask>
auto asked(const std::string& name, const std::string& what, const Ask& ask) {
  const auto failed = [&](ErrorKind kind, const std::string& why,
                          const std::vector<std::string>& where = {}) {
    return Error(
        kind, fmt::format("cannot read '{}': the reader, asked for {}, says: {}", name, what, why),
        where);
  };
  try {
    return ask();
  } catch (const Error& error) {
    throw failed(error.kind(), error.message(), error.where());
  } catch (const std::exception& exception) {
    throw failed(ErrorKind::device, exception.what());
  } catch (...) { throw failed(ErrorKind::device, "an exception that is no std::exception"); }
}

std::string range_text(std::uint64_t offset, std::uint64_t bytes) {
  return fmt::format("{} bytes at byte {}", bytes, offset);
}

}  // namespace

HostFile::HostFile(Reader& reader, std::string name) : reader_(reader), name_(std::move(name)) {
  in_place_ = asked(name_, "its place in memory", [&] { return reader_.in_place(name_); });
  if (in_place_ && in_place_->data() == nullptr && !in_place_->empty())
    throw Error(ErrorKind::device,
                fmt::format("cannot read '{}': the reader says that {} bytes lie in memory, at no "
                            "address",
                            name_, in_place_->size()));
  size_ =
      in_place_ ? in_place_->size() : asked(name_, "its size", [&] { return reader_.size(name_); });
}

void HostFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  if (in_place_) {
    if (!into.empty()) std::memcpy(into.data(), in_place_->data() + offset, into.size());
    return;
  }
  while (!into.empty()) {
    const std::span<std::byte> part = into.first(std::min(into.size(), most_bytes));
    const std::string range = range_text(offset, part.size());
    const std::size_t got = asked(name_, range, [&] { return reader_.read(name_, offset, part); });
    if (got != part.size())
      throw Error(ErrorKind::device,
                  fmt::format("cannot read '{}': the reader, asked for {}, gave {}; it says that "
                              "the file has {}",
                              name_, range, got, size_));
    offset += part.size();
    into = into.subspan(part.size());
  }
}

// Memory is touched as the bytes come: a reader may say more than it has.
std::string HostFile::contents(std::uint64_t offset, std::uint64_t bytes) const {
  std::string text;
  try {
    text.reserve(bytes);
  } catch (const std::exception&) {
    throw Error(ErrorKind::device, fmt::format("cannot read '{}': no memory for {}", name_,
                                               range_text(offset, bytes)));
  }
  while (text.size() < bytes) {
    const std::size_t known = text.size();
    text.resize(known + std::min<std::uint64_t>(bytes - known, most_bytes));
    read(offset + known, std::as_writable_bytes(std::span(text).subspan(known)));
  }
  return text;
}

std::string HostFile::identity() const {
  return asked(name_, "its identity", [&] { return reader_.identity(name_); });
}

std::string name_beside(const std::string& model, const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path own = fs::path(name).lexically_normal();
  const fs::path first = own.empty() ? "" : *own.begin();
  if (own.is_absolute() || !own.has_filename() || first == "." || first == ".." ||
      name.find('\0') != std::string::npos)
    throw Error(ErrorKind::model,
                fmt::format("the model '{}' names the file \"{}\", which is not below its folder",
                            model, name.c_str()));
  return (fs::path(model).parent_path() / own).string();
}

}  // namespace dyn
