#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "targets/cpu/tile/dot_loop.hpp"
#include "targets/cpu/tile/main_loop.hpp"
#include "targets/llvm/jit/compiler.hpp"

using namespace dyn::codegen;
using namespace dyn::cpu;

namespace {

int lines_with(const std::string& assembly, std::initializer_list<std::string_view> parts) {
  std::istringstream lines(assembly);
  int found = 0;
  for (std::string line; std::getline(lines, line);) {
    bool all = true;
    for (const std::string_view part : parts) all = all && line.find(part) != std::string::npos;
    found += all ? 1 : 0;
  }
  return found;
}

const dyn::rkernel::Contraction contraction{.a = 0, .b = 1, .m = 0, .n = 1, .k = 2};

std::string assembly_of(const Isa& isa, const Tile& tile) {
  return Compiler(isa).assembly(main_loop_source(isa, register_layer(tile, contraction)), "f");
}

}  // namespace

TEST_CASE("no main loop spills a vector register, and each has its tile's multiply-adds") {
  constexpr int unroll_and_remainder = 4 + 1;
  for (const Isa& isa : all_isas()) {
    Compiler compiler(isa);
    const std::string_view product = isa.fma ? "vfmadd" : "mulps";
    const std::string_view registers = isa.name == "avx512" ? "%zmm"
                                       : isa.name == "avx2" ? "%ymm"
                                                            : "%xmm";
    for (const Tile& tile : main_loop_tiles(isa)) {
      CAPTURE(isa.name);
      CAPTURE(tile.rows);
      CAPTURE(tile.columns);
      const std::string assembly =
          compiler.assembly(main_loop_source(isa, register_layer(tile, contraction)), "f");
      CHECK(lines_with(assembly, {"mm", "(%rsp"}) == 0);
      const int loops = asks_for_rows(isa, tile, {}) ? 2 : 1;
      CHECK(lines_with(assembly, {product, registers}) ==
            loops * unroll_and_remainder * tile.rows * tile.columns / isa.f32_lanes);
    }
  }
}

TEST_CASE(
    "no main loop over narrow weights spills a vector register, and each has its tile's "
    "multiply-adds") {
  for (const Isa& isa : all_isas()) {
    if (!isa.fma) continue;  // SSE2 widens with registers of its own
    Compiler compiler(isa);
    for (const dyn::DType weights : {dyn::DType::bf16, dyn::DType::f16, dyn::DType::i8}) {
      for (const Tile& tile : main_loop_tiles(isa)) {
        CAPTURE(isa.name);
        CAPTURE(dyn::name_of(weights));
        CAPTURE(tile.rows);
        CAPTURE(tile.columns);
        const std::string assembly = compiler.assembly(
            main_loop_source(isa, register_layer(tile, contraction), weights), "f");
        CHECK(lines_with(assembly, {"mm", "(%rsp"}) == 0);
        const bool is_unrolled =
            weights != dyn::DType::f16 || tile.rows * tile.columns / isa.f32_lanes <= 26;
        CHECK(lines_with(assembly, {"vfmadd"}) ==
              (is_unrolled ? 4 + 1 : 1) * tile.rows * tile.columns / isa.f32_lanes);
      }
    }
  }
}

TEST_CASE(
    "no loop with lanes along K spills a vector register, and each has its tile's multiply-adds") {
  constexpr int loops_and_cut_vector =
      2 + 1;  // the loop that asks for rows ahead, the one that does not, and the one for the rest
  for (const Isa& isa : all_isas()) {
    Compiler compiler(isa);
    const std::string_view product = isa.fma ? "vfmadd" : "mulps";
    for (const Tile& tile : dot_tiles(isa)) {
      CAPTURE(isa.name);
      CAPTURE(tile.rows);
      CAPTURE(tile.columns);
      const std::string assembly = compiler.assembly(dot_loop_source(isa, tile), "f");
      CHECK(lines_with(assembly, {"mm", "(%rsp"}) == 0);
      CHECK(lines_with(assembly, {product}) == loops_and_cut_vector * tile.rows * tile.columns);
      CHECK(lines_with(assembly, {"prefetch"}) == tile.rows);
    }
  }
}

TEST_CASE("a tile changed in the rKernel tree is other machine code") {
  const Isa& isa = *std::find_if(all_isas().begin(), all_isas().end(),
                                 [](const Isa& i) { return i.name == "avx2"; });
  dyn::rkernel::Layer registers = register_layer({6, 16}, contraction);
  Compiler compiler(isa);
  const std::string before = compiler.assembly(main_loop_source(isa, registers), "f");
  registers.loops[1].tile = 5;
  const std::string after = compiler.assembly(main_loop_source(isa, registers), "f");
  CHECK(lines_with(before, {"vfmadd"}) == 2 * 5 * 12);
  CHECK(lines_with(after, {"vfmadd"}) == 2 * 5 * 10);
  CHECK(main_loop_source(isa, registers).key !=
        main_loop_source(isa, register_layer({6, 16}, contraction)).key);
}

TEST_CASE("every number of rows up to the tallest tile has a main loop, so that no row is padded") {
  for (const Isa& isa : all_isas()) {
    int tallest = 0;
    for (const Tile& tile : main_loop_tiles(isa)) {
      if (tile.columns == isa.panel_f32) tallest = std::max(tallest, tile.rows);
    }
    CHECK(tallest >= 4);
    for (int rows = 1; rows <= tallest; ++rows) {
      const auto tiles = main_loop_tiles(isa);
      CHECK(std::count(tiles.begin(), tiles.end(), Tile{rows, isa.panel_f32}) == 1);
    }
  }
}

TEST_CASE("generated code goes through no loop strength reduction") {
  // Default reduction turns the four rows that share a base pointer into pointers of their own.
  const Isa& isa = all_isas().front();
  CHECK(lines_with(assembly_of(isa, {14, 32}), {"vbroadcastss", ",2)"}) > 0);
}
