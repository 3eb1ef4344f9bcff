#pragma once
// The file format of prepacked weights: a header with a signature, the identity of what is inside,
// a checksum for each block, the bytes.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/cache_directory.hpp"
#include "src/runtime/system/mapped_file.hpp"

namespace dyn::runtime {

/// The bytes before the payload, signed with `key`; its size is a multiple of a
/// page's.
std::vector<std::byte> prepacked_prefix(std::string_view identity,
                                        std::span<const std::byte> payload, const CacheKey& key,
                                        int threads);

/// The identity in a file whose prefix is whole and signed with `key`; nothing otherwise. The
/// payload is not read.
std::optional<std::string_view> prepacked_identity(std::span<const std::byte> file,
                                                   const CacheKey& key);

/// The payload of a mapped file of this identity, every byte of it checked, and its pages mapped.
/// Nothing where the file is of another identity, has another size, or is damaged.
std::optional<std::span<const std::byte>> verified_payload(std::span<const std::byte> file,
                                                           std::string_view identity,
                                                           std::size_t payload_bytes,
                                                           const CacheKey& key, int threads);

}  // namespace dyn::runtime
