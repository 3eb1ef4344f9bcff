#include <algorithm>
#include <utility>

#include "src/tune/pools/block_space.hpp"
#include "src/tune/pools/kernel_features.hpp"
#include "src/tune/pools/pool_machine.hpp"

namespace dyn::tune {
namespace {

using choice::block_of;
using choice::BlockKernel;
using choice::Machine;
using choice::numbers_of;

std::vector<BlockKernel> blocks_of_numbers(const std::vector<choice::PoolKernel>& kernels) {
  std::vector<BlockKernel> blocks;
  for (const choice::PoolKernel& kernel : kernels) blocks.push_back(block_of(kernel));
  return blocks;
}

std::vector<choice::PoolKernel> numbers_of_blocks(const std::vector<BlockKernel>& blocks) {
  std::vector<choice::PoolKernel> kernels;
  for (const BlockKernel& block : blocks) kernels.push_back(numbers_of(block));
  return kernels;
}

class CpuPoolMachine final : public PoolMachine {
 public:
  explicit CpuPoolMachine(Machine machine) : machine_(std::move(machine)) {}

  int units() const override { return machine_.threads; }
  choice::MicroKernel block(const Kernel& kernel) const override {
    const BlockKernel block = block_of(kernel);
    return {block.rows, block.columns, block.depth};
  }
  std::int64_t blocks_per_wave(const Kernel&) const override { return machine_.threads; }
  double seconds_per_wave() const override { return machine_.seconds_per_ticket; }
  double most_multiply_adds_per_second() const override {
    double fastest = 0;
    for (const choice::TileSpeed& tile : machine_.tiles)
      fastest =
          std::max(fastest, static_cast<double>(tile.rows * tile.columns) / tile.seconds_per_k);
    return fastest * machine_.threads;
  }

  Space space(const std::vector<Kernel>& seeds) const override {
    return block_space(machine_, blocks_of_numbers(seeds));
  }
  Kernel kernel_at(const Values& values) const override { return numbers_of(block_at(values)); }
  std::vector<Kernel> aligned() const override {
    return numbers_of_blocks(aligned_blocks(machine_));
  }

  std::optional<Kernel> random_kernel(std::mt19937_64& random) const override {
    const std::optional<BlockKernel> block = choice::random_dietcode_kernel(machine_, random);
    return block ? std::optional(numbers_of(*block)) : std::nullopt;
  }
  std::vector<float> features(const Kernel& kernel) const override {
    return kernel_features(machine_, block_of(kernel));
  }
  std::vector<Kernel> evolved(const std::vector<choice::ProductShape>& shapes, const Speed& speed,
                              const choice::DietCodeSearch& search,
                              const std::vector<Kernel>& first) const override {
    const choice::KernelSpeed of_block = [&](const BlockKernel& block) {
      return speed(numbers_of(block));
    };
    return numbers_of_blocks(
        choice::evolved_kernels(machine_, shapes, of_block, search, blocks_of_numbers(first))
            .kernels);
  }

 private:
  const Machine machine_;
};

}  // namespace

std::shared_ptr<const PoolMachine> pool_machine(Machine machine) {
  return std::make_shared<const CpuPoolMachine>(std::move(machine));
}

}  // namespace dyn::tune
