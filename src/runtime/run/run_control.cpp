#include "src/runtime/run/run_control.hpp"

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::runtime {

void RunControl::refuse(std::string_view where) const {
  throw Error(ErrorKind::cancelled,
              is_cancelled() ? fmt::format("the run was cancelled, in {}", where)
                             : fmt::format("the deadline of the run has passed, in {}", where));
}

}  // namespace dyn::runtime
