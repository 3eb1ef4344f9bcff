#pragma once
// The runtime's interface to a machine. rkernel and runtime know a machine only through these.

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dyn/error.hpp"
#include "graph/fusion/group.hpp"
#include "src/rkernel/problem/packed_layout.hpp"
#include "src/rkernel/problem/problem.hpp"
#include "src/rkernel/target/device.hpp"
#include "src/rkernel/target/policy.hpp"
#include "src/rkernel/target/unused_lanes.hpp"

namespace dyn::rkernel {

/// Codes that a kernel may leave in KernelArgs::status (the first one stays).
enum class Status : std::int32_t {
  Ok = 0,
  IndexOutOfRange = 1,
  OutOfMemory = 3,
  LibraryFailed = 2,  ///< a vendor's library failed, or there was no memory for it
};

/// The argument block of every generated kernel. Read-only during a run, shared by all threads.
struct KernelArgs {
  void* const* pointers;     ///< one for each operand of the problem
  const std::int64_t* ints;  ///< sizes, strides, offsets and strategy, as the kernel's slots say
  std::atomic<std::int32_t>* status;
  void* shared =
      nullptr;  ///< Launch::shared_bytes bytes, 64-byte aligned, of all threads of the run
  const void* kept = nullptr;  ///< Launch::kept; generated code knows nothing of it
};

/// Executes tickets [first, first + count) of the launch. `scratch`: Launch::scratch_bytes bytes,
/// 64-byte aligned, of the calling thread alone; contents undefined.
using KernelFunction = void (*)(const KernelArgs* args, std::int64_t first, std::int64_t count,
                                void* scratch);

/// The launch of a kernel in Space::Device; KernelFunction, grain, scratch and threads of its
/// Launch mean nothing.
struct Grid {
  const void* function = nullptr;  ///< the target's handle; Target::load() gives the device's
  std::int64_t blocks = 0;
  int threads = 0;       ///< of one block
  int shared_bytes = 0;  ///< of one block
};

/// A problem at one shape, ready to run: immutable, kept in plans.
struct Launch {
  Grid grid;  ///< for a kernel in Space::Device
  KernelFunction function = nullptr;
  std::int64_t tickets = 0;       ///< independent units of work; 0: nothing to do
  std::int64_t grain = 1;         ///< tickets that one thread takes at a time
  std::size_t scratch_bytes = 0;  ///< per thread
  /// A second stage, where there is one: its tickets begin when all of the first stage are done.
  /// The first stage leaves its results for it (partial sums of a split reduction) in
  /// `KernelArgs::shared`; nothing else may be kept there.
  KernelFunction merge = nullptr;
  std::int64_t merge_tickets = 0;
  std::int64_t merge_grain = 1;  ///< tickets of the second stage that one thread takes at a time
  std::size_t shared_bytes = 0;  ///< per run; contents undefined when the first stage begins, but
                                 ///< for a device's counters (counter_bytes)
  int threads = 1;               ///< how many threads are worth it
  double predicted_seconds = 0;
  UnusedLanes unused_lanes;  ///< of the contraction's program
  double flops =
      0;  ///< multiply-adds count as two: 2 * M * N * K * batch of the contraction; 0 for the rest
  Group group = Group::None;  ///< of what it multiplies
  double bytes = 0;           ///< compulsory traffic of all operands
  std::vector<std::int64_t> ints;
  std::shared_ptr<const void>
      kept;  ///< `function` needs it, where that is no generated code; nullptr: nothing
  std::size_t kept_bytes = 0;  ///< bytes of `kept`, roughly
};

/// Planning one launch may use these.
struct PlanRequest {
  std::span<const std::int64_t> symbols;  ///< value of each symbol of the model's DimTable
  int threads = 1;
};

/// The sizes and the program of a candidate as the target's cost model takes them, in JSON, for
/// fitting the model (src/choice/calibration).
struct ModelInput {
  std::string sizes, program;
};

/// One way to run a problem at one shape.
struct Candidate {
  std::string program;                      ///< in words: regions, tiles, blocks, moves, threads
  std::optional<double> predicted_seconds;  ///< none where the policy predicts no time
  Launch launch;
  /// Gives the target's cost model's input, written when it is asked for; empty where the target
  /// has no such model.
  std::function<ModelInput()> model_input = {};
};

/// The candidates of a policy for a problem at one shape. Candidates that differ neither in code
/// nor in partition stand there once.
struct Choices {
  std::vector<Candidate> candidates;
  std::size_t chosen = 0;   ///< index of the candidate that the policy takes, where there are any
  std::string none_reason;  ///< why there are no candidates
};

/// The generated code of one shape class, for people to read.
struct CodeListing {
  std::string name;  ///< fit for a file name, distinct within a model
  std::string text;  ///< PTX or assembly
  std::string ir;    ///< LLVM IR, before lowering
  std::string hash;  ///< hash of the IR
};

class ProgramSpace;

/// A problem with its code, or on a device with names of it: made at load, one for each problem of
/// a model. plan() is const and thread-safe, and compiles nothing.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Launch plan(const PlanRequest& request) const = 0;
  /// All candidates of a policy, for comparing policies. Oracle has those that it runs beside the
  /// programs of all others. None where the problem is neither a contraction nor attention.
  virtual Choices choices(const PlanRequest&, Policy) const {
    return {{}, 0, "there is one way to run it"};
  }
  /// Chooses by a policy and drops the result, for timing. `remembered`: through the memory of
  /// choices, where the policy has one.
  virtual void choose_only(const PlanRequest&, Policy, bool /*remembered*/) const {}
  /// The machine of its cost model, in JSON; "" where it has none.
  virtual std::string model_machine() const { return {}; }
  /// All its programs at one shape (src/rkernel/target/program_space.hpp); nullptr where there is
  /// one way to run it, or nothing to compute.
  virtual std::unique_ptr<const ProgramSpace> program_space(const PlanRequest&) const;
  /// The machine that its programs are tuned for: the CPU's or GPU's name.
  virtual std::string machine_name() const { return {}; }
  /// Candidates, cost terms and the choice, for `dynrun explain`.
  virtual std::string explain(const PlanRequest& request) const = 0;
  /// "cpu/avx512", for `inspect` and `bench`.
  virtual std::string target_name() const = 0;
  /// The rKernel tree and shape classes as text, for `inspect`.
  virtual std::string describe() const = 0;
  virtual Space space() const { return Space::Host; }
  /// One for each shape class; empty where the target keeps no text.
  virtual std::vector<CodeListing> listings() const { return {}; }
  /// Kernels with the same key have the same listings but for their names; "": like no other. Much
  /// cheaper than listings().
  virtual std::string listings_key() const { return {}; }
  /// The generated code that plan(request) launches: of both stages, and of the main loop that a
  /// tile of a contraction or attention runs in, where that is a function of its own. Generates it
  /// anew.
  virtual std::vector<CodeListing> listings_at(const PlanRequest&) const { return {}; }
};

struct CompileReport {
  /// Functions in the manifest, main loops included. What runs problems together is made when sizes
  /// are known; it counts as the functions that would run each of them alone.
  int kernels = 0;
  int compiled = 0, from_memory = 0, from_disk = 0;
  double compile_seconds = 0, measure_seconds = 0, machine_seconds = 0;
  std::vector<std::string> warnings;  ///< for Options::log, whose callee may load models itself:
                                      ///< it is called where nothing is locked
};

/// The runtime tells here about the buffers that operands name.
struct BufferFacts {
  std::function<bool(graph::ValueId)> constant;  ///< a weight or constant
  std::function<bool(graph::ValueId)>
      port;  ///< the caller's memory: an input, or what becomes an output; or a state
};

/// What a target makes of a model's problems.
struct Prepared {
  std::vector<Problem> problems;                 ///< as the kernels read them, in the given order
  std::vector<std::unique_ptr<Kernel>> kernels;  ///< one for each
  CompileReport report;
};

class Target {
 public:
  virtual ~Target() = default;
  virtual std::string name() const = 0;

  /// True where the target runs problems with an Attention; else the operator is split before it
  /// comes here.
  virtual bool fuses_attention() const { return false; }
  /// The most columns of queries with which it does so.
  virtual std::int64_t most_attention_depth() const {
    return std::numeric_limits<std::int64_t>::max();
  }
  /// The dtypes besides f32 of which it reads keys and values that lie in runs; i8 with scales.
  virtual std::vector<DType> key_dtypes() const { return {}; }
  /// The left factors of the products of integers that the target contracts (u8 or i16, by constant
  /// i8, in whole groups of four bytes); others are split before they come here. f32: none.
  virtual DType integer_factor() const { return DType::f32; }
  /// True where it contracts bf16 by constant f32, which it keeps in bf16, in whole groups.
  virtual bool multiplies_bfloats() const { return false; }
  /// True where it keeps constant f32 factors in codes of 4 bits.
  virtual bool codes_weights() const { return false; }
  /// The sizes of blocks whose codes it packs as they are.
  virtual std::span<const int> code_blocks() const { return {}; }
  /// True where its options ask for such products in place of those of f32 by constant f32.
  virtual DType products() const { return DType::f32; }
  /// Which of its kernels repay another fusion.
  virtual graph::FuseOptions fuse_options() const { return {}; }

  /// True for problems that it computes beside others, which do not depend on them, in one launch
  /// (Problem::parts) where they are neighbours in the order of a run.
  virtual bool bundles(const Problem&) const { return false; }

  /// Generates (or takes from the caches) all code that the problems can ever need, but for a
  /// device's, which load() makes; nullptr for a problem that this target cannot run. In the
  /// problems that it returns, contraction operands that are constant may be marked as
  /// Form::Packed; the runtime then packs them with pack(). The dtype of operands that are constant
  /// may be narrower there, and that of buffers that are no ports and that only its own kernels
  /// touch, alike in all problems; the runtime then keeps them so. Without problems it measures
  /// what it has to know of the machine.
  virtual Prepared prepare(std::vector<Problem> problems, const BufferFacts& buffers) = 0;

  /// Gives what the device launches (DeviceLaunch::function) for each Grid::function of this
  /// target's, in their order; nullptr for nullptr, and where there is no device. Code that is not
  /// there yet is made, once however many ask for it. Thread-safe. Throws Error(device) or
  /// Error(unsupported), naming a problem, where the device refuses code: other code can be loaded
  /// afterwards.
  virtual std::vector<const void*> load(std::span<const void* const> functions) const {
    return {functions.begin(), functions.end()};
  }

  /// The device that runs kernels of Space::Device; nullptr where there is none.
  virtual std::shared_ptr<Device> device() const { return nullptr; }

  /// Counts the functions that this process has compiled for this target so far. A run must never
  /// change it, but for load().
  virtual std::int64_t functions_compiled() const { return 0; }

  /// The panel width of the PackedLayout of operands of this dtype.
  virtual std::int64_t panel_width(DType dtype) const = 0;
  /// Counts the last columns of a k x n operand that it packs as rows too (PackedLayout::rows).
  virtual std::int64_t packed_rows(DType, [[maybe_unused]] std::int64_t k,
                                   [[maybe_unused]] std::int64_t n) const {
    return 0;
  }
  /// Names everything that the bytes of pack() depend on besides its arguments, so that they can be
  /// kept on disk; "": they must not be.
  virtual std::string packing() const { return {}; }
  /// Packs panels [first_panel, last_panel), and their scales and rows, of the source into a matrix
  /// at `destination`. Throws Error(model) for numbers that the dtype cannot hold.
  virtual void pack(const PackedLayout& layout, const MatrixElements& source,
                    std::int64_t first_panel, std::int64_t last_panel, void* destination) const = 0;
  /// The same of codes, with the blocks of the layout; a target packs such where it has chosen them
  /// for an operand (Operand::held_coding).
  virtual void pack_codes(const PackedLayout&, const CodedColumns&,
                          [[maybe_unused]] std::int64_t first_panel,
                          [[maybe_unused]] std::int64_t last_panel, void*) const {
    throw Error(ErrorKind::internal, name() + " packs no codes");
  }
};

}  // namespace dyn::rkernel
