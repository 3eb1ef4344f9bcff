#include "targets/cpu/measure/matrix_check.hpp"

#include <bit>
#include <vector>

#include "targets/cpu/tile/main_loop.hpp"
#include "targets/cpu/tile/matrix_loop.hpp"
#include "targets/llvm/jit/jit.hpp"

namespace dyn::cpu {
namespace {

constexpr std::int64_t groups = 35;  // two whole tiles along K, and part of one

/// Small whole numbers as the elements of words: their sums are exact in i32 and in f32.
std::vector<std::uint32_t> words_of(Group group, std::size_t count, std::uint32_t step) {
  std::vector<std::uint32_t> words(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto small = [&](std::uint32_t part) {
      return (static_cast<std::uint32_t>(i) * step + part * 5) % 7;
    };
    const auto bfloat = [&](std::uint32_t part) {
      return std::bit_cast<std::uint32_t>(static_cast<float>(small(part))) >> 16;
    };
    words[i] = group == Group::Bytes ? small(0) | small(1) << 8 | small(2) << 16 | small(3) << 24
                                     : bfloat(0) | bfloat(1) << 16;
  }
  return words;
}

/// One element's sum.
double sum_of(Group group, const std::uint32_t* a, const std::uint32_t* b, std::int64_t b_row) {
  double sum = 0;
  const int parts = rkernel::elements_of(group), bits = 32 / parts;
  for (std::int64_t k = 0; k < groups; ++k) {
    for (int part = 0; part < parts; ++part) {
      const auto element = [&](std::uint32_t word) -> double {
        const std::uint32_t code = word >> (part * bits) & ((1U << bits) - 1);
        if (group == Group::Bytes) return code;
        return std::bit_cast<float>(code << 16);
      };
      sum += element(a[k]) * element(b[k * b_row]);
    }
  }
  return sum;
}

bool agrees(const codegen::Isa& isa, Group group) {
  const rkernel::Contraction contraction{.a = 0, .b = 1, .m = 0, .n = 1, .k = 2};
  const Tile tile = largest_panel_tile(isa);
  const auto store = codegen::CodeStore::open(isa, {});
  rkernel::CompileReport report;
  const std::vector sources{
      main_loop_source(isa, register_layer(tile, contraction), Factors(group))};
  const codegen::LinkedCode code = store->resolve(sources, 1, report);
  const std::int64_t panel = isa.panel_f32;
  const auto a = words_of(group, static_cast<std::size_t>(tile.rows * groups), 3),
             b = words_of(group, static_cast<std::size_t>(groups * panel), 4);
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(tile.rows * panel));
  reinterpret_cast<MainLoop>(code.addresses.front())(
      reinterpret_cast<const float*>(a.data()), groups, b.data(), panel, groups * panel, groups,
      reinterpret_cast<float*>(sums.data()), panel, 0, 0, 0, 0);
  for (std::int64_t i = 0; i < tile.rows * panel; ++i) {
    const std::uint32_t found = sums[static_cast<std::size_t>(i)];
    const double expected =
        sum_of(group, a.data() + i / panel * groups, b.data() + i % panel, panel);
    if (expected !=
        (group == Group::Bytes ? static_cast<double>(found) : double{std::bit_cast<float>(found)}))
      return false;
  }
  return true;
}

}  // namespace

bool has_sound_matrices(const codegen::Isa& isa) {
  if (isa.f32_lanes != matrix_row_bytes / 4 || !cpu_has_matrices()) return false;
  static const bool sound = [&] {
    const codegen::Isa& with = codegen::with_matrices(isa);
    return agrees(with, Group::Bytes) && agrees(with, Group::Bfloats);
  }();
  return sound;
}

}  // namespace dyn::cpu
