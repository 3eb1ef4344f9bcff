#pragma once
// A target without a compiler: each kernel is an interpreter of its problem.

#include <memory>

#include "dyn/options.hpp"
#include "src/rkernel/target.hpp"

namespace dyn::testing {

std::shared_ptr<rkernel::Target> make_fake_target(const Options& options, int threads);

}  // namespace dyn::testing
