#pragma once
// Work that needs stack.

#include <functional>

namespace dyn::runtime {

/// Calls `work`: here, or in a thread of its own and waits, where the caller's stack has less left
/// than loading a model may take (LLVM's part is deep). Exceptions of `work` come back. Where the
/// system refuses a thread, it is called here all the same. Where the host lends threads
/// (src/base/crew.hpp) none is started: Error(user) then.
void call_with_stack(const std::function<void()>& work);

}  // namespace dyn::runtime
