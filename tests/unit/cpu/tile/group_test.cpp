// Tiles that multiply groups of narrow elements, beside plain loops, on every ISA of this CPU.

#include <doctest/doctest.h>
#include <llvm/IR/Module.h>

#include <cmath>
#include <cstring>
#include <random>
#include <sstream>
#include <vector>

#include "graph/ir/scalars.hpp"
#include "targets/cpu/tile/group_instructions.hpp"
#include "targets/cpu/tile/main_loop.hpp"
#include "targets/cpu/tile/matrix_loop.hpp"
#include "targets/cpu/x86/functions.hpp"
#include "targets/llvm/jit/compiler.hpp"
#include "targets/llvm/jit/jit.hpp"
#include "tests/support/held_code.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/cpu/tile/soft_tiles.hpp"

using namespace dyn::cpu;

namespace {

/// A matrix of groups: bytes, with the numbers that they hold.
struct Factor {
  std::vector<std::uint8_t> bytes;
  std::vector<double> numbers;

  void add(const void* element, std::size_t size, double number) {
    const auto* const first = static_cast<const std::uint8_t*>(element);
    bytes.insert(bytes.end(), first, first + size);
    numbers.push_back(number);
  }
};

/// `count` elements of a factor, extremes among them.
Factor random_factor(Group group, bool is_a, std::size_t count, std::mt19937_64& random) {
  Factor made;
  const auto integer = [&](int low, int high) {
    const int any = std::uniform_int_distribution<int>(low, high)(random);
    return random() % 4 == 0 ? (random() % 2 == 0 ? low : high) : any;
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (group == Group::Bytes) {
      const int value = is_a ? integer(0, 255) : integer(-128, 127);
      const auto byte = static_cast<std::uint8_t>(value);
      made.add(&byte, 1, value);
    } else if (group == Group::Shorts) {
      const auto value = static_cast<std::int16_t>(is_a ? integer(0, 255) : integer(-128, 127));
      made.add(&value, 2, value);
    } else {
      const float value = std::normal_distribution<float>()(random);
      std::uint32_t bits;
      std::memcpy(&bits, &value, sizeof bits);
      const auto half = static_cast<std::uint16_t>(bits >> 16);
      bits &= 0xffff0000U;
      float kept;
      std::memcpy(&kept, &bits, sizeof kept);
      made.add(&half, 2, static_cast<double>(kept));
    }
  }
  return made;
}

struct GroupCase {
  const dyn::codegen::Isa& isa;
  Group group;
  Tile tile;
  std::int64_t groups;  ///< along K
};

/// Sums of one tile, added to those of a block before it.
void check_group(const GroupCase& c, MainLoop loop, std::mt19937_64& random) {
  const auto steps = static_cast<std::size_t>(dyn::rkernel::elements_of(c.group)),
             groups = static_cast<std::size_t>(c.groups),
             rows = static_cast<std::size_t>(c.tile.rows),
             columns = static_cast<std::size_t>(c.tile.columns),
             panel = static_cast<std::size_t>(c.isa.panel_f32),
             panels = (columns + panel - 1) / panel;
  const Factor a = random_factor(c.group, true, rows * groups * steps, random),
               b = random_factor(c.group, false, panels * groups * panel * steps, random);
  std::vector<std::int32_t> sums(rows * columns);
  const bool are_floats = c.group == Group::Bfloats;
  for (const bool adds : {false, true}) {
    loop(reinterpret_cast<const float*>(a.bytes.data()), c.groups, b.bytes.data(), c.isa.panel_f32,
         c.isa.panel_f32 * c.groups, c.groups, reinterpret_cast<float*>(sums.data()),
         c.tile.columns, adds ? 1 : 0, 0, 0, 0);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        double sum = 0, magnitude = 0;
        for (std::size_t k = 0; k < groups * steps; ++k) {
          const std::size_t of_b = column / panel * panel * groups * steps +
                                   (k / steps * panel + column % panel) * steps + k % steps;
          const double product = a.numbers[row * groups * steps + k] * b.numbers[of_b];
          sum += product, magnitude += std::abs(product);
        }
        if (adds) sum *= 2, magnitude *= 2;
        const std::int32_t bits = sums[row * columns + column];
        float number;
        std::memcpy(&number, &bits, sizeof number);
        if (are_floats)
          REQUIRE(std::abs(static_cast<double>(number) - sum) <= 1e-6 * magnitude + 1e-30);
        else
          REQUIRE(static_cast<double>(bits) == sum);
      }
    }
  }
}

int lines_of(const std::string& assembly, std::string_view part) {
  std::istringstream lines(assembly);
  int found = 0;
  for (std::string line; std::getline(lines, line);)
    found += line.find(part) != std::string::npos ? 1 : 0;
  return found;
}

}  // namespace

TEST_CASE("tiles of groups: every tile's sums, alone and added to a block before") {
  std::mt19937_64 random(dyn::testing::test_seed());
  int kinds = 0;
  for (const dyn::codegen::Isa& isa : dyn::codegen::all_isas()) {
    if (!dyn::codegen::cpu_has(isa)) continue;
    const auto store = dyn::codegen::CodeStore::open(isa, {});
    for (const GroupInstruction& instruction : group_instructions(isa)) {
      if (!cpu_has(isa, instruction)) continue;
      ++kinds;
      const std::vector<Tile> tiles = main_loop_tiles(isa);
      dyn::rkernel::CompileReport report;
      const auto held = dyn::testing::hold(
          store->resolve(main_loop_sources(isa, Factors(instruction.group)), 2, report));
      const MainLoopTable table = main_loop_table(tiles, held);
      for (std::size_t i = 0; i < tiles.size(); ++i) {
        for (const std::int64_t groups : {0, 1, 3, 4, 7, 33}) {
          CAPTURE(isa.name);
          CAPTURE(Factors(instruction.group).name());
          CAPTURE(tiles[i].rows);
          CAPTURE(tiles[i].columns);
          CAPTURE(groups);
          check_group({isa, instruction.group, tiles[i], groups}, table.functions[i], random);
        }
      }
    }
  }
  CHECK(kinds >= 2);
}

TEST_CASE("no tile of groups spills a vector register, and each has its tile's instructions") {
  constexpr int unroll_and_remainder = 4 + 1;
  const dyn::rkernel::Contraction contraction{.a = 0, .b = 1, .m = 0, .n = 1, .k = 2};
  for (const dyn::codegen::Isa& isa : dyn::codegen::all_isas()) {
    dyn::codegen::Compiler compiler(isa);
    for (const GroupInstruction& instruction : group_instructions(isa)) {
      if (!isa.fma) continue;  // SSE2 loads with registers of its own
      // Products that are no sums yet take registers too: what the largest tiles cost is measured.
      const int most_rows = instruction.instructions > 1 && isa.f32_lanes == 16 ? 7 : 99;
      const std::string_view name = instruction.group == Group::Bytes    ? "vpdpbusd"
                                    : instruction.group == Group::Shorts ? "vpmaddwd"
                                                                         : "vdpbf16ps";
      for (const Tile& tile : main_loop_tiles(isa)) {
        CAPTURE(isa.name);
        CAPTURE(name);
        CAPTURE(tile.rows);
        CAPTURE(tile.columns);
        if (tile.rows > most_rows || (most_rows == 7 && tile.columns > isa.panel_f32)) continue;
        const std::string assembly = compiler.assembly(
            main_loop_source(isa, register_layer(tile, contraction), Factors(instruction.group)),
            "f");
        CHECK(lines_of(assembly, "mm, (%rsp") + lines_of(assembly, "(%rsp), %zmm") == 0);
        CHECK(lines_of(assembly, name) ==
              unroll_and_remainder * tile.rows * tile.columns / isa.f32_lanes);
      }
    }
  }
}

namespace {

constexpr Group matrix_groups[] = {Group::Bytes, Group::Bfloats};

/// A main loop of matrix tiles in memory.
dyn::codegen::KernelSource soft_main_loop(const dyn::codegen::Isa& isa, const Tile& tile,
                                          Group group) {
  return {
      "soft main loop " + Factors(group).name() + " " + std::to_string(tile.rows) + " " +
          std::to_string(tile.columns),
      [&isa, tile, group](llvm::Module& module, const std::string& symbol) {
        dyn::codegen::Builder builder(module.getContext());
        llvm::Function* function = create_main_loop(builder, module, symbol);
        builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
        dyn::testing::SoftTiles code(builder, group);
        emit_matrix_loop(builder, code, isa, tile);
        builder.CreateRetVoid();
      }};
}

}  // namespace

TEST_CASE("loops over matrix tiles: every tile's sums, on tiles in memory") {
  std::mt19937_64 random(dyn::testing::test_seed());
  for (const dyn::codegen::Isa& isa : dyn::codegen::all_isas()) {
    if (!dyn::codegen::cpu_has(isa) || isa.panel_f32 % 16 != 0) continue;
    const auto store = dyn::codegen::CodeStore::open(isa, {});
    for (const Group group : matrix_groups) {
      const Tile tiles[] = {{1, 16}, {5, 32}, {14, 32}, {3, 64}, {2, 128}};
      std::vector<dyn::codegen::KernelSource> sources;
      for (const Tile& tile : tiles) sources.push_back(soft_main_loop(isa, tile, group));
      dyn::rkernel::CompileReport report;
      const auto held = dyn::testing::hold(store->resolve(sources, 2, report));
      for (std::size_t i = 0; i < std::size(tiles); ++i) {
        for (const std::int64_t groups : {0, 1, 15, 16, 17, 32, 47}) {
          CAPTURE(isa.name);
          CAPTURE(tiles[i].rows);
          CAPTURE(tiles[i].columns);
          CAPTURE(groups);
          check_group({isa, group, tiles[i], groups}, reinterpret_cast<MainLoop>(held[i]), random);
        }
      }
    }
  }
}

TEST_CASE("AMX: each tile has its products, and no tile goes through the stack") {
  constexpr int tile_columns = 16, whole_and_rest = 2;
  const dyn::rkernel::Contraction contraction{.a = 0, .b = 1, .m = 0, .n = 1, .k = 2};
  const dyn::codegen::Isa& isa = dyn::codegen::with_matrices(
      *std::ranges::find(dyn::codegen::all_isas(), "avx512", &dyn::codegen::Isa::name));
  dyn::codegen::Compiler compiler(isa);
  for (const Group group : matrix_groups) {
    for (const Tile& tile : main_loop_tiles(isa)) {
      CAPTURE(tile.rows);
      CAPTURE(tile.columns);
      const std::string assembly = compiler.assembly(
          main_loop_source(isa, register_layer(tile, contraction), Factors(group)), "f");
      const int sums = tile.columns / tile_columns;
      CHECK(lines_of(assembly, group == Group::Bytes ? "tdpbusd" : "tdpbf16ps") ==
            whole_and_rest * sums);
      CHECK(lines_of(assembly, "tilestored") == sums);
      CHECK(lines_of(assembly, "ldtilecfg") == 1);
      CHECK(lines_of(assembly, "vpdpbusd") + lines_of(assembly, "vdpbf16ps") == 0);
    }
  }
}
