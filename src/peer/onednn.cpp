// oneDNN as a backend: maps each operator to a primitive.

#include "src/peer/onednn.hpp"

#include <sched.h>

#include <utility>
#include <vector>

namespace dyn::peer {
namespace {

/// A runtime that is not OpenMP's has as many threads as the process has CPUs.
void use_only_cpus(int count) {
  cpu_set_t usable, chosen;
  CPU_ZERO(&chosen);
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&chosen) < count; ++cpu) {
    if (CPU_ISSET(cpu, &usable)) CPU_SET(cpu, &chosen);
  }
  sched_setaffinity(0, sizeof chosen, &chosen);
}

class OneDnn : public Backend {
 public:
  OneDnn(Library library, int threads) : dnnl_(std::move(library)) {
    if (dnnl_.runtime() != Runtime::OpenMP) use_only_cpus(threads);
  }

  std::string version() const override { return dnnl_.version(); }

  std::unique_ptr<Runner> prepare(const Problem& problem) override {
    return problem.op == "matmul" ? prepare_matmul(dnnl_, problem) : prepare_other(dnnl_, problem);
  }

 private:
  Dnnl dnnl_;
};

}  // namespace

Memory make_memory(const Dnnl& dnnl, const MemoryDesc& desc, Buffer buffer) {
  void* data = buffer.data();
  return {std::move(buffer), dnnl.memory(desc, data)};
}

Memory make_memory(const Dnnl& dnnl, const MemoryDesc& desc) {
  return make_memory(dnnl, desc, Buffer(dnnl.bytes(desc)));
}

void PrimitiveRunner::run() {
  for (const Copy& copy : copies_) dnnl_.execute(primitive_, copy.arguments, stream_);
}

void PrimitiveRunner::Copy::add(int argument, Memory memory) {
  arguments.push_back({argument, memory.handle.get()});
  memories.push_back(std::move(memory));
}

std::unique_ptr<Backend> open_onednn(Library library, int threads) {
  return std::make_unique<OneDnn>(std::move(library), threads);
}

}  // namespace dyn::peer
