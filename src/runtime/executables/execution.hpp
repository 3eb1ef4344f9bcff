#pragma once
// One caller's runs of an executable.

#include <memory>

#include "src/rkernel/target/device.hpp"
#include "src/runtime/plan/plan.hpp"
#include "src/runtime/run/run_request.hpp"

namespace dyn::runtime {

/// Made by an Executable for the ports and the session of one caller. Not thread-safe.
class Execution {
 public:
  virtual ~Execution() = default;

  /// Runs on the tensors of the ports, and leaves the outputs there. At a shape seen before a run
  /// by a plan allocates nothing. Throws Error(cancelled) where the request's control ends it.
  virtual void run(const RunRequest& request) = 0;

  /// Where all runs on the device go from now on, and which is the device's; nullptr: to streams of
  /// their own. Runs on the former one are waited for, and throw what they reported.
  virtual void set_stream(std::shared_ptr<rkernel::Stream>) {}
  /// Waits for runs that returned while the device worked; throws what they reported.
  virtual void wait() {}
  /// There are such runs.
  virtual bool in_flight() const { return false; }

  /// Runs by this plan for as long as shapes are those that it was made for. All inputs are bound.
  /// Throws Error(user) where they have other shapes, or no plan covers a whole run.
  virtual void use_plan(PlanPtr plan) = 0;

  /// The plan of the last run; nullptr where no plan covered it, or there was none.
  virtual PlanPtr plan() const = 0;
};

}  // namespace dyn::runtime
