#include "tests/support/seed.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <string_view>

namespace dyn::testing {
namespace {

#ifdef DYN_SANITIZED
constexpr int slowdown = 8;
#else
constexpr int slowdown = 1;
#endif

std::uint64_t fresh_seed() {
  static const std::uint64_t fresh = std::random_device{}();
  return fresh;
}

/// The variable's value, or the fallback; printed once for each value.
std::uint64_t printed_seed(const char* variable, std::uint64_t fallback) {
  static std::mutex mutex;
  static std::set<std::string> printed;
  const char* given = std::getenv(variable);
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : fallback;
  const std::string line = variable + ("=" + std::to_string(seed));
  const std::lock_guard lock(mutex);
  if (printed.insert(line).second) std::printf("%s\n", line.c_str());
  return seed;
}

}  // namespace

std::uint64_t test_seed(std::optional<std::uint64_t> fixed) {
  return printed_seed("DYN_SEED", fixed.value_or(fresh_seed()));
}

bool full_sweeps() {
  const char* lane = std::getenv("DYN_TEST_LANE");
  return lane != nullptr && std::string_view(lane) == "all";
}

int test_rounds(int rounds, int share) {
  return std::max(1, rounds / slowdown / (full_sweeps() ? 1 : share));
}

Sweep::Sweep(int share) : share_(full_sweeps() ? std::min(share, slowdown) : share) {
  if (share_ > 1) random_.seed(printed_seed("DYN_SWEEP_SEED", fresh_seed()));
}

bool Sweep::takes() {
  if (place_ == 0) taken_ = static_cast<int>(random_() % static_cast<std::uint64_t>(share_));
  const bool takes = place_ == taken_;
  place_ = (place_ + 1) % share_;
  return takes;
}

}  // namespace dyn::testing
