// Fuzzes NumPy's files. An accepted file is written as a file that reads as the same.

#include <algorithm>
#include <cstring>
#include <variant>

#include "src/cli/input/npy.hpp"
#include "tests/fuzz/reader.hpp"

using namespace dyn;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile file("input.npy");
  file.write(fuzz::text_of(data, size));
  std::variant<Tensor, cli::TextArray> read;
  if (!fuzz::accepts([&] { read = cli::read_any_npy(file.path()); })) return 0;
  if (const auto* texts = std::get_if<cli::TextArray>(&read)) {
    // Bytes may be no UTF-8, which cannot be written.
    if (!fuzz::accepts([&] { cli::write_npy(file.path(), *texts); })) return 0;
    const auto again = std::get<cli::TextArray>(cli::read_any_npy(file.path()));
    if (again.texts != texts->texts || again.shape != texts->shape)
      fuzz::fail("what is written reads as other texts");
    return 0;
  }
  const Tensor& tensor = std::get<Tensor>(read);
  cli::write_npy(file.path(), tensor);
  const Tensor again = cli::read_npy(file.path());
  if (again.dtype() != tensor.dtype() || again.shape() != tensor.shape() ||
      std::memcmp(again.raw(), tensor.raw(), tensor.bytes()) != 0)
    fuzz::fail("what is written reads as another tensor");
  return 0;
}

/// Mutates mostly the header alone, and keeps the length before it (of version 1) true.
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  constexpr unsigned one_in = 8;
  constexpr std::size_t start = 10, longest = 0xffff;
  if (size < start || max_size < start || seed % one_in == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  const std::size_t length = std::min<std::size_t>(data[8] | data[9] << 8, size - start);
  const std::string rest(data + start + length, data + size);
  const std::size_t room =
      std::min(longest, max_size - start - std::min(rest.size(), max_size - start));
  const std::size_t new_length = LLVMFuzzerMutate(data + start, std::min(length, room), room);
  data[8] = static_cast<std::uint8_t>(new_length);
  data[9] = static_cast<std::uint8_t>(new_length >> 8);
  std::ranges::copy(rest, data + start + new_length);
  return start + new_length + rest.size();
}
