#include <doctest/doctest.h>
#include <llvm/IR/Module.h>

#include "dyn/error.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/tile/tree.hpp"
#include "tests/support/count.hpp"
#include "tests/unit/ptx/contraction/matmul_case.hpp"

using namespace dyn;
using namespace dyn::ptx::testing;
using dyn::choice::GpuTile;
using dyn::testing::count;
using rkernel::RKernel;

namespace {

/// Writes the calls of a walk as text.
class Recorder final : public rkernel::Emitter {
 public:
  explicit Recorder(const rkernel::Problem& problem) : problem_(problem) {}
  void open(int layer, const rkernel::Loop& loop) override {
    text += "open " + std::to_string(layer) + axis(loop) + "; ";
  }
  void close(int layer, const rkernel::Loop& loop) override {
    text += "close " + std::to_string(layer) + axis(loop) + "; ";
  }
  void move(int layer, const rkernel::Move& move) override {
    text += "move " + std::to_string(layer) + operand(move) + "; ";
  }
  void run_ahead(int layer, std::span<const rkernel::Move> moves) override {
    text += "ahead " + std::to_string(layer);
    for (const rkernel::Move& move : moves) text += operand(move);
    text += "; ";
  }
  void leaf(const rkernel::Layer& registers) override { text += "leaf " + registers.name + "; "; }
  std::string text;

 private:
  std::string axis(const rkernel::Loop& loop) const {
    return " " + problem_.axes[static_cast<std::size_t>(loop.axis)].name;
  }
  std::string operand(const rkernel::Move& move) const {
    return " " + problem_.operands[static_cast<std::size_t>(move.operand)].name;
  }
  const rkernel::Problem& problem_;
};

BuiltMatmul built_with(const GpuTile& tile) {
  MatmulCase c;
  c.tile = tile;
  c.a = c.b = tile.operands;
  return build(c);
}

RKernel tree(const BuiltMatmul& built) {
  return ptx::contraction_tree(built.problem, built.shape_class.tile, ptx::described_gpu("a100"));
}

std::string text_of_module(const BuiltMatmul& built,
                           const std::function<void(RKernel&)>& change = {}) {
  llvm::LLVMContext context;
  return ptx::module_text(*ptx::emit_device_module(context, source_of(built, change), "matmul"));
}

bool mentions(const std::vector<std::string>& lines, const std::string& part) {
  for (const std::string& line : lines) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

rkernel::Loop& loop_of(RKernel& kernel, int layer, int axis) {
  for (rkernel::Loop& loop : kernel.layers[static_cast<std::size_t>(layer)].loops) {
    if (loop.axis == axis) return loop;
  }
  throw Error(ErrorKind::internal, "no such loop");
}

}  // namespace

TEST_CASE(
    "a GPU's tree is walked from the grid to the registers; copies run ahead of the loop over "
    "stages") {
  const BuiltMatmul built = built_with(small_cuda_tile());
  const RKernel kernel = tree(built);
  Recorder recorder(built.problem);
  rkernel::walk(kernel, recorder);
  CHECK(recorder.text ==
        "open 4 b; open 4 m; open 4 n; ahead 3 a b; open 3 k; move 3 a; move 3 b; open 2 m; open 2 "
        "n; open 1 m; open 1 n; open 1 k; "
        "leaf registers; close 1 k; close 1 n; close 1 m; close 2 n; close 2 m; close 3 k; close 4 "
        "n; close 4 m; close 4 b; ");
}

TEST_CASE("a tree has the tiles that it was made of, and prints them") {
  for (const GpuTile& tile :
       {small_cuda_tile(), small_tensor_tile(DType::bf16), small_tensor_tile(DType::f16),
        small_tensor_tile(DType::f32), overlapped(small_tensor_tile(DType::bf16))}) {
    const BuiltMatmul built = built_with(tile);
    INFO(tile.to_string());
    CHECK(ptx::tile_of(tree(built)) == tile);
    CHECK(rkernel::illegalities(tree(built), ptx::architecture_limits()).empty());
  }
  MatmulCase c;
  c.tile = small_tensor_tile(DType::bf16);
  const BuiltMatmul built = build(c);
  const std::string text = to_string(tree(built));
  CHECK(text.find("move a: grid -> shared, swizzled, as bf16, 3 stages") != std::string::npos);
  CHECK(text.find("move a: shared -> registers, as it lies, as bf16, 2 stages") !=
        std::string::npos);
  CHECK(text.find("for m: parallel, tile 32") != std::string::npos);
}

TEST_CASE("the code of a matrix product follows the tiles and stages of its tree") {
  const BuiltMatmul built = built_with(small_cuda_tile());
  const int m = built.problem.contraction->m, k = built.problem.contraction->k;
  const std::string text = text_of_module(built);
  CHECK(text == text_of_module(built));
  CHECK(count(text, "call float @llvm.fma.f32") >= 4 * 4 * 8);
  const std::string deeper = text_of_module(built, [](RKernel& kernel) {
    for (rkernel::Move& move : kernel.layers[ptx::shared_layer].moves) move.stages = 3;
  });
  CHECK(text.find("wait_group(i32 0)") != std::string::npos);
  CHECK(deeper.find("wait_group(i32 1)") != std::string::npos);
  const std::string shallower = text_of_module(
      built, [&](RKernel& kernel) { loop_of(kernel, ptx::shared_layer, k).tile = 4; });
  CHECK(count(shallower, "call float @llvm.fma.f32") < count(text, "call float @llvm.fma.f32"));
  const std::string taller = text_of_module(built, [&](RKernel& kernel) {
    loop_of(kernel, ptx::grid_layer, m).tile = 64;
    kernel.layers[ptx::block_layer].units = 4;
  });
  CHECK(text.find("\"dyn.threads\"=\"64\"") != std::string::npos);
  CHECK(taller.find("\"dyn.threads\"=\"128\"") != std::string::npos);
}

TEST_CASE("what is wrong with a GPU's tree is said, and stops its emission") {
  const BuiltMatmul built = built_with(small_cuda_tile());
  const int m = built.problem.contraction->m, k = built.problem.contraction->k;
  const auto broken = [&](const auto& change) {
    RKernel kernel = tree(built);
    change(kernel);
    return rkernel::illegalities(kernel, ptx::architecture_limits());
  };
  CHECK(mentions(broken([&](RKernel& kernel) { loop_of(kernel, ptx::grid_layer, m).tile = 64; }),
                 "layer block has 4 parallel iterations for 2 units"));
  CHECK(mentions(broken([&](RKernel& kernel) { loop_of(kernel, ptx::block_layer, m).tile = 32; }),
                 "layer warp has 64 parallel iterations for 32 units"));
  CHECK(
      mentions(broken([&](RKernel& kernel) { loop_of(kernel, ptx::shared_layer, k).tile = 1024; }),
               "the stages need 524288 bytes of 232448"));
  CHECK(mentions(broken([&](RKernel& kernel) { kernel.layers[ptx::block_layer].units = 64; }),
                 "2048 threads of 1024"));
  CHECK(mentions(broken([&](RKernel& kernel) { loop_of(kernel, ptx::grid_layer, m).tile = 1024; }),
                 "512 outputs of one thread need 544 registers of 255"));
  CHECK(mentions(broken([&](RKernel& kernel) {
                   loop_of(kernel, ptx::shared_layer, k).kind = rkernel::LoopKind::Parallel;
                 }),
                 "in parallel"));
  CHECK(mentions(
      broken([&](RKernel& kernel) { kernel.layers[ptx::shared_layer].moves[0].stages = 0; }),
      "a move of 0 stages"));
  CHECK_THROWS_WITH_AS(
      text_of_module(built,
                     [&](RKernel& kernel) { loop_of(kernel, ptx::grid_layer, m).tile = 33; }),
      doctest::Contains("is not legal"), dyn::Error);
  const auto one_stage = [](RKernel& kernel) {
    for (rkernel::Move& move : kernel.layers[ptx::shared_layer].moves) move.stages = 1;
  };
  CHECK_THROWS_WITH_AS(text_of_module(built, one_stage),
                       doctest::Contains("a pipeline of 1 stages, 2 at least"), dyn::Error);
  const auto other_form = [](RKernel& kernel) {
    kernel.layers[ptx::shared_layer].moves[0].form = rkernel::MoveForm::Swizzled;
  };
  CHECK_THROWS_WITH_AS(text_of_module(built, other_form),
                       doctest::Contains("in another form than its leaf reads"), dyn::Error);
}
