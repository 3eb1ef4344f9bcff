// No load of a fragment and no copy to a tile uses a bank of shared memory twice. Addresses are
// those of the generated code: its arithmetic, folded for each lane.

#include <doctest/doctest.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/Instructions.h>

#include <array>
#include <map>

#include "dyn/error.hpp"
#include "targets/ptx/tile/tree.hpp"
#include "tests/unit/ptx/ir/device_kernels.hpp"
#include "tests/unit/ptx/tile/tensor_core_kernel.hpp"

using namespace dyn;
using namespace dyn::test;
using dyn::choice::GpuTile;
using ptx::BOrder;
using ptx::SharedTile;

namespace {

constexpr int warp_lanes = 32, bank_bytes = 4, banks = 32, all_banks_bytes = bank_bytes * banks;

/// The hardware's extra passes over all banks, beyond the one that `accesses` of `bytes` each need
/// without conflicts. Accesses to one word count as one.
int extra_passes(const std::vector<std::int64_t>& accesses, int bytes) {
  std::array<std::map<std::int64_t, int>, banks> rows;
  for (const std::int64_t address : accesses) {
    for (int byte = 0; byte < bytes; byte += bank_bytes)
      ++rows[static_cast<std::size_t>((address + byte) % all_banks_bytes / bank_bytes)]
            [address + byte];
  }
  std::size_t most = 1;
  for (const auto& bank : rows) most = std::max(most, bank.size());
  return static_cast<int>(most) - 1;
}

/// Addresses of every load from shared memory, in order, for one thread; for ldmatrix the address
/// of the row that its lane names.
struct Loads {
  std::vector<std::int64_t> addresses;
  std::vector<int> bytes;
  std::vector<int> naming;  ///< lanes that name an address  ///< 16: ldmatrix; 4: a word
};

Loads loads_of(const GpuTile& tile, BOrder order, int thread) {
  llvm::LLVMContext context;
  const TensorCoreTree tree(tile);
  const auto leaf = ptx::make_tensor_core_leaf(tree.kernel, order);
  const auto module = device_kernel(context, [&](const KernelBody& body) {
    codegen::Builder& builder = body.builder;
    leaf->prepare(builder);
    llvm::Value* shared = ptx::call(builder, ptx::Op::Shared);
    llvm::Value* b =
        builder.CreateGEP(builder.getInt8Ty(), shared,
                          builder.getInt32(static_cast<std::uint32_t>(leaf->a_tile().bytes())));
    leaf->multiply(builder, shared, b, leaf->zeros(builder));
  });
  Loads loads;
  const auto add = [&](const llvm::Value* pointer, int bytes) {
    llvm::APInt offset(64, 0);
    const llvm::Value* base =
        pointer->stripAndAccumulateConstantOffsets(module->getDataLayout(), offset, true);
    REQUIRE(llvm::isa<llvm::CallInst>(base));
    loads.addresses.push_back(offset.getSExtValue());
    loads.bytes.push_back(bytes);
    loads.naming.push_back(warp_lanes);
  };
  for (llvm::Instruction& instruction : module->getFunction("kernel")->getEntryBlock()) {
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
      const llvm::StringRef name = call->getCalledFunction()->getName();
      if (name == "dyn.dev.tid")
        call->replaceAllUsesWith(
            llvm::ConstantInt::get(call->getType(), static_cast<std::uint64_t>(thread)));
      if (name.contains("ldmatrix")) {
        add(call->getArgOperand(0), 16);
        if (name.contains("x2")) loads.naming.back() = 16;
      }
    } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      add(load->getPointerOperand(), 4);
    } else if (llvm::Constant* folded =
                   llvm::ConstantFoldInstruction(&instruction, module->getDataLayout())) {
      instruction.replaceAllUsesWith(folded);
    }
  }
  return loads;
}

/// Conflicts of one warp, over all its loads.
struct Passes {
  int needed = 0, extra = 0;
};

Passes passes_of(const GpuTile& tile, BOrder order, int warp) {
  std::vector<Loads> lanes;
  for (int lane = 0; lane < warp_lanes; ++lane)
    lanes.push_back(loads_of(tile, order, warp * warp_lanes + lane));
  Passes passes;
  for (std::size_t load = 0; load < lanes[0].addresses.size(); ++load) {
    // ldmatrix: 8 lanes name the rows of one matrix, and each matrix is one pass. Words: all lanes
    // at once.
    const int together = lanes[0].bytes[load] == 16 ? 8 : warp_lanes;
    for (int first = 0; first < lanes[0].naming[load]; first += together) {
      std::vector<std::int64_t> accesses;
      for (int lane = first; lane < first + together; ++lane)
        accesses.push_back(lanes[static_cast<std::size_t>(lane)].addresses[load]);
      ++passes.needed;
      passes.extra += extra_passes(accesses, lanes[0].bytes[load]);
    }
  }
  return passes;
}

}  // namespace

TEST_CASE(
    "tensor cores: a tile's swizzle is the same on the host and in device IR, and reaches every "
    "chunk once") {
  llvm::LLVMContext context;
  codegen::Builder builder(context);
  for (const int row_bytes : {32, 64, 96, 128, 256, 512}) {
    const SharedTile tile{.rows = 48, .row_bytes = row_bytes, .padding_bytes = 0, .swizzled = true};
    std::map<std::int64_t, int> reached;
    for (std::uint32_t row = 0; row < 48; ++row) {
      for (std::uint32_t chunk = 0; chunk < static_cast<std::uint32_t>(tile.chunks()); ++chunk) {
        const std::int64_t offset =
            tile.chunk_offset(static_cast<std::int64_t>(row), static_cast<std::int64_t>(chunk));
        ++reached[offset];
        auto* folded = llvm::dyn_cast<llvm::ConstantInt>(
            tile.chunk_offset(builder, builder.getInt32(row), builder.getInt32(chunk)));
        REQUIRE(folded != nullptr);
        CHECK(folded->getSExtValue() == offset);
        CHECK(offset % ptx::chunk_bytes == 0);
        CHECK(offset < tile.bytes());
      }
    }
    CHECK(reached.size() == static_cast<std::size_t>(48 * tile.chunks()));
  }
}

TEST_CASE("tensor cores: copies of 16 bytes to successive chunks meet no bank twice") {
  for (const int row_bytes : {32, 64, 96, 128, 256, 512}) {
    INFO(row_bytes);
    const SharedTile tile{.rows = 64, .row_bytes = row_bytes, .padding_bytes = 0, .swizzled = true};
    for (int first = 0; first < tile.rows * tile.chunks(); first += 8) {
      std::vector<std::int64_t> accesses;
      for (int chunk = first; chunk < first + 8; ++chunk)
        accesses.push_back(tile.chunk_offset(chunk / tile.chunks(), chunk % tile.chunks()));
      CHECK(extra_passes(accesses, ptx::chunk_bytes) == 0);
    }
  }
}

TEST_CASE("tensor cores: fragments are loaded without bank conflicts") {
  for (const GpuTile& tile : tensor_core_tiles()) {
    for (const BOrder order : b_orders) {
      INFO(name_of(tile, order));
      for (const int warp : {0, tile.warps() - 1}) {
        const Passes passes = passes_of(tile, order, warp);
        const int steps = tile.block_k * static_cast<int>(size_of(tile.operands)) / 32;
        // A: two matrices for 8 rows. B: two matrices, or two words of each lane, for 8 columns.
        CHECK(passes.needed == steps * (tile.warp_m / 8 * 2 + tile.warp_n / 8 * 2));
        CHECK(passes.extra == 0);
      }
    }
  }
}

TEST_CASE("tensor cores: a plain layout would meet banks twice") {
  const SharedTile plain{.rows = 8, .row_bytes = 64, .padding_bytes = 0, .swizzled = false};
  std::vector<std::int64_t> accesses;
  for (int row = 0; row < 8; ++row) accesses.push_back(plain.chunk_offset(row, 0));
  CHECK(extra_passes(accesses, ptx::chunk_bytes) == 3);
}

TEST_CASE("tensor cores: tiles that warps cannot hold are refused") {
  const auto message = [](const GpuTile& tile) {
    const TensorCoreTree tree(tile);
    return internal_error([&] { ptx::make_tensor_core_leaf(tree.kernel, BOrder::RowsAlongN); });
  };
  CHECK(message(tensor_core_tile(DType::bf16, 16, 32, 64, 64, 32)).empty());
  CHECK(message(tensor_core_tile(DType::bf16, 16, 32, 64, 64, 24))
            .find("block_k is a multiple of 16") != std::string::npos);
  CHECK(message(tensor_core_tile(DType::f32, 16, 32, 64, 64, 12))
            .find("block_k is a multiple of 8") != std::string::npos);
  CHECK(!message(tensor_core_tile(DType::bf16, 24, 32, 48, 64, 32)).empty());
  CHECK(!message(tensor_core_tile(DType::bf16, 16, 48, 64, 96, 32)).empty());
  CHECK(!message(tensor_core_tile(DType::bf16, 32, 32, 48, 64, 32)).empty());
  CHECK(message(tensor_core_tile(DType::i8, 16, 32, 64, 64, 48))
            .find("block_k is a multiple of 32") != std::string::npos);
  CHECK(message(tensor_core_tile(DType::i32, 16, 32, 64, 64, 32)).find("not i32") !=
        std::string::npos);
}

TEST_CASE(
    "tensor cores: factors of other dtypes than each other's are refused, bytes with and without "
    "sign are not") {
  const auto message = [](DType tile, DType left, DType right) {
    TensorCoreTree tree(tensor_core_tile(tile, 16, 32, 64, 64, 64), left, right);
    std::vector<rkernel::Move>& moves = tree.kernel.layers[ptx::shared_layer].moves;
    moves[0].dtype = left, moves[1].dtype = right;
    return internal_error([&] { ptx::make_tensor_core_leaf(tree.kernel, BOrder::RowsAlongN); });
  };
  for (const DType left : {DType::u8, DType::i8}) {
    for (const DType right : {DType::u8, DType::i8}) CHECK(message(DType::i8, left, right).empty());
    CHECK(message(DType::i8, left, DType::i16).find("not") != std::string::npos);
  }
  CHECK(message(DType::bf16, DType::f16, DType::bf16).find("not f16 by bf16") != std::string::npos);
}
