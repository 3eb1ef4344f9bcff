#pragma once
// The device operations by number, for code that does without LLVM's headers. Their signatures and
// texts are in device_ops.hpp.

namespace dyn::ptx {

enum class Op : unsigned char {
#define DYN_DEVICE_OP(id, name, signature, ptx, text) id,
#include "targets/ptx/ir/device_ops.def"
#undef DYN_DEVICE_OP
};

}  // namespace dyn::ptx
