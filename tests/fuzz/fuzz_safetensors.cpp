// Fuzzes weights files. Every accepted entry lies within the file.

#include <algorithm>

#include "src/runtime/weights/safetensors.hpp"
#include "tests/fuzz/reader.hpp"

using namespace dyn;

namespace {

constexpr std::size_t length_bytes = 8;

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::accepts([&] {
    const auto file =
        runtime::Safetensors::from_bytes("input", std::as_bytes(std::span(data, size)));
    unsigned sum = 0;
    for (const auto& [key, entry] : file.entries()) {
      for (const std::byte each : entry.bytes) sum += std::to_integer<unsigned>(each);
      if (file.find(key) != &entry) fuzz::fail("an entry is not found");
      if (entry.dtype && entry.bytes.size() % size_of(*entry.dtype) != 0)
        fuzz::fail("an entry has part of an element");
    }
    volatile unsigned read = sum;
    static_cast<void>(read);
  });
  return 0;
}

/// Mutates mostly the header alone, and keeps the length before it true.
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  constexpr unsigned one_in = 8;
  if (size < length_bytes || seed % one_in == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | data[i];
  const std::size_t old_length = std::min<std::uint64_t>(length, size - length_bytes);
  const std::string rest(data + length_bytes + old_length, data + size);
  const std::size_t room = max_size - length_bytes - std::min(rest.size(), max_size - length_bytes);
  const std::size_t new_length =
      LLVMFuzzerMutate(data + length_bytes, std::min(old_length, room), room);
  for (std::size_t i = 0, left = new_length; i < length_bytes; ++i, left >>= 8)
    data[i] = static_cast<std::uint8_t>(left);
  std::ranges::copy(rest, data + length_bytes + new_length);
  return length_bytes + new_length + rest.size();
}
