#include "tests/support/seed.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <set>

namespace dyn::testing {
namespace {

std::uint64_t choose(std::optional<std::uint64_t> fixed) {
  static const std::uint64_t fresh = std::random_device{}();
  if (const char* given = std::getenv("DYN_SEED")) return std::strtoull(given, nullptr, 10);
  return fixed.value_or(fresh);
}

}  // namespace

std::uint64_t test_seed(std::optional<std::uint64_t> fixed) {
  static std::mutex mutex;
  static std::set<std::uint64_t> printed;
  const std::uint64_t seed = choose(fixed);
  const std::lock_guard lock(mutex);
  if (printed.insert(seed).second) std::printf("DYN_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

int test_rounds(int rounds) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return (rounds + 7) / 8;
#else
  return rounds;
#endif
}

}  // namespace dyn::testing
