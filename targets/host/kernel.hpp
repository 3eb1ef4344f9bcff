#pragma once
// A problem of the host as a kernel of a plan.

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>

#include "src/rkernel/target/target.hpp"

namespace dyn::host {

/// A kernel whose function may be the program's.
class FunctionKernel : public rkernel::Kernel {
 public:
  /// What the function has thrown, as a dyn::Error, in the run that has its status at this address
  /// and reported Status::LibraryFailed: once; nullptr: nothing.
  virtual std::exception_ptr take_failure(const std::atomic<std::int32_t>* status) const = 0;
};

/// `problem` has a HostCall. `bytes_per_second`: the rate of one thread, for the prediction.
std::unique_ptr<rkernel::Kernel> make_kernel(const rkernel::Problem& problem,
                                             double bytes_per_second);

}  // namespace dyn::host
