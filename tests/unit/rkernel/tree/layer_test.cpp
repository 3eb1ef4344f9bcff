#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "src/rkernel/tree/layer.hpp"
#include "targets/cpu/contraction/emitter.hpp"
#include "tests/unit/cpu/contraction/fixture.hpp"

using namespace dyn::choice;
using namespace dyn::rkernel;

namespace {

/// Writes down the calls of a walk.
class Recorder final : public Emitter {
 public:
  explicit Recorder(const Problem& problem) : problem_(problem) {}
  void open(int layer, const Loop& loop) override {
    text += "open " + std::to_string(layer) + name(loop) + "; ";
  }
  void close(int layer, const Loop& loop) override {
    text += "close " + std::to_string(layer) + name(loop) + "; ";
  }
  void move(int layer, const Move& move) override {
    text += "move " + std::to_string(layer) + " " + operand(move) + "; ";
  }
  void leaf(const Layer& registers) override { text += "leaf " + registers.name + "; "; }
  std::string text;

 private:
  std::string name(const Loop& loop) const {
    return " " + problem_.axes[static_cast<std::size_t>(loop.axis)].name;
  }
  std::string operand(const Move& move) const {
    return problem_.operands[static_cast<std::size_t>(move.operand)].name;
  }
  const Problem& problem_;
};

bool mentions(const std::vector<std::string>& lines, const std::string& part) {
  for (const std::string& line : lines) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE(
    "a walk goes from the threads to the registers, opens what it closes, and moves operands "
    "between") {
  const auto built =
      dyn::cpu::testing::build({.batch = 2, .m = 3, .n = 4, .k = 5, .packed = false});
  const RKernel kernel =
      dyn::cpu::contraction_rkernel(built.problem, dyn::codegen::all_isas().front(), 2, false);
  Recorder recorder(built.problem);
  walk(kernel, recorder);
  CHECK(recorder.text ==
        "open 3 b; open 3 k; open 3 n; open 3 m; open 2 k; move 2 a; move 2 b; open 1 n; open 1 m; "
        "leaf registers; "
        "close 1 m; close 1 n; close 2 k; close 3 m; close 3 n; close 3 k; close 3 b; ");
}

TEST_CASE("the tree of a contraction is legal on every ISA, and prints its loops") {
  const auto built =
      dyn::cpu::testing::build({.batch = 2, .m = 3, .n = 4, .k = 5, .packed = false});
  for (const dyn::codegen::Isa& isa : dyn::codegen::all_isas()) {
    CHECK(illegalities(dyn::cpu::contraction_rkernel(built.problem, isa, 2, false),
                       {.vector_registers = isa.vector_registers})
              .empty());
  }
  const std::string text = to_string(
      dyn::cpu::contraction_rkernel(built.problem, dyn::codegen::all_isas().front(), 2, false));
  CHECK(text.find("for m: temporal spatial, tile chosen per call") != std::string::npos);
  CHECK(text.find("move b: threads -> L2, panels") != std::string::npos);
}

TEST_CASE("what is wrong with a tree is said, and stops its emission") {
  const auto built = dyn::cpu::testing::build({.batch = 1, .m = 3, .n = 4, .k = 5});
  const RKernel good =
      dyn::cpu::contraction_rkernel(built.problem, dyn::codegen::all_isas().front(), 2, false);
  const auto broken = [&](auto change) {
    RKernel kernel = good;
    change(kernel);
    return illegalities(kernel, {.vector_registers = 32});
  };
  CHECK(mentions(broken([](RKernel& k) { k.layers[2].carried.clear(); }), "in parallel"));
  CHECK(
      mentions(broken([](RKernel& k) { k.layers[1].loops[0].kind = LoopKind::TemporalReduction; }),
               "reduces over the parallel axis"));
  CHECK(mentions(
      broken([](RKernel& k) { k.layers[1].loops[0].tile = k.layers[0].loops[2].tile + 1; }),
      "no multiple"));
  CHECK(mentions(broken([](RKernel& k) {
                   k.layers[2].moves[0].to_layer = 3;
                   k.layers[2].moves[0].from_layer = 1;
                 }),
                 "upwards"));
  CHECK(mentions(broken([](RKernel& k) { k.layers[0].loops[1].tile = 40; }), "vector registers"));
  RKernel kernel = good;
  kernel.layers[0].loops[1].tile = 40;
  CHECK_THROWS_WITH_AS(legalise(kernel, {.vector_registers = 32}),
                       doctest::Contains("matmul is not legal"), dyn::Error);
}
