#pragma once
// Contexts in which every policy is ready, without measuring blocks.

#include <memory>
#include <vector>

#include "src/rkernel/target/policy.hpp"
#include "targets/cpu/contraction/context.hpp"
#include "targets/llvm/jit/jit.hpp"

namespace dyn::cpu::testing {

/// Speeds of a policy's blocks, derived from the machine's tiles, a little slower together.
std::vector<BlockSpeed> made_up_speeds(const choice::Machine& machine, rkernel::Policy policy);

struct ContextOptions {
  int threads = 2;  ///< of the machine
  rkernel::Policy policy = rkernel::Policy::Oracle;
  bool deterministic = false;
  std::shared_ptr<const ContractionLibrary> library = no_library();
  std::shared_ptr<const rkernel::Tuning> tuning = nullptr;
};

/// The process's figures of this machine (context_for), as if it had these threads. Weights of
/// every dtype that the ISA can widen.
std::shared_ptr<const ContractionContext> policy_context(const codegen::Isa& isa,
                                                         codegen::CodeStore& store,
                                                         const ContextOptions& options);

}  // namespace dyn::cpu::testing
