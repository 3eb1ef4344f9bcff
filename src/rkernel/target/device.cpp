#include "src/rkernel/target/device.hpp"

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::rkernel {

std::unique_ptr<Stream> Device::use_stream(void*) {
  throw Error(
      ErrorKind::unsupported,
      fmt::format("{} takes no streams of other libraries; use Device::make_stream", name()));
}

}  // namespace dyn::rkernel
