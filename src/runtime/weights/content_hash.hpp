#pragma once
// A 64-bit checksum at the speed of memory, to find damage on disks; no protection against an
// attacker.

#include <cstddef>
#include <cstdint>
#include <span>

namespace dyn::runtime {

/// Depends on every byte, on their order and on their number. Alike on all machines with the same
/// order of bytes.
std::uint64_t content_hash(std::span<const std::byte> bytes) noexcept;

}  // namespace dyn::runtime
