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

/// One random case.
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
  bool fixed_weights = false;  ///< n and k of a packed B are known at load
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

/// The kernel of a draft, with its code.
std::unique_ptr<ContractionKernel> compiled(ContractionKernel::Draft draft,
                                            codegen::CodeStore& store);

/// Main loops of an ISA by the dtype of packed weights, for those dtypes that it can widen.
MainLoopTable loops_for(const codegen::Isa& isa, codegen::CodeStore& store, DType weights);
ContractionLoops all_loops(const codegen::Isa& isa, codegen::CodeStore& store);
std::vector<DType> weight_dtypes(const codegen::Isa& isa);

/// The largest error, of the chosen strategy and of `random_strategies` others that could be
/// chosen, over the bound K * eps * (|A| |B|) + eps * |rest|; more than 1 is a defect. Where
/// weights are narrow, the result is compared twice: with B as rounded, and with the weights as
/// they were, whose bound grows by |A| times the rounding. Writes outside of the output count as
/// infinite.
double run_case(const Case& c, const codegen::Isa& isa, codegen::CodeStore& store,
                std::mt19937_64& random, int threads, int random_strategies);

/// The same for `count` random programs for each pattern of regions, whose regions have random cuts
/// and random strategies that fit one kernel. Checks that every element of the output is written.
double run_programs(const Case& c, const codegen::Isa& isa, codegen::CodeStore& store,
                    std::mt19937_64& random, int threads, int count);

/// The same for all choices for `threads` threads that `wanted` accepts.
double run_choices(const Case& c, const codegen::Isa& isa, codegen::CodeStore& store,
                   std::mt19937_64& random, int threads,
                   const std::function<bool(const choice::Choice&)>& wanted);

/// The same for the vendor's launch, described by `words`; where there is none, for dyn's choice,
/// and `words` is the reason.
double run_vendor(const Case& c, const codegen::Isa& isa, codegen::CodeStore& store,
                  std::mt19937_64& random, int threads, std::string& words);
/// The same for all candidates that a policy has in this context, or for `most` of them, among them
/// the first, the last and the chosen one; 0 where it has none. `ran`, where given, grows by their
/// number.
double run_candidates(const Case& c, const std::shared_ptr<const ContractionContext>& context,
                      codegen::CodeStore& store, std::mt19937_64& random, int threads,
                      rkernel::Policy policy, std::size_t most, std::size_t* ran = nullptr);

/// The same for `count` random points of the kernel's space of programs; `distinct`, where given,
/// grows by the number of different programs.
double run_space(const Case& c, const codegen::Isa& isa, codegen::CodeStore& store,
                 std::mt19937_64& random, int threads, int count, std::size_t* distinct = nullptr);

/// The choice of a context's policy for a case.
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

/// True where all choices that leave K whole, `most` of them, and the plan of each of a few rows
/// alone, give the same bits. `ran` grows by the number of launches.
bool same_bits(const Case& c, const codegen::Isa& isa, codegen::CodeStore& store,
               std::mt19937_64& random, int threads, std::size_t most, std::size_t& ran);

}  // namespace dyn::cpu::testing
