#include "targets/host/kernel.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "targets/host/call.hpp"

namespace dyn::host {
namespace {

constexpr std::int64_t alignment = 64;

std::int64_t bytes_of(const Array& array) {
  return array.size() * static_cast<std::int64_t>(size_of(array.dtype));
}

/// An operand at one shape.
struct Part {
  Array array;                ///< without its memory
  int operand = -1;           ///< -1: a literal
  std::int64_t offset = 0;    ///< in elements
  Shape strides;              ///< in elements; empty: dense
  std::int64_t scratch = -1;  ///< where the dense copy of an operand with strides begins
  std::int64_t literal = 0;   ///< the literal's bits
};

bool is_dense(const Shape& dims, const Shape& strides) {
  std::int64_t expected = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    if (dims[d] == 0) return true;
    if (dims[d] != 1 && strides[d] != expected) return false;
    expected *= dims[d];
  }
  return true;
}

/// What the operator's Prepare makes at the first run, for all runs of the kernel.
struct Preparation {
  std::once_flag once;
  std::shared_ptr<const void> made;
};

/// Errors of functions, until the run that met one asks for it. Thread-safe.
class Failures {
 public:
  /// `run` is the address of its status.
  void keep(const void* run, std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    errors_.insert_or_assign(run, std::move(error));
  }
  std::exception_ptr take(const void* run) {
    const std::lock_guard lock(mutex_);
    const auto found = errors_.find(run);
    if (found == errors_.end()) return nullptr;
    std::exception_ptr error = std::move(found->second);
    errors_.erase(found);
    return error;
  }

 private:
  std::mutex mutex_;
  std::map<const void*, std::exception_ptr> errors_;
};

/// Everything that a run needs besides memory.
struct Planned {
  graph::Node node;
  const Operator* of_host = nullptr;
  std::vector<Part> inputs, outputs;
  std::shared_ptr<Preparation> preparation;
  std::shared_ptr<Failures> failures;
  std::int64_t rows = 0, ticket_rows = 0;  ///< 0: one ticket computes the whole
};

void gather(const Part& part, const char* from, char* to, std::size_t size) {
  const Shape &dims = part.array.dims, &strides = part.strides;
  Shape at(dims.size(), 0);
  std::int64_t place = 0;
  for (std::int64_t i = 0, count = part.array.size(); i < count; ++i) {
    std::memcpy(to + static_cast<std::size_t>(i) * size,
                from + place * static_cast<std::int64_t>(size), size);
    for (std::size_t d = dims.size(); d-- > 0;) {
      place += strides[d];
      if (++at[d] < dims[d]) break;
      place -= strides[d] * dims[d];
      at[d] = 0;
    }
  }
}

/// Rows first .. first + count - 1 of it.
Part rows_of(Part part, std::int64_t first, std::int64_t count) {
  Shape& dims = part.array.dims;
  std::int64_t stride = 1;
  for (std::size_t d = 1; d < dims.size(); ++d) stride *= dims[d];
  part.offset += first * (part.strides.empty() ? stride : part.strides[0]);
  dims[0] = count;
  return part;
}

Array placed(const Part& part, const rkernel::KernelArgs& args, char* scratch) {
  Array array = part.array;
  const std::size_t size = size_of(array.dtype);
  if (part.operand < 0) {
    array.data = const_cast<std::int64_t*>(&part.literal);
    return array;
  }
  char* memory = static_cast<char*>(args.pointers[part.operand]) +
                 part.offset * static_cast<std::int64_t>(size);
  array.data = memory;
  if (part.strides.empty()) return array;
  array.data = scratch + part.scratch;
  gather(part, memory, static_cast<char*>(array.data), size);
  return array;
}

void report(const rkernel::KernelArgs& args, rkernel::Status status) {
  auto expected = static_cast<std::int32_t>(rkernel::Status::Ok);
  args.status->compare_exchange_strong(expected, static_cast<std::int32_t>(status));
}

Outcome run_prepared(const Planned& planned, Call& call) {
  if (planned.of_host->prepare != nullptr) {
    Preparation& preparation = *planned.preparation;
    std::call_once(preparation.once, [&] { preparation.made = planned.of_host->prepare(call); });
    if (!preparation.made) return Outcome::IndexOutOfRange;
    call.kept = preparation.made;
  }
  return host::run(*planned.of_host, call);
}

/// Ticket i has the rows from i * ticket_rows on.
void run_ticket(const Planned& planned, const rkernel::KernelArgs& args, std::int64_t ticket,
                char* scratch) {
  const std::int64_t first = ticket * planned.ticket_rows,
                     count = std::min(planned.rows - first, planned.ticket_rows);
  const auto own = [&](const Part& part) {
    return placed(planned.rows > 0 ? rows_of(part, first, count) : part, args, scratch);
  };
  Call call{planned.node, {}, {}, nullptr};
  for (std::size_t i = 0; i < planned.inputs.size(); ++i)
    call.inputs.push_back(i == 0 ? own(planned.inputs[i])
                                 : placed(planned.inputs[i], args, scratch));
  for (const Part& part : planned.outputs) call.outputs.push_back(own(part));
  if (run_prepared(planned, call) == Outcome::IndexOutOfRange)
    report(args, rkernel::Status::IndexOutOfRange);
}

void run_kernel(const rkernel::KernelArgs* args, std::int64_t first, std::int64_t count,
                void* scratch) {
  const Planned& planned = *static_cast<const Planned*>(args->kept);
  const auto failed = [&] {
    planned.failures->keep(args->status, std::current_exception());
    report(*args, rkernel::Status::LibraryFailed);
  };
  try {
    for (std::int64_t ticket = first; ticket < first + count; ++ticket)
      run_ticket(planned, *args, ticket, static_cast<char*>(scratch));
  } catch (const std::bad_alloc&) {
    report(*args, rkernel::Status::OutOfMemory);
  } catch (const Error&) {
    try {
      failed();
    } catch (const std::bad_alloc&) { report(*args, rkernel::Status::OutOfMemory); }
  }
}

class HostKernel final : public FunctionKernel {
 public:
  HostKernel(const rkernel::Problem& problem, double bytes_per_second)
      : call_(*problem.host),
        operator_(find_operator(call_.node.op->id)),
        bytes_per_second_(bytes_per_second) {
    if (operator_ == nullptr)
      throw Error(ErrorKind::internal,
                  fmt::format("the host has no operator '{}'", call_.node.op->name));
  }

  rkernel::Launch plan(const rkernel::PlanRequest& request) const override {
    auto planned = std::make_shared<Planned>();
    planned->node = call_.node;
    planned->of_host = operator_;
    rkernel::Launch launch;
    std::int64_t scratch = 0;
    for (const rkernel::HostPart& part : call_.inputs)
      add(part, request.symbols, planned->inputs, scratch, launch.bytes);
    for (const rkernel::HostPart& part : call_.outputs)
      add(part, request.symbols, planned->outputs, scratch, launch.bytes);
    launch.function = run_kernel;
    launch.tickets = 1;
    launch.scratch_bytes = static_cast<std::size_t>(scratch);
    launch.predicted_seconds = launch.bytes / bytes_per_second_;
    planned->preparation = preparation_;
    planned->failures = failures_;
    if (operator_->row_seconds != nullptr) share_rows(*planned, launch, request.threads);
    launch.kept_bytes =
        sizeof(Planned) + (planned->inputs.size() + planned->outputs.size()) * sizeof(Part);
    launch.kept = std::move(planned);
    return launch;
  }

  std::string explain(const rkernel::PlanRequest& request) const override {
    const rkernel::Launch launch = plan(request);
    return fmt::format("{}{} thread{}, {:.0f} bytes, at least {:.1f} us\n", words(), launch.threads,
                       launch.threads == 1 ? "" : "s", launch.bytes,
                       launch.predicted_seconds * 1e6);
  }

  std::exception_ptr take_failure(const std::atomic<std::int32_t>* status) const override {
    return failures_->take(status);
  }

  std::string target_name() const override { return "host"; }
  std::string describe() const override {
    return words() + (operator_->row_seconds == nullptr ? "one thread\n" : "rows by threads\n");
  }

 private:
  std::string words() const {
    return fmt::format("{}: a function of the host, ", call_.node.op->name);
  }

  static void add(const rkernel::HostPart& from, std::span<const std::int64_t> symbols,
                  std::vector<Part>& parts, std::int64_t& scratch, double& bytes) {
    Part part;
    part.array.dtype = from.dtype;
    for (const graph::Dim dim : from.dims) part.array.dims.push_back(evaluate(dim, symbols));
    part.operand = from.operand;
    if (part.operand < 0) {
      std::memcpy(&part.literal, &from.literal, sizeof part.literal);
    } else {
      part.offset = evaluate(from.offset, symbols);
      for (const graph::Dim stride : from.strides)
        part.strides.push_back(evaluate(stride, symbols));
      if (is_dense(part.array.dims, part.strides)) part.strides.clear();
    }
    const std::int64_t size = bytes_of(part.array);
    bytes += static_cast<double>(size);
    if (!part.strides.empty()) {
      part.scratch = scratch;
      scratch += (size + alignment - 1) / alignment * alignment;
    }
    parts.push_back(std::move(part));
  }

  /// A thread is worth it from some time on. Four tickets each even out what others take from them.
  /// One thread has tickets, too, that are short beside what a run that ends early may go on for.
  void share_rows(Planned& planned, rkernel::Launch& launch, int threads) const {
    constexpr double thread_seconds = 50e-6;
    constexpr double most_ticket_seconds = 500e-6;
    constexpr std::int64_t tickets_of_thread = 4, row_multiple = 64;
    Call call{call_.node, {}, {}, nullptr};
    for (const Part& part : planned.inputs) call.inputs.push_back(part.array);
    for (const Part& part : planned.outputs) call.outputs.push_back(part.array);
    const double seconds = operator_->row_seconds(call);
    const std::int64_t rows = call.inputs[0].dims[0];
    launch.threads = static_cast<int>(
        std::clamp(seconds / thread_seconds, 1.0, static_cast<double>(std::max(threads, 1))));
    launch.predicted_seconds = seconds / launch.threads;
    if (launch.threads == 1 && seconds <= most_ticket_seconds) return;
    const double tickets = std::max(static_cast<double>(launch.threads * tickets_of_thread),
                                    seconds / most_ticket_seconds);
    const std::int64_t share = static_cast<std::int64_t>(static_cast<double>(rows) / tickets) + 1;
    planned.rows = rows;
    planned.ticket_rows = (share + row_multiple - 1) / row_multiple * row_multiple;
    launch.tickets = (rows + planned.ticket_rows - 1) / planned.ticket_rows;
  }

  const rkernel::HostCall call_;
  const Operator* operator_;
  const double bytes_per_second_;
  const std::shared_ptr<Preparation> preparation_ = std::make_shared<Preparation>();
  const std::shared_ptr<Failures> failures_ = std::make_shared<Failures>();
};

}  // namespace

std::unique_ptr<rkernel::Kernel> make_kernel(const rkernel::Problem& problem,
                                             double bytes_per_second) {
  return std::make_unique<HostKernel>(problem, bytes_per_second);
}

}  // namespace dyn::host
