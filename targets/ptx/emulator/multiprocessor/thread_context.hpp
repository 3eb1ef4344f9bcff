#pragma once
// Generated host code and the emulator's runtime share this. Code holds no addresses: it reaches
// the runtime through its context.

#include <cstddef>
#include <cstdint>

#include "targets/ptx/ir/op.hpp"

namespace dyn::ptx::emulation {

/// The argument of generated code, one for each thread.
struct ThreadContext {
  void (*const* functions)() = nullptr;  ///< one for each Op, in their order, then those of Check
  char* shared = nullptr;
  const void* pointers = nullptr;
  const void* ints = nullptr;
  void* status = nullptr;
  std::int32_t thread = 0, block = 0, blocks = 0, lane = 0;
  std::uint32_t* executions = nullptr;  ///< of each block of code
  std::uint32_t results[4] = {};  ///< results of an operation with several, or of one for all lanes
};

#define DYN_DEVICE_OP(id, name, signature, ptx, text) +1
inline constexpr std::size_t op_count = 0
#include "targets/ptx/ir/device_ops.def"
    ;
#undef DYN_DEVICE_OP

/// Called before an access as void(ThreadContext*, address, site).
enum class Check : std::size_t {
  LoadGlobal = op_count,
  StoreGlobal,
  StoreStatus,
  LoadShared,
  StoreShared,
  End
};
inline constexpr std::size_t function_count = static_cast<std::size_t>(Check::End);

using Entry = void (*)(ThreadContext*);

}  // namespace dyn::ptx::emulation
