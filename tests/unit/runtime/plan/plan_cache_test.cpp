#include <random>
#include <thread>

#include "src/runtime/plan/plan_cache.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn::runtime;

namespace {

PlanPtr make_plan(std::vector<std::int64_t> symbols, std::size_t bytes) {
  auto plan = std::make_shared<Plan>();
  plan->symbols = std::move(symbols);
  plan->footprint_bytes = bytes;
  return plan;
}

}  // namespace

TEST_CASE("plans are found by their symbols, and the first one that was put there stays") {
  PlanCache cache(std::size_t{1} << 20);
  CHECK(cache.find(std::vector<std::int64_t>{1, 2}) == nullptr);
  const PlanPtr first = cache.insert(make_plan({1, 2}, 10));
  CHECK(cache.insert(make_plan({1, 2}, 10)) == first);
  CHECK(cache.find(std::vector<std::int64_t>{1, 2}) == first);
  CHECK(cache.find(std::vector<std::int64_t>{2, 1}) == nullptr);
  CHECK(cache.size() == 1);
}

TEST_CASE("10,000 shapes stay within the budget") {
  const std::size_t budget = 200'000;
  PlanCache cache(budget);
  for (std::int64_t i = 0; i < 10'000; ++i) {
    const PlanPtr plan = cache.insert(make_plan({i, i * 7}, 1000));
    CHECK(cache.find(plan->symbols) == plan);
  }
  CHECK(cache.bytes() <= budget);
  CHECK(cache.size() > 100);
}

TEST_CASE("the least recently used plan goes first") {
  PlanCache cache(8 * 100'000);
  const PlanPtr kept = cache.insert(make_plan({-1}, 1000));
  const PlanPtr lost = cache.insert(make_plan({-2}, 1000));
  for (std::int64_t i = 0; i < 5'000; ++i) {
    cache.insert(make_plan({i}, 1000));
    cache.find(kept->symbols);
  }
  CHECK(cache.find(kept->symbols) == kept);
  CHECK(cache.find(lost->symbols) == nullptr);
  CHECK(lost->symbols.front() == -2);
}

TEST_CASE("a plan larger than the budget is still remembered until the next one") {
  PlanCache cache(8);
  const PlanPtr large = cache.insert(make_plan({5}, 1000));
  CHECK(cache.find(large->symbols) == large);
}

TEST_CASE("many threads find and insert at once") {
  PlanCache cache(8 * 20'000);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 5000; ++i) {
        const std::vector<std::int64_t> key = {static_cast<std::int64_t>(random() % 200)};
        PlanPtr plan = cache.find(key);
        if (plan == nullptr) plan = cache.insert(make_plan(key, 1000));
        if (plan->symbols != key) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
