#pragma once
// Generated functions that stay in memory until the process ends.

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "targets/llvm/jit/jit.hpp"

namespace dyn::testing {

inline std::vector<void*> hold(codegen::LinkedCode code) {
  static std::mutex mutex;
  static std::vector<std::shared_ptr<const void>> held;
  const std::lock_guard lock(mutex);
  held.insert(held.end(), code.keep.begin(), code.keep.end());
  return std::move(code.addresses);
}

}  // namespace dyn::testing
