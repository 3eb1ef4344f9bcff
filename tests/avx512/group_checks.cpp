// Main loops over groups of narrow elements, called directly: each product and sum is exact,
// whatever the elements are.

#include <fmt/format.h>

#include <cstring>

#include "targets/cpu/tile/group_instructions.hpp"
#include "targets/cpu/tile/main_loop.hpp"
#include "tests/avx512/check.hpp"
#include "tests/unit/cpu/loop/guarded_buffer.hpp"

namespace dyn::avx512_check {
namespace {

using rkernel::Factors;
using rkernel::Group;
using testing::GuardedBuffer;

/// One factor as numbers, and as groups of four bytes where memory ends.
class Groups {
 public:
  explicit Groups(std::int64_t groups) : buffer_(static_cast<std::size_t>(groups) * 4) {}

  template <class Element>
  void set(std::int64_t group, int place, Element element) {
    std::memcpy(static_cast<std::byte*>(buffer_.data()) + group * 4 +
                    static_cast<std::ptrdiff_t>(place * sizeof element),
                &element, sizeof element);
  }
  void* data() const { return buffer_.data(); }
  bool intact() const { return buffer_.intact(); }

 private:
  GuardedBuffer buffer_;
};

class GroupCheck final : public Check {
 public:
  GroupCheck(const codegen::Isa& isa, const cpu::GroupInstruction& instruction, std::uint64_t seed)
      : Check("every main loop of " + Factors(instruction.group).name()),
        isa_(isa),
        instruction_(instruction),
        random_(seed) {}

  std::vector<codegen::KernelSource> sources() const override {
    return cpu::main_loop_sources(isa_, Factors(instruction_.group));
  }

  void run(std::span<void* const> addresses) override {
    if (!cpu::cpu_has(isa_, instruction_)) {
      std::printf("note: this CPU does not have %s\n", std::string(instruction_.feature).c_str());
      return;
    }
    const cpu::MainLoopTable table = cpu::main_loop_table(cpu::main_loop_tiles(isa_), addresses);
    for (std::size_t i = 0; i < table.tiles.size(); ++i) {
      for (const std::int64_t depth : {1, 2, 3, 4, 5, 9, 64}) {
        for (const bool accumulates : {false, true})
          run_tile(table.functions[i], table.tiles[i], depth, accumulates);
      }
    }
  }

 private:
  /// An element of a factor, extreme ones among them, in its place of a group.
  std::int64_t element(Groups& groups, std::int64_t group, int place, bool left) {
    const auto draw = [&](std::int64_t low, std::int64_t high) {
      const std::uint64_t bits = random_();
      if (bits % 4 == 0) return bits % 8 == 0 ? low : high;
      return low + static_cast<std::int64_t>(bits / 8 % static_cast<std::uint64_t>(high - low + 1));
    };
    std::int64_t drawn = 0;
    switch (instruction_.group) {
      case Group::Bytes:
        drawn = left ? draw(0, 255) : draw(-128, 127);
        groups.set(group, place, static_cast<std::uint8_t>(drawn));
        break;
      case Group::Shorts:
        drawn = left ? draw(-255, 255) : draw(-255, 255);
        groups.set(group, place, static_cast<std::int16_t>(drawn));
        break;
      default: {
        drawn = draw(-200, 200);
        const auto number = static_cast<float>(drawn);
        std::uint32_t bits = 0;
        std::memcpy(&bits, &number, sizeof bits);
        groups.set(group, place, static_cast<std::uint16_t>(bits >> 16));
      }
    }
    return drawn;
  }

  void run_tile(cpu::MainLoop loop, const cpu::Tile& tile, std::int64_t depth, bool accumulates) {
    const int size = rkernel::elements_of(instruction_.group);
    const std::int64_t panel = isa_.panel_f32, columns = tile.columns,
                       panels = (columns + panel - 1) / panel, a_row = depth + 3;
    Groups a((tile.rows - 1) * a_row + depth), b(panels * panel * depth), c(tile.rows * columns);
    std::vector<std::int64_t> left, right;
    for (int row = 0; row < tile.rows; ++row)
      for (std::int64_t k = 0; k < depth * size; ++k)
        left.push_back(element(a, row * a_row + k / size, static_cast<int>(k % size), true));
    for (std::int64_t column = 0; column < panels * panel; ++column)
      for (std::int64_t k = 0; k < depth * size; ++k)
        right.push_back(element(b,
                                column / panel * depth * panel + k / size * panel + column % panel,
                                static_cast<int>(k % size), false));
    const bool is_float = Factors(instruction_.group).sums() == DType::f32;
    const auto store = [&](std::int64_t at, std::int64_t sum) {
      if (is_float)
        c.set(at, 0, static_cast<float>(sum));
      else
        c.set(at, 0, static_cast<std::int32_t>(sum));
    };
    constexpr std::int64_t before = 1234;
    for (std::int64_t i = 0; i < tile.rows * columns; ++i) store(i, before + i);
    loop(static_cast<const float*>(a.data()), a_row, b.data(), panel, panel * depth, depth,
         static_cast<float*>(c.data()), columns, accumulates, 0, 0, 0);
    if (!a.intact() || !b.intact() || !c.intact())
      throw Failure(fmt::format("{}x{}: bytes before an operand were written", tile.rows, columns));
    for (std::int64_t i = 0; i < tile.rows * columns; ++i) {
      std::int64_t sum = accumulates ? before + i : 0;
      for (std::int64_t k = 0; k < depth * size; ++k)
        sum += left[static_cast<std::size_t>(i / columns * depth * size + k)] *
               right[static_cast<std::size_t>(i % columns * depth * size + k)];
      const auto* const place = static_cast<const std::byte*>(c.data()) + i * 4;
      float number = 0;
      std::int32_t integer = 0;
      std::memcpy(&number, place, sizeof number), std::memcpy(&integer, place, sizeof integer);
      const bool equal = is_float ? number == static_cast<float>(sum) : integer == sum;
      if (!equal)
        throw Failure(fmt::format("{}x{}, {} groups: element {} is {}, expected {}", tile.rows,
                                  columns, depth, i,
                                  is_float ? static_cast<double>(number) : integer, sum));
    }
  }

  const codegen::Isa& isa_;
  const cpu::GroupInstruction instruction_;
  std::mt19937_64 random_;
};

}  // namespace

void add_group_checks(Checks& checks, const codegen::Isa& isa, std::uint64_t seed) {
  for (const cpu::GroupInstruction& instruction : cpu::group_instructions(isa))
    checks.push_back(std::make_unique<GroupCheck>(isa, instruction, seed++));
}

}  // namespace dyn::avx512_check
