#include "src/runtime/weights/prepacked_file.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "src/base/huge_pages.hpp"
#include "src/runtime/system/parallel_for.hpp"
#include "src/runtime/weights/content_hash.hpp"
#include "targets/llvm/jit/keyed_hash.hpp"

namespace dyn::runtime {
namespace {

constexpr std::array<char, 16> magic = {'d', 'y', 'n', ' ', 'p', 'r', 'e', 'p',
                                        'a', 'c', 'k', 'e', 'd', ' ', '2', '\n'};
/// Bytes of one block: each has a checksum, and a thread checks one block at a time.
constexpr std::size_t block_bytes = std::size_t{1} << 20;

/// At the beginning of the file, in the machine's order of bytes, as is the payload; the magic and
/// the signature refuse another one's.
struct Header {
  std::array<char, 16> magic;
  std::uint64_t identity_bytes;
  std::uint64_t prefix_bytes;  ///< header, identity, checksums of the blocks, zeros up to a page
  std::uint64_t payload_bytes;
  codegen::KeyedHash signature;  ///< of the prefix with zeros here
};

std::size_t blocks_of(std::size_t bytes) { return (bytes + block_bytes - 1) / block_bytes; }

std::span<const std::byte> block_of(std::span<const std::byte> payload, std::size_t block) {
  const std::size_t first = block * block_bytes;
  return payload.subspan(first, std::min(block_bytes, payload.size() - first));
}

std::size_t prefix_size(std::size_t identity_bytes, std::size_t payload_bytes) {
  const std::size_t bytes =
      sizeof(Header) + identity_bytes + blocks_of(payload_bytes) * sizeof(std::uint64_t);
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

codegen::KeyedHash signature_of(std::span<const std::byte> prefix, Header header,
                                const CacheKey& key) {
  header.signature = {};
  return codegen::keyed_hash(
      key, {std::as_bytes(std::span(&header, 1)), prefix.subspan(sizeof(Header))});
}

/// The header of a file whose prefix is whole and whose size is right.
std::optional<Header> checked_header(std::span<const std::byte> file, const CacheKey& key) {
  Header header;
  if (file.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, file.data(), sizeof(header));
  if (header.magic != magic || header.identity_bytes > file.size() ||
      header.payload_bytes > file.size())
    return std::nullopt;
  if (header.prefix_bytes != prefix_size(header.identity_bytes, header.payload_bytes))
    return std::nullopt;
  if (header.prefix_bytes + header.payload_bytes != file.size()) return std::nullopt;
  if (signature_of(file.first(header.prefix_bytes), header, key) != header.signature)
    return std::nullopt;
  return header;
}

std::string_view identity_of(std::span<const std::byte> file, const Header& header) {
  return {reinterpret_cast<const char*>(file.data()) + sizeof(Header), header.identity_bytes};
}

/// Maps all pages at once, which is quicker than by faults. False where one cannot be read, as
/// where the file has been cut meanwhile: to touch it would be fatal.
bool readable([[maybe_unused]] std::span<const std::byte> bytes) {
#ifdef MADV_POPULATE_READ
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t first = address / page_bytes * page_bytes;
  const int result =
      ::madvise(reinterpret_cast<void*>(first), address - first + bytes.size(), MADV_POPULATE_READ);
  return result == 0 || errno == EINVAL;  // unknown to Linux before 5.14
#else
  return true;
#endif
}

}  // namespace

std::vector<std::byte> prepacked_prefix(std::string_view identity,
                                        std::span<const std::byte> payload, const CacheKey& key,
                                        int threads) {
  Header header{
      magic, identity.size(), prefix_size(identity.size(), payload.size()), payload.size(), {}};
  std::vector<std::byte> prefix(header.prefix_bytes);
  std::memcpy(prefix.data() + sizeof(header), identity.data(), identity.size());
  std::byte* const sums = prefix.data() + sizeof(header) + identity.size();
  parallel_for(static_cast<std::int64_t>(blocks_of(payload.size())), 4, threads,
               [&](std::int64_t first, std::int64_t last) {
                 for (auto block = static_cast<std::size_t>(first);
                      block < static_cast<std::size_t>(last); ++block) {
                   const std::uint64_t sum = content_hash(block_of(payload, block));
                   std::memcpy(sums + block * sizeof(sum), &sum, sizeof(sum));
                 }
               });
  header.signature = signature_of(prefix, header, key);
  std::memcpy(prefix.data(), &header, sizeof(header));
  return prefix;
}

std::optional<std::string_view> prepacked_identity(std::span<const std::byte> file,
                                                   const CacheKey& key) {
  const std::optional<Header> header = checked_header(file, key);
  return header ? std::optional(identity_of(file, *header)) : std::nullopt;
}

std::optional<std::span<const std::byte>> verified_payload(std::span<const std::byte> file,
                                                           std::string_view identity,
                                                           std::size_t payload_bytes,
                                                           const CacheKey& key, int threads) {
  const std::optional<Header> header = checked_header(file, key);
  if (!header || identity_of(file, *header) != identity || header->payload_bytes != payload_bytes)
    return std::nullopt;
  const std::span<const std::byte> payload = file.subspan(header->prefix_bytes);
  const std::byte* const sums = file.data() + sizeof(Header) + identity.size();
  ::madvise(const_cast<std::byte*>(file.data()), file.size(),
            MADV_HUGEPAGE);  // where the file system has them
  std::atomic<bool> whole{true};
  parallel_for(
      static_cast<std::int64_t>(blocks_of(payload.size())), 4, threads,
      [&](std::int64_t first, std::int64_t last) {
        for (auto block = static_cast<std::size_t>(first);
             block < static_cast<std::size_t>(last) && whole; ++block) {
          std::uint64_t sum = 0;
          std::memcpy(&sum, sums + block * sizeof(sum), sizeof(sum));
          if (!readable(block_of(payload, block)) || content_hash(block_of(payload, block)) != sum)
            whole = false;
        }
      });
  if (!whole) return std::nullopt;
  return payload;
}

}  // namespace dyn::runtime
