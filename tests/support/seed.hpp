#pragma once
// Where random test data starts.

#include <cstdint>
#include <optional>

namespace dyn::testing {

/// The environment's DYN_SEED; without it `fixed`, or one that is fresh for this process. Each value is printed once as "DYN_SEED=N", so that
/// any failure can be repeated.
std::uint64_t test_seed(std::optional<std::uint64_t> fixed = std::nullopt);

/// How often a random test repeats: `rounds`, or an eighth of them in a build with sanitizers, which takes a hundred times as long and looks for other errors.
int test_rounds(int rounds);

}  // namespace dyn::testing
