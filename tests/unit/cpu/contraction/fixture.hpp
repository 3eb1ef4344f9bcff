#pragma once
// Contractions by hand: a problem of given sizes and forms, run by the CPU target's kernel and by
// plain loops in double.

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "targets/cpu/contraction/kernel.hpp"

namespace dyn::cpu::testing {

/// What one random case is about.
struct Case {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  bool transpose_a = false, transpose_b = false;
  bool packed = true;  ///< B is constant; batch must be 1 for B
  bool bias = false, residual = false, relu = false;
  bool long_epilogue = false;  ///< -|x| of what comes before the residual, written so often that no
                               ///< tile's epilogue is inlined
  std::int64_t a_slack = 0;    ///< extra elements between rows of A
  DType weights = DType::f32;  ///< of a packed B in memory
  bool fixed_rows = false;     ///< batch and m are known at load
  bool fixed_weights = false;  ///< n and k of a packed B are
};

/// A case, for messages.
std::string words(const Case& c);

/// A problem with its own DimTable; sizes are symbols, so that nothing is known at load, unless the
/// case says so.
struct Built {
  std::unique_ptr<graph::DimTable> dims;
  rkernel::Problem problem;
  std::vector<std::int64_t> symbols;
};
Built build(const Case& c);

/// Main loops, machine and code for one ISA; measured once per process.
std::shared_ptr<const ContractionContext> context_for(const codegen::Isa& isa,
                                                      codegen::CodeStore& store,
                                                      bool with_vendor = false);

/// Main loops of an ISA by the dtype of packed weights, of those that it can widen.
MainLoopTable loops_for(const codegen::Isa& isa, codegen::CodeStore& store, DType weights);
std::vector<DType> weight_dtypes(const codegen::Isa& isa);

/// The largest error, of the chosen strategy and of `random_strategies` others that could be
/// chosen, over the bound K * eps * (|A| |B|) + eps * |rest|; more than 1 is a defect. Where
/// weights are narrow, B is what they are rounded to, and beside that the weights as they were,
/// whose bound grows by |A| times the rounding. Writes outside of the output count as infinite.
double run_case(const Case& c, const codegen::Isa& isa, codegen::CodeStore& store,
                std::mt19937_64& random, int threads, int random_strategies);

/// The same of `count` random programs for each pattern of regions, whose regions have random cuts
/// and random strategies that fit one kernel. Every element of the output is seen to be written.
double run_programs(const Case& c, const codegen::Isa& isa, codegen::CodeStore& store,
                    std::mt19937_64& random, int threads, int count);

/// The same of all choices for `threads` threads that `wanted` says.
double run_choices(const Case& c, const codegen::Isa& isa, codegen::CodeStore& store,
                   std::mt19937_64& random, int threads,
                   const std::function<bool(const choice::Choice&)>& wanted);

/// The same of the vendor's launch, whose words are `words`; where there is none, of dyn's choice,
/// and `words` is why.
double run_vendor(const Case& c, const codegen::Isa& isa, codegen::CodeStore& store,
                  std::mt19937_64& random, int threads, std::string& words);
/// The same of all candidates that a policy has in this context, or of `most` of them, among them
/// the first, the last and the chosen one; of none: 0. `ran`, where given, grows by their number.
double run_candidates(const Case& c, const std::shared_ptr<const ContractionContext>& context,
                      codegen::CodeStore& store, std::mt19937_64& random, int threads,
                      rkernel::Policy policy, std::size_t most, std::size_t* ran = nullptr);

/// What a context's policy makes of a case.
struct Planned {
  rkernel::Launch launch;
  rkernel::Choices choices;
  std::string explained;
  double error = 0;  ///< of the launch, as run_case() has it
};
Planned plan_case(const Case& c, const std::shared_ptr<const ContractionContext>& context,
                  codegen::CodeStore& store, std::mt19937_64& random, int threads);

/// Both stages of a launch, on this thread. Throws where a kernel writes beyond its scratch.
void run_stages(const rkernel::Launch& launch, std::vector<const float*> operands);

/// Whether all choices that leave K whole, `most` of them, and the plan of each of a few rows
/// alone, give the same bits. `ran` grows by the number of launches.
bool same_bits(const Case& c, const codegen::Isa& isa, codegen::CodeStore& store,
               std::mt19937_64& random, int threads, std::size_t most, std::size_t& ran);

}  // namespace dyn::cpu::testing
