#pragma once
// What a tuner found, as a target takes it.

#include <string>
#include <vector>

#include "src/rkernel/target/target.hpp"

namespace dyn::rkernel {

/// A program for one problem at one shape, in the words of Candidate::model_input.
struct TunedProgram {
  ModelInput input;
  int threads = 1;  ///< PlanRequest::threads that it is for
  double seconds = 0;
};

/// The micro-kernels of a policy, which a search found for several shapes together.
struct TunedPool {
  Policy policy = Policy::Dyn;
  int threads = 1;            ///< of the machine that they were timed on; 0: a GPU's
  std::string kernels;        ///< JSON: the target's micro-kernels, with their times
  std::string shapes;         ///< JSON: [batch, m, n, k] of each
  std::string operands = {};  ///< JSON: how the operands came when timed; none on a GPU
};

/// The programs and micro-kernels of one file. They are for one target of one machine.
struct Tuning {
  std::string file;             ///< for messages
  std::string target, machine;  ///< Kernel::target_name() and machine_name() of what was tuned
  std::vector<TunedProgram> programs;
  bool has_problems = true;  ///< programs were searched, whether or not one was better
  /// At most one for each policy, number of threads and kind of operands.
  std::vector<TunedPool> pools;
};

/// Error(user) for a program of the file, counted from 1, that cannot be taken.
Error broken_program(const Tuning& tuning, std::size_t number, const std::string& why);

/// The same for micro-kernels of the file.
Error broken_pool(const Tuning& tuning, const TunedPool& pool, const std::string& why);

/// Throws Error(user) where a tuning was made for another target or machine than these.
void require_same_machine(const Tuning& tuning, const std::string& target,
                          const std::string& machine);

}  // namespace dyn::rkernel
