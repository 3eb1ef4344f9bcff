#pragma once
// Small models on a fake device, and comparisons of their results with the reference.

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "src/runtime/load/model.hpp"
#include "src/runtime/run/call_state.hpp"
#include "tests/unit/runtime/device/fake_gpu_target.hpp"

namespace dyn::testing {

using ModelPtr = std::shared_ptr<const runtime::Model>;

extern const char* const
    attention_like;               ///< gathers, a layer norm, matmuls, a softmax; two outputs
extern const char* const joined;  ///< an output that several groups write parts of
/// x -> matmul_0 -> a -> matmul_1 -> b -> matmul_2 -> y, [S, 3] each: groups that stay apart.
extern const char* const chain;
/// Rows of a table of 7 x 3: ids [S] -> y [S, 3], S in 1..64.
extern const char* const gathered;

ModelPtr load_model(const std::string& text, const runtime::TargetFactory& factory,
                    const Options& options = {});
ModelPtr load_reference(const std::string& text);

/// test_seed, else a fixed one.
unsigned device_seed();

/// Random data: in [0, 7) for `ids`; floats in [-1, 1).
std::vector<Tensor> random_inputs(const runtime::Model& model,
                                  const std::map<std::string, std::int64_t>& dims,
                                  std::mt19937& random);
void set_inputs(runtime::CallState& call, const std::vector<Tensor>& inputs);
/// Random inputs of `chain` for this S, each time the same.
void set_chain(runtime::CallState& call, const runtime::Model& model, std::int64_t length);
/// The largest difference of all outputs of two calls that have run; NaN where there is one.
double difference(const runtime::Model& model, const runtime::CallState& a,
                  const runtime::CallState& b);

/// Four threads, each with calls of its own of one model at `rounds` shapes (B in 1..2, S in 1..4),
/// beside the reference. Returns how many results differed by `tolerance` or more.
int wrong_on_four_threads(const ModelPtr& model, const std::string& text, int rounds,
                          double tolerance);

inline constexpr std::uint64_t all_groups = ~std::uint64_t{0};
/// Group i runs on the device where bit i of `mask` is set.
FakeGpu with_mask(std::shared_ptr<FakeDevice> device, std::uint64_t mask);

/// A call of `chain` on a device, ready to run with S = 5.
struct ChainCall {
  explicit ChainCall(std::uint64_t mask);
  void bind(std::int64_t length);
  void check_run();

  std::mt19937 random{3};
  std::shared_ptr<FakeDevice> device = std::make_shared<FakeDevice>();
  ModelPtr model;
  runtime::CallState call, expected;
};

}  // namespace dyn::testing
