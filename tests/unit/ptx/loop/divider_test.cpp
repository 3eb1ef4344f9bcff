// Dividers give the quotients of division.

#include <doctest/doctest.h>

#include <initializer_list>
#include <random>

#include "targets/ptx/ir/divider.hpp"
#include "tests/support/seed.hpp"

using namespace dyn;

namespace {

__extension__ using Wide = unsigned __int128;

std::uint64_t quotient(std::uint64_t n, const ptx::Divider& divider, int bits) {
  const auto high = static_cast<std::uint64_t>((Wide{divider.multiplier} * n) >> bits);
  return (high + n) >> divider.shift;
}

void check_quotients(std::uint64_t divisor, std::uint64_t n, int bits) {
  const std::uint64_t limit = std::uint64_t{1} << (bits - 1);
  const ptx::Divider divider = ptx::divider_of(static_cast<std::int64_t>(divisor), bits);
  CAPTURE(divisor);
  CAPTURE(n);
  CAPTURE(bits);
  if (bits == 32) REQUIRE(divider.multiplier <= 0xffffffff);
  const std::uint64_t multiple = n - n % divisor;
  for (const std::uint64_t near : {n, multiple, multiple + divisor - 1, limit - 1})
    if (near < limit) REQUIRE(quotient(near, divider, bits) == near / divisor);
  if (multiple > 0) REQUIRE(quotient(multiple - 1, divider, bits) == multiple / divisor - 1);
}

}  // namespace

TEST_CASE("dividers of 32 and 64 bits give the quotients of division") {
  std::mt19937_64 random(dyn::testing::test_seed(1));
  for (const int bits : {32, 64})
    for (int round = 0; round < 20000; ++round) {
      const int shift = static_cast<int>(random() % static_cast<unsigned>(bits - 1));
      const std::uint64_t mask = (std::uint64_t{1} << (bits - 1)) - 1;
      const std::uint64_t below = (random() & mask) >> shift;
      const std::uint64_t power = std::uint64_t{1} << shift;
      for (const std::uint64_t divisor : {below, power, power + 1, power - 1, mask})
        if (divisor > 0 && divisor <= mask) check_quotients(divisor, random() & mask, bits);
    }
}
