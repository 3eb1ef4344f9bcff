// Tables, statistics and limits.

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "src/base/statistics.hpp"
#include "src/cli/report/child.hpp"
#include "src/cli/report/gpu_peak.hpp"
#include "src/cli/report/peak.hpp"
#include "src/cli/report/statistics.hpp"
#include "src/cli/report/table.hpp"
#include "tests/support/relative.hpp"

using dyn::cli::Cell;
using dyn::cli::Format;
using dyn::cli::Row;

TEST_CASE("tables: one set of rows in three formats") {
  const std::vector<Row> rows = {
      {{"model", std::string("a,\"b\"")}, {"S", std::int64_t{7}}, {"ms", 1.5}},
      {{"model", std::string("c")}, {"S", std::int64_t{12}}, {"limit", Cell()}, {"ms", 1234.25}}};
  CHECK(dyn::cli::to_text(rows, Format::csv) ==
        "model,S,ms,limit\n\"a,\"\"b\"\"\",7,1.5,\nc,12,1234.25,\n");
  CHECK(dyn::cli::to_text(rows, Format::md) ==
        "| model |   S |    ms | limit |\n"
        "| ----- | --: | ----: | ----: |\n"
        "| a,\"b\" |   7 | 1.500 |       |\n"
        "| c     |  12 |  1234 |       |\n");
  CHECK(dyn::cli::to_text({rows[0]}, Format::json) ==
        "[\n {\n  \"model\": \"a,\\\"b\\\"\",\n  \"S\": 7,\n  \"ms\": 1.5\n }\n]\n");
  CHECK(dyn::cli::to_text({{{"limit", Cell()}}}, Format::json) ==
        "[\n {\n  \"limit\": null\n }\n]\n");
}

TEST_CASE("statistics: percentiles interpolate, and need no order") {
  CHECK(dyn::percentile({3, 1, 2}, 50) == doctest::Approx(2));
  CHECK(dyn::percentile({4, 1, 3, 2}, 50) == doctest::Approx(2.5));
  CHECK(dyn::percentile({5}, 95) == doctest::Approx(5));
  CHECK(dyn::percentile({0, 10}, 95) == doctest::Approx(9.5));
  CHECK(dyn::percentile({7, 1}, 0) == doctest::Approx(1));
  CHECK(dyn::percentile({7, 1}, 100) == doctest::Approx(7));
}

TEST_CASE("statistics: --iterations is exact, a duration runs at least three times") {
  int runs = 0;
  const auto work = [&] { ++runs; };
  CHECK(dyn::cli::repeat({17, 100, 0}, work).size() == 17);
  CHECK(runs == 17);
  CHECK(dyn::cli::repeat({0, 0, 0}, work).size() == 3);
  CHECK(dyn::cli::repeat({0, 0.01, 0.001}, work).size() > 3);
}

TEST_CASE("limits: the larger of computing and streaming, at this many threads") {
  const dyn::cli::Peak peak = dyn::cli::parse_peak(
      R"({"isa": "avx2", "figures": [{"threads": 1, "gflops": 100, "i8_gflops": 400, "l1_gb_per_s": 300, "dram_gb_per_s": 20},
                                     {"threads": 4, "gflops": 400, "i8_gflops": 1600, "l1_gb_per_s": 900, "dram_gb_per_s": 32}]})");
  CHECK(peak.isa == "avx2");
  CHECK(peak.limit_seconds({1e11, 4e11}, 1, 1) == doctest::Approx(2));
  CHECK(peak.at(2).i8_gflops == doctest::Approx(800));
  CHECK(peak.limit_seconds({1e11}, 1, 1) == doctest::Approx(1));
  CHECK(peak.limit_seconds({1}, 32e9, 4) == doctest::Approx(1));
  CHECK(peak.at(2).gflops == doctest::Approx(200));
  CHECK(peak.at(2).dram_gb_per_s == doctest::Approx(24));
  CHECK(peak.at(64).gflops == doctest::Approx(400));
  CHECK(peak.at(4).l2_gb_per_s == 0);
}

TEST_CASE("limits: a rate that was disturbed is no lower than each thread's among more") {
  const dyn::cli::Peak peak = dyn::cli::parse_peak(
      R"({"isa": "avx2", "figures": [{"threads": 1, "gflops": 100, "i8_gflops": 370, "dram_gb_per_s": 20},
                                     {"threads": 4, "gflops": 360, "i8_gflops": 1600, "dram_gb_per_s": 32}]})");
  CHECK(peak.at(1).i8_gflops == doctest::Approx(400));
  CHECK(peak.at(1).gflops == doctest::Approx(100));
  CHECK(peak.at(1).bf16_gflops == 0);
}

TEST_CASE("limits: bytes that a cache holds stream from there") {
  const dyn::cli::Peak peak = dyn::cli::parse_peak(
      R"({"isa": "avx2", "cache_bytes": [1000, 10000, 100000], "figures": [
          {"threads": 1, "gflops": 100, "l1_gb_per_s": 300, "l2_gb_per_s": 200, "l3_gb_per_s": 50, "dram_gb_per_s": 20},
          {"threads": 2, "gflops": 200, "l1_gb_per_s": 600, "l2_gb_per_s": 400, "l3_gb_per_s": 60, "dram_gb_per_s": 30}]})");
  CHECK(peak.bytes_per_second(2000, 1) == doctest::Approx(300e9));
  CHECK(peak.bytes_per_second(2001, 1) == doctest::Approx(200e9));
  CHECK(peak.bytes_per_second(4000, 2) == doctest::Approx(600e9));
  CHECK(peak.bytes_per_second(150000, 2) == doctest::Approx(60e9));
  CHECK(peak.bytes_per_second(200001, 2) == doctest::Approx(30e9));
  CHECK(peak.limit_seconds({}, 150000, 1) == dyn::testing::relative(3e-6));
}

TEST_CASE("limits: figures that make no sense are refused") {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"isa": "avx2", "figures": []})", R"({"isa": 3, "figures": [{}]})",
        R"({"isa": "x", "figures": [{"threads": 0, "gflops": 1, "dram_gb_per_s": 1}]})",
        R"({"isa": "x", "figures": [{"threads": 1, "gflops": 0, "dram_gb_per_s": 1}]})"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(dyn::cli::parse_peak(text), dyn::Error);
  }
}

TEST_CASE("child processes: output, exit codes, signals, missing files") {
  CHECK(dyn::cli::output_of({"/bin/sh", "-c", "printf 'a\\nb'"}) == "a\nb");
  CHECK_THROWS_WITH_AS(dyn::cli::output_of({"/bin/sh", "-c", "exit 3"}),
                       "/bin/sh: exited with code 3", dyn::Error);
  CHECK_THROWS_WITH_AS(dyn::cli::output_of({"/bin/sh", "-c", "kill -9 $$"}),
                       "/bin/sh: was ended by signal 9", dyn::Error);
  CHECK_THROWS_AS(dyn::cli::output_of({"/no/such/program"}), dyn::Error);
}

TEST_CASE("peak: the limit on a GPU is computing in the precision, or its memory") {
  dyn::choice::GpuMachine gpu;
  gpu.multiprocessors = 100;
  gpu.clock_hz = 1e9;
  gpu.f32_fma = 50;
  gpu.tf32_mma_fma = 200;
  gpu.f16_mma_fma = 400;
  gpu.memory_bytes_per_second = 1e12;
  CHECK(dyn::cli::flops_per_second(gpu, gpu.f32_fma) == doctest::Approx(1e13));
  CHECK(dyn::cli::limit_seconds(gpu, "f32", 1e13, 1e9) == doctest::Approx(1));
  CHECK(dyn::cli::limit_seconds(gpu, "tf32", 1e13, 1e9) == doctest::Approx(0.25));
  CHECK(dyn::cli::limit_seconds(gpu, "f16", 1e13, 1e9) == doctest::Approx(0.125));
  CHECK(dyn::cli::limit_seconds(gpu, "bf16", 1e13, 1e9) == doctest::Approx(0.125));
  CHECK(dyn::cli::limit_seconds(gpu, "f32", 1e3, 2e12) == doctest::Approx(2));
}
