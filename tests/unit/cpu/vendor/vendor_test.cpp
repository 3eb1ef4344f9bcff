// Contractions by oneDNN inside this process: right, on the caller's threads, and by dyn where
// oneDNN is missing.

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "targets/llvm/jit/jit.hpp"
#include "targets/vendor/onednn.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/cpu/contraction/fixture.hpp"

using namespace dyn::codegen;
using namespace dyn::cpu;
using dyn::cpu::testing::Case;
using dyn::vendor::OneDnn;

namespace {

/// The process's library; nullptr where the test is skipped.
std::shared_ptr<const OneDnn> library_for(const char* test) {
  std::string why_not;
  auto library = OneDnn::of_process(why_not);
  if (!library) std::printf("skipped vendor.%s: %s\n", test, why_not.c_str());
  return library;
}

std::ptrdiff_t threads_of_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator());
}

Case random_case_for_vendor(std::mt19937_64& random) {
  const auto size = [&](std::int64_t most) {
    static constexpr std::int64_t usual[] = {1, 2, 7, 16, 31, 32, 33, 48, 64, 97};
    return random() % 2 == 0
               ? usual[random() % std::size(usual)]
               : 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  const auto coin = [&] { return random() % 2 == 0; };
  Case c{.m = size(150), .n = size(200), .k = size(170)};
  c.packed = coin();
  c.batch = coin() ? 1 : 1 + static_cast<std::int64_t>(random() % 5);
  c.transpose_a = coin();
  c.transpose_b = coin();
  c.bias = coin();
  c.residual = coin();
  c.relu = coin();
  c.a_slack = coin() ? 0 : 3;
  return c;
}

}  // namespace

TEST_CASE("products by oneDNN equal plain loops, packed and fresh, with and without an epilogue") {
  if (!library_for("products")) return;
  std::mt19937_64 random(dyn::testing::test_seed());
  const std::ptrdiff_t before = threads_of_process();
  for (const Isa& isa : all_isas()) {
    if (!cpu_has(isa)) continue;
    const auto store = CodeStore::open(isa, {});
    for (int i = 0; i < 40; ++i) {
      const Case c = random_case_for_vendor(random);
      CAPTURE(isa.name);
      CAPTURE(i);
      std::string words;
      CHECK(testing::run_vendor(c, isa, *store, random, 1 + i % 3, words) <= 1);
      CHECK(words.find(" block") != std::string::npos);
    }
    // Enough operations for several blocks along either axis.
    for (const Case& c :
         {Case{.m = 611, .n = 300, .k = 1007, .bias = true}, Case{.m = 37, .n = 2100, .k = 1024},
          Case{.m = 611, .n = 300, .k = 515, .packed = false}}) {
      std::string words;
      CHECK(testing::run_vendor(c, isa, *store, random, 2, words) <= 1);
      CHECK(words.find(" blocks of ") != std::string::npos);
    }
  }
  CHECK(threads_of_process() == before);
}

TEST_CASE("oneDNN gets nothing that it cannot multiply, and says why") {
  if (!library_for("refusals")) return;
  std::mt19937_64 random(1);
  const Isa& isa = select_isa("");
  const auto store = CodeStore::open(isa, {});
  for (const Case& c :
       {Case{.m = 0, .n = 5, .k = 5}, Case{.m = 5, .n = 0, .k = 5, .packed = false},
        Case{.m = 5, .n = 5, .k = 0, .bias = true}, Case{.batch = 0, .m = 3, .n = 3, .k = 3}}) {
    std::string words;
    CHECK(testing::run_vendor(c, isa, *store, random, 2, words) <= 1);  // dyn's own
    CHECK(words == "there is nothing to multiply");
  }
  if (can_widen(isa, dyn::DType::bf16)) {
    std::string words;
    CHECK(testing::run_vendor({.m = 9, .n = 40, .k = 30, .weights = dyn::DType::bf16}, isa, *store,
                              random, 2, words) <= 1);
    CHECK(words == "an operand is narrow, padded, gathered or of windows");
  }
}

TEST_CASE("a library that is missing or is no oneDNN gives a reason and no error") {
  std::string why_not;
  CHECK(OneDnn::open({"libdnnl-that-is-not-there.so.9"}, why_not) == nullptr);
  CHECK(why_not.find("libdnnl-that-is-not-there.so.9") != std::string::npos);
  CHECK(OneDnn::open({"libm.so.6"}, why_not) == nullptr);
  CHECK(why_not.find("dnnl_version") != std::string::npos);
  CHECK(OneDnn::open({"/proc/self/cmdline"}, why_not) == nullptr);
}

TEST_CASE("oneDNN's loops are kept to the calling thread, and the caller's setting comes back") {
  const auto library = library_for("one_thread");
  if (!library || library->api().runtime() != dyn::vendor::Runtime::OpenMP) return;
  auto* set = library->api().library().function<void(int)>("omp_set_num_threads");
  auto* most = library->api().library().function<int()>("omp_get_max_threads");
  std::thread([&] {
    set(3);
    {
      const OneDnn::OneThread one_thread(*library);
      CHECK(most() == 1);
    }
    CHECK(most() == 3);
  }).join();
}
