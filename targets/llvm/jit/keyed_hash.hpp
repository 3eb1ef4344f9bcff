#pragma once
// Signatures of what is kept on disk.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "src/base/cache_directory.hpp"

namespace dyn::codegen {

using KeyedHash = std::array<std::uint8_t, 16>;

/// BLAKE3 in its keyed mode, of the parts one after the other: nobody can make it without the key.
KeyedHash keyed_hash(const CacheKey& key,
                     std::initializer_list<std::span<const std::byte>> parts) noexcept;

}  // namespace dyn::codegen
