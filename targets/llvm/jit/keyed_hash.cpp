#include "targets/llvm/jit/keyed_hash.hpp"

#include <llvm-c/blake3.h>

namespace dyn::codegen {

KeyedHash keyed_hash(const CacheKey& key,
                     std::initializer_list<std::span<const std::byte>> parts) noexcept {
  static_assert(std::tuple_size_v<CacheKey> == LLVM_BLAKE3_KEY_LEN);
  llvm_blake3_hasher hasher;
  llvm_blake3_hasher_init_keyed(&hasher, key.data());
  for (const std::span<const std::byte> part : parts)
    llvm_blake3_hasher_update(&hasher, part.data(), part.size());
  KeyedHash hash;
  llvm_blake3_hasher_finalize(&hasher, hash.data(), hash.size());
  return hash;
}

}  // namespace dyn::codegen
