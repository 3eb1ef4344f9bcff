#pragma once
// A target without a compiler: each kernel is an interpreter of its problem.

#include <cstddef>
#include <memory>

#include "dyn/options.hpp"
#include "src/base/dump.hpp"
#include "src/rkernel/target/target.hpp"

namespace dyn::testing {

std::shared_ptr<rkernel::Target> make_fake_target(const Options& options, int threads,
                                                  const Dump& dump);

/// Counts runs of one of the three programs that every policy but Vendor considers. All compute the
/// same.
int runs_of_program(std::size_t program);

}  // namespace dyn::testing
