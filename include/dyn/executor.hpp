#pragma once
// dyn::Executor: the host lends its threads.

#include <functional>

#include "dyn/export.hpp"

namespace dyn {

/// Given to graphs by Options::executor: dyn starts no thread then, for no load and no run, and
/// works on the threads that call it and in tasks that it submits here.
///
/// Nobody ever waits for a task to begin. An executor whose threads are busy, which runs tasks
/// late, or never, or destroys them, makes dyn slower and no result wrong. A run or a load that
/// wants help drops what submit() throws, and goes on alone.
class DYN_API Executor {
 public:
  Executor() = default;
  virtual ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// How many tasks run at the same time, at most, beside the threads that call dyn; 0 to 1023.
  /// Asked at a load, and expected to stay. Loads throw Error(user) for another number.
  virtual int concurrency() const = 0;

  /// Takes a task, to be run once by any thread with a stack of 2 MiB. Any number of threads call
  /// it at the same time, also from within tasks. A task throws nothing, and ends by itself: one
  /// that helps runs 50 us after it has found nothing to do, one of Graph::run_async with its run.
  /// A task that runs within this call does nothing for runs and loads.
  virtual void submit(std::function<void()> task) = 0;
};

}  // namespace dyn
