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

/// The programs of one file. They are for one target of one machine.
struct Tuning {
  std::string file;             ///< for messages
  std::string target, machine;  ///< Kernel::target_name() and machine_name() of what was tuned
  std::vector<TunedProgram> programs;
};

/// Error(user) for a program of the file, counted from 1, that cannot be taken.
Error broken_program(const Tuning& tuning, std::size_t number, const std::string& why);

/// Throws Error(user) where a tuning was made for another target or machine than these.
void require_same_machine(const Tuning& tuning, const std::string& target,
                          const std::string& machine);

}  // namespace dyn::rkernel
