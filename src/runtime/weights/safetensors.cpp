#include "src/runtime/weights/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/runtime/system/errors.hpp"
#include "src/runtime/weights/content_hash.hpp"
#include "src/runtime/weights/safetensors_header.hpp"

namespace dyn::runtime {
namespace {

/// The format's own limit on its header.
constexpr std::uint64_t max_header_bytes = 100'000'000;

struct FileType {
  std::string_view name;
  std::uint64_t bytes;
  std::optional<DType> dtype;
};

/// The format's element types; those without a DType can be in a file, but not in a model.
constexpr std::array<FileType, 18> file_types = {{{"F32", 4, DType::f32},
                                                  {"F16", 2, DType::f16},
                                                  {"BF16", 2, DType::bf16},
                                                  {"I8", 1, DType::i8},
                                                  {"I32", 4, DType::i32},
                                                  {"I64", 8, DType::i64},
                                                  {"BOOL", 1, DType::boolean},
                                                  {"F64", 8, DType::f64},
                                                  {"U8", 1, DType::u8},
                                                  {"I16", 2, DType::i16},
                                                  {"U16", 2, DType::u16},
                                                  {"U32", 4, DType::u32},
                                                  {"U64", 8, DType::u64},
                                                  {"F8_E4M3", 1, DType::f8e4m3fn},
                                                  {"F8_E4M3FNUZ", 1, DType::f8e4m3fnuz},
                                                  {"F8_E5M2", 1, DType::f8e5m2},
                                                  {"F8_E5M2FNUZ", 1, DType::f8e5m2fnuz},
                                                  {"F8_E8M0", 1, DType::f8e8m0}}};

const FileType& file_type(const RawEntry& raw) {
  const auto* found = std::find_if(file_types.begin(), file_types.end(),
                                   [&](const FileType& type) { return type.name == raw.dtype; });
  if (found == file_types.end())
    model_error(fmt::format("tensor '{}' has the unknown dtype '{}'", raw.key, raw.dtype));
  return *found;
}

constexpr std::size_t length_bytes = Safetensors::length_bytes;

/// The file has as many bytes.
std::uint64_t header_length(std::span<const std::byte> bytes) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return length;
}

std::string_view header_text(std::span<const std::byte> bytes) {
  if (bytes.empty()) model_error("the file is empty");
  if (bytes.size() < length_bytes)
    model_error(fmt::format(
        "the file has {} bytes; a safetensors file begins with 8 of header length", bytes.size()));
  const std::uint64_t length = header_length(bytes);
  const std::size_t rest = bytes.size() - length_bytes;
  if (length > max_header_bytes || length > rest) {
    model_error(
        fmt::format("the header is said to have {} bytes, but the file has {} after its length: it "
                    "is truncated or no safetensors file",
                    length, rest));
  }
  return {reinterpret_cast<const char*>(bytes.data()) + length_bytes,
          static_cast<std::size_t>(length)};
}

/// Bytes of the shape, with its sizes put into `shape`.
std::uint64_t shape_bytes(const RawEntry& raw, std::uint64_t element_bytes, Shape& shape) {
  std::uint64_t bytes = element_bytes;
  bool overflow = false, zero = false;
  for (const std::uint64_t size : raw.shape) {
    zero = zero || size == 0;
    overflow =
        __builtin_mul_overflow(bytes, size, &bytes) || overflow || size > (std::uint64_t{1} << 62);
    shape.push_back(static_cast<std::int64_t>(size));
  }
  if (overflow)
    model_error(fmt::format("tensor '{}': the product of its sizes overflows", raw.key));
  return zero ? 0 : bytes;
}

SafetensorsEntry checked_entry(const RawEntry& raw, std::span<const std::byte> data) {
  const FileType& type = file_type(raw);
  SafetensorsEntry entry{type.dtype, raw.dtype, {}, {}};
  const std::uint64_t bytes = shape_bytes(raw, type.bytes, entry.shape);
  if (raw.offsets.size() != 2)
    model_error(fmt::format("tensor '{}': data_offsets must be two numbers", raw.key));
  const std::uint64_t begin = raw.offsets[0], end = raw.offsets[1];
  if (begin > end || end > data.size()) {
    model_error(
        fmt::format("tensor '{}' lies at bytes {} to {}, outside of the file's {} bytes of data",
                    raw.key, begin, end, data.size()));
  }
  if (end - begin != bytes) {
    model_error(fmt::format("tensor '{}' of {} {} needs {} bytes, but its offsets give {}", raw.key,
                            raw.dtype, to_string(entry.shape), bytes, end - begin));
  }
  entry.bytes = data.subspan(begin, bytes);
  return entry;
}

void check_overlaps(const std::map<std::string, SafetensorsEntry, std::less<>>& entries) {
  std::vector<std::pair<std::span<const std::byte>, const std::string*>> ranges;
  for (const auto& [key, entry] : entries) {
    if (!entry.bytes.empty()) ranges.emplace_back(entry.bytes, &key);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const auto& a, const auto& b) { return a.first.data() < b.first.data(); });
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    const auto& before = ranges[i - 1];
    if (before.first.data() + before.first.size() > ranges[i].first.data()) {
      model_error(fmt::format("tensors '{}' and '{}' overlap", *before.second, *ranges[i].second));
    }
  }
}

}  // namespace

std::size_t Safetensors::header_bytes(std::span<const std::byte> file) {
  if (file.size() < length_bytes) return 0;
  const std::uint64_t length = header_length(file);
  return length > max_header_bytes || length > file.size() - length_bytes ? 0 : length;
}

Safetensors Safetensors::open(const std::string& path) {
  MappedFile file(path);
  Safetensors result(path, file.bytes());
  result.file_.emplace(std::move(file));
  return result;
}

Safetensors Safetensors::from_bytes(const std::string& name, std::span<const std::byte> bytes) {
  return {name, bytes};
}

Safetensors Safetensors::from_reader(std::shared_ptr<ReadFile> file) {
  Safetensors result(file->name(), file->bytes());
  result.read_file_ = std::move(file);
  return result;
}

Safetensors::Safetensors(std::string name, std::span<const std::byte> bytes)
    : name_(std::move(name)) {
  try {
    const std::string_view header = header_text(bytes);
    header_hash_ = content_hash(std::as_bytes(std::span(header)));
    const std::span<const std::byte> data = bytes.subspan(length_bytes + header.size());
    for (const RawEntry& raw : parse_safetensors_header(header))
      entries_.emplace(raw.key, checked_entry(raw, data));
    check_overlaps(entries_);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("weights file '{}': {}", name_, error.message()),
                error.where());
  }
}

const SafetensorsEntry* Safetensors::find(std::string_view key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace dyn::runtime
