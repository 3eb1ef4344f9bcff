// Contractions of small integers, whose sums are exact in f32: whatever the order, the results are
// equal.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "targets/cpu/contraction/kernel.hpp"
#include "targets/cpu/move/pack.hpp"
#include "targets/cpu/tile/dot_loop.hpp"
#include "tests/avx512/check.hpp"
#include "tests/avx512/counted_loops.hpp"
#include "tests/unit/cpu/contraction/fixture.hpp"
#include "tests/unit/cpu/loop/guarded_buffer.hpp"

namespace dyn::avx512_check {
namespace {

using cpu::testing::Case;
using testing::GuardedBuffer;

constexpr int choices_per_size = 4;

/// A machine with invented figures: the choice is made among all strategies, so they only have to
/// exist.
choice::Machine plain_machine(const codegen::Isa& isa) {
  choice::Machine machine;
  machine.name = "plain";
  machine.threads = 2;
  machine.vector_width = isa.f32_lanes;
  machine.panel = isa.panel_f32;
  machine.seconds_per_vector_operation = 0.3e-9;
  machine.seconds_per_call = 20e-9;
  machine.seconds_per_ticket = 100e-9;
  machine.seconds_per_wakeup = 1e-6;
  machine.levels = {{"L1", 32 << 10, {128e9, 256e9}},
                    {"L2", 1 << 20, {64e9, 128e9}},
                    {"L3", 32 << 20, {20e9, 40e9}},
                    {"DRAM", 0, {10e9, 15e9}}};
  for (const cpu::Tile& tile : cpu::main_loop_tiles(isa)) {
    const int multiply_adds = tile.rows * tile.columns / isa.f32_lanes;
    machine.tiles.push_back({tile.rows, tile.columns, std::max(multiply_adds, 8) * 0.15e-9});
  }
  return machine;
}

/// Integers in [-4, 4] that end where the memory does.
class Matrix {
 public:
  Matrix(std::int64_t count, std::mt19937_64& random)
      : buffer_(static_cast<std::size_t>(count) * sizeof(float)) {
    for (std::int64_t i = 0; i < count; ++i) data()[i] = static_cast<float>(random() % 9) - 4;
  }
  float* data() const { return static_cast<float*>(buffer_.data()); }
  bool intact() const { return buffer_.intact(); }

 private:
  GuardedBuffer buffer_;
};

/// A problem's operands at one size, and its result.
struct Operands {
  Operands(const Case& c, const codegen::Isa& isa, std::mt19937_64& random)
      : a_row((c.transpose_a ? c.m : c.k) + c.a_slack),
        a(c.batch * (c.transpose_a ? c.k : c.m) * a_row, random),
        b((c.packed ? 1 : c.batch) * c.n * c.k, random),
        layout{c.weights, isa.panel_f32, c.k, c.n},
        packed(c.packed ? layout.bytes() / static_cast<std::int64_t>(sizeof(float)) : 0, random),
        bias(c.n, random),
        residual(c.batch * c.m * c.n, random) {
    const std::int64_t k_stride = c.transpose_b ? 1 : c.n, n_stride = c.transpose_b ? c.k : 1;
    // The scale of a column whose largest magnitude is 127 is 1: integers stay what they are.
    for (std::int64_t n = 0; c.weights == DType::i8 && c.k > 0 && n < c.n; ++n)
      b.data()[c.k / 2 * k_stride + n * n_stride] = n % 2 == 0 ? 127 : -127;
    if (c.packed)
      cpu::pack_panels(layout, {b.data(), DType::f32, k_stride, n_stride}, 0, layout.panels(),
                       packed.data());
  }

  float expected(const Case& c, std::int64_t batch, std::int64_t m, std::int64_t n) const {
    const float* from = a.data() + batch * (c.transpose_a ? c.k : c.m) * a_row;
    const float* weights = b.data() + (c.packed ? 0 : batch * c.n * c.k);
    double sum = 0;
    for (std::int64_t k = 0; k < c.k; ++k) {
      sum += static_cast<double>(from[c.transpose_a ? k * a_row + m : m * a_row + k]) *
             weights[c.transpose_b ? n * c.k + k : k * c.n + n];
    }
    if (c.bias) sum += bias.data()[n];
    if (c.relu) sum = std::max(sum, 0.0);
    if (c.long_epilogue) sum = -std::fabs(sum);
    if (c.residual) sum += residual.data()[(batch * c.m + m) * c.n + n];
    return static_cast<float>(sum);
  }

  std::int64_t a_row;
  Matrix a, b;
  rkernel::PackedLayout layout;
  Matrix packed, bias, residual;
};

std::string text_of(const Case& c) {
  return fmt::format("batch {} M {} N {} K {}", c.batch, c.m, c.n, c.k);
}

std::string text_of(const rkernel::Strategy& strategy) {
  return fmt::format("tile {}x{}, block {} x {} x {}, A {}", strategy.tile_rows,
                     strategy.tile_columns, strategy.block_m, strategy.block_n, strategy.block_k,
                     strategy.copy_a ? "copied" : "as it lies");
}

class ContractionCheck final : public Check {
 public:
  /// `form` gives everything but the sizes. With `all_loops`, every main loop must have been called
  /// in the end.
  ContractionCheck(std::string name, const codegen::Isa& isa, const Case& form, std::uint64_t seed,
                   bool all_loops)
      : Check(std::move(name)),
        isa_(isa),
        form_(form),
        built_(build(form)),
        random_(seed),
        all_loops_(all_loops) {
    // Addresses of main loops come with run(); the code does not depend on them.
    const std::vector<cpu::MainLoop> none(tiles_.size());
    draft_.emplace(cpu::ContractionKernel::draft(
        built_.problem, context_with({none, none, std::vector<cpu::MainLoop>(dot_tiles_.size())}),
        2));
  }

  std::vector<codegen::KernelSource> sources() const override {
    std::vector<codegen::KernelSource> all = cpu::main_loop_sources(isa_);
    for (const std::vector<codegen::KernelSource>& more :
         {cpu::main_loop_sources(isa_, form_.weights), cpu::dot_loop_sources(isa_),
          draft_->sources()})
      all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  void run(std::span<void* const> addresses) override {
    Loops loops{main_loops(addresses.first(tiles_.size())),
                main_loops(addresses.subspan(tiles_.size(), tiles_.size())),
                main_loops(addresses.subspan(2 * tiles_.size(), dot_tiles_.size()))};
    std::vector<cpu::MainLoop>& counted = form_.weights == DType::f32 ? loops.f32 : loops.weights;
    counted = CountedLoops::wrap(counted);
    const std::span<void* const> own = addresses.subspan(2 * tiles_.size() + dot_tiles_.size());
    const auto kernel = cpu::ContractionKernel::draft(built_.problem, context_with(loops), 2)
                            .with_code({own.begin(), own.end()});
    for (const Case& c : sizes()) run_size(*kernel, c);
    for (std::size_t i = 0; all_loops_ && i < tiles_.size(); ++i) {
      if (CountedLoops::calls(i) == 0)
        throw Failure(
            fmt::format("main loop {}x{} was never called", tiles_[i].rows, tiles_[i].columns));
    }
  }

 private:
  static std::vector<cpu::MainLoop> main_loops(std::span<void* const> addresses) {
    return cpu::main_loop_table({}, addresses).functions;
  }

  /// Main loops over f32, over the form's weights, and with lanes along K.
  struct Loops {
    std::vector<cpu::MainLoop> f32, weights, dot;
  };

  std::shared_ptr<const cpu::ContractionContext> context_with(const Loops& loops) const {
    cpu::ContractionLoops tables{{tiles_, loops.f32}, {dot_tiles_, loops.dot}};
    if (form_.weights != DType::f32) tables.narrow[form_.weights] = {tiles_, loops.weights};
    return std::make_shared<const cpu::ContractionContext>(isa_, plain_machine(isa_), tables);
  }

  /// As many rows as each main loop has, columns around its own; then edges, and long K.
  std::vector<Case> sizes() {
    std::vector<Case> all;
    const auto add = [&](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch = 1) {
      Case c = form_;
      c.batch = batch, c.m = m, c.n = n, c.k = k;
      all.push_back(c);
    };
    if (all_loops_) {
      constexpr std::int64_t depths[] = {1, 2, 3, 4, 5, 8, 13};
      for (const cpu::Tile& tile : tiles_) {
        const auto beyond =
            static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(isa_.panel_f32));
        add(tile.rows, tile.columns, depths[random_() % 7]);
        add(tile.rows, tile.columns + beyond, depths[random_() % 7]);
      }
    }
    const std::int64_t panel = isa_.panel_f32;
    for (const std::int64_t n : {std::int64_t{1}, panel - 1, panel, panel + 1, 3 * panel + 5})
      add(29, n, 7);
    for (const std::int64_t k : {0, 1, 4, 130}) add(5, panel + 3, k);
    add(3, 2 * panel + 9, 1100);
    add(0, panel, 3), add(4, 0, 3);
    add(3, 21, 6, form_.packed ? 1 : 3);
    return all;
  }

  void run_size(const cpu::ContractionKernel& kernel, const Case& c) {
    const Operands operands(c, isa_, random_);
    std::vector<float> wanted;
    for (std::int64_t batch = 0; batch < c.batch; ++batch)
      for (std::int64_t m = 0; m < c.m; ++m)
        for (std::int64_t n = 0; n < c.n; ++n) wanted.push_back(operands.expected(c, batch, m, n));
    // The symbols of build(), in its order.
    const std::vector<std::int64_t> symbols{c.batch, c.m, c.n, c.k};
    const rkernel::PlanRequest request{symbols, 2};
    for (const choice::Choice& choice : some_choices(kernel, request, c)) {
      try {
        run_choice(kernel.launch_with(request, choice), c, operands, wanted);
      } catch (const Failure& failure) {
        throw Failure(fmt::format("{}, {}: {}", text_of(c),
                                  text_of(choice.program.regions.front().strategy),
                                  failure.what()));
      }
    }
  }

  /// Picks from all choices for a shape one of each width of tile, and some more.
  std::vector<choice::Choice> some_choices(const cpu::ContractionKernel& kernel,
                                           const rkernel::PlanRequest& request, const Case& c) {
    std::vector<choice::Choice> all, some;
    std::map<int, std::vector<std::size_t>> by_columns;
    kernel.for_each_choice(request, [&](const choice::Choice& choice) {
      const rkernel::Strategy& strategy = choice.program.regions.front().strategy;
      const bool whole_tiles =
          strategy.lanes == rkernel::LaneAxis::N &&
          strategy.block_m >= std::min<std::int64_t>(c.m, strategy.tile_rows) &&
          strategy.block_n >= std::min<std::int64_t>(c.n, strategy.tile_columns);
      if (whole_tiles) by_columns[strategy.tile_columns].push_back(all.size());
      all.push_back(choice);
    });
    for (const auto& [columns, indices] : by_columns) some.push_back(all[tallest(all, indices)]);
    for (int i = 0; i < choices_per_size; ++i) some.push_back(all.at(random_() % all.size()));
    return some;
  }

  /// One of the choices with the most rows in a tile.
  std::size_t tallest(const std::vector<choice::Choice>& all,
                      const std::vector<std::size_t>& indices) {
    const auto rows = [&](std::size_t i) {
      return all[i].program.regions.front().strategy.tile_rows;
    };
    int most = 0;
    for (const std::size_t i : indices) most = std::max(most, rows(i));
    std::vector<std::size_t> best;
    for (const std::size_t i : indices)
      if (rows(i) == most) best.push_back(i);
    return best[random_() % best.size()];
  }

  static void run_choice(const rkernel::Launch& launch, const Case& c, const Operands& operands,
                         const std::vector<float>& wanted) {
    const GuardedBuffer output(wanted.size() * sizeof(float)),
        scratch((launch.scratch_bytes + 63) / 64 * 64);
    std::vector<void*> pointers{operands.a.data(),
                                c.packed ? operands.packed.data() : operands.b.data()};
    if (c.bias) pointers.push_back(operands.bias.data());
    if (c.residual) pointers.push_back(operands.residual.data());
    pointers.push_back(output.data());
    if (c.weights == DType::i8)
      pointers.push_back(reinterpret_cast<std::byte*>(operands.packed.data()) +
                         operands.layout.scales_offset_bytes());
    std::atomic<std::int32_t> status{0};
    const GuardedBuffer shared(launch.shared_bytes);
    const rkernel::KernelArgs args{pointers.data(), launch.ints.data(), &status, shared.data()};
    for (std::int64_t first = 0; first < launch.tickets; first += launch.grain) {
      launch.function(&args, first, std::min(launch.grain, launch.tickets - first), scratch.data());
    }
    for (std::int64_t ticket = 0; launch.merge != nullptr && ticket < launch.merge_tickets;
         ++ticket)
      launch.merge(&args, ticket, 1, scratch.data());
    if (!shared.intact()) throw Failure("bytes before the memory of the run were written");
    if (!output.intact() || !scratch.intact())
      throw Failure("bytes before the output or the scratch memory were written");
    for (const Matrix* matrix :
         {&operands.a, &operands.b, &operands.packed, &operands.bias, &operands.residual}) {
      if (!matrix->intact()) throw Failure("bytes before an input were written");
    }
    const auto* got = static_cast<const float*>(output.data());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (got[i] != wanted[i])
        throw Failure(fmt::format("element {} is {}, expected {}", i, got[i], wanted[i]));
    }
  }

  const codegen::Isa& isa_;
  Case form_;
  cpu::testing::Built built_;
  std::mt19937_64 random_;
  bool all_loops_;
  std::vector<cpu::Tile> tiles_ = cpu::main_loop_tiles(isa_), dot_tiles_ = cpu::dot_tiles(isa_);
  std::optional<cpu::ContractionKernel::Draft> draft_;
};

}  // namespace

void add_contraction_checks(Checks& checks, const codegen::Isa& isa, std::uint64_t seed) {
  const auto add = [&](const char* name, const Case& form, bool all_loops = false) {
    checks.push_back(std::make_unique<ContractionCheck>(name, isa, form, seed++, all_loops));
  };
  // Full tiles of smaller epilogues have loops of their own.
  add("every main loop, packed weights",
      {.bias = true, .residual = true, .relu = true, .long_epilogue = true}, true);
  add("packed weights, sums alone", {});
  add("packed weights, bias, relu", {.bias = true, .relu = true});
  add("packed weights, bias, relu, residual, gaps between rows",
      {.bias = true, .residual = true, .relu = true, .a_slack = 5});
  add("packed weights, A transposed", {.transpose_a = true, .bias = true});
  add("every main loop, weights of bf16",
      {.bias = true, .residual = true, .relu = true, .long_epilogue = true, .weights = DType::bf16},
      true);
  add("every main loop, weights of f16",
      {.bias = true, .residual = true, .relu = true, .long_epilogue = true, .weights = DType::f16},
      true);
  add("every main loop, weights of i8",
      {.bias = true, .residual = true, .relu = true, .long_epilogue = true, .weights = DType::i8},
      true);
  add("weights of bf16, sums alone", {.weights = DType::bf16});
  add("weights of i8, sums alone", {.weights = DType::i8});
  add("weights of bf16, A transposed, bias, relu, residual",
      {.transpose_a = true, .bias = true, .residual = true, .relu = true, .weights = DType::bf16});
  add("weights of i8, transposed, bias, relu, residual",
      {.transpose_b = true, .bias = true, .residual = true, .relu = true, .weights = DType::i8});
  add("every main loop, fresh B",
      {.packed = false, .bias = true, .residual = true, .relu = true, .long_epilogue = true}, true);
  add("fresh B, sums alone", {.packed = false});
  add("fresh B transposed, residual", {.transpose_b = true, .packed = false, .residual = true});
  add("both operands fresh and transposed, relu",
      {.transpose_a = true, .transpose_b = true, .packed = false, .relu = true});
}

}  // namespace dyn::avx512_check
