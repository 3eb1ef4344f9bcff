#pragma once
// Everything that an embedder may decide. Every default is meant to be a good one.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dyn/allocator.hpp"
#include "dyn/executor.hpp"
#include "dyn/operator_set.hpp"
#include "dyn/tensor.hpp"

namespace dyn {

/// debug: what each stage of a load took; info: one line a load, and what is done anew that was
/// kept; warning: what works, but not as well as it should.
enum class LogLevel { debug, info, warning };

/// How far a load is in one of its stages: "parse"; "compile", in kernels; "weights", in bytes. A
/// model in parts has the stages for each of them.
struct LoadProgress {
  std::string_view stage;
  std::int64_t done = 0, total = 0;
};

struct Options {
  /// Threads for one run, the caller's included. 0: as many as the process's affinity and cgroup
  /// quota allow.
  int threads = 0;

  /// The host's threads, in place of any of dyn's own (dyn/executor.hpp): `threads` is one more
  /// than its concurrency() where it is 0. A thread that loads then has a stack of 2 MiB or more
  /// left, as none is started that would have it: Error(user). nullptr: dyn starts what it needs.
  std::shared_ptr<Executor> executor;

  /// Where generated code, machine measurements and prepacked weights are kept. Empty:
  /// $DYN_CACHE_DIR, else $XDG_CACHE_HOME/dyn, else $HOME/.cache/dyn. "none": keep nothing on disk.
  /// A directory that another user owns or may write to is not used, as code from there is
  /// executed.
  std::string cache_dir;

  /// "cpu"; "cuda" (an NVIDIA GPU of compute capability 8.0 or more, through its driver);
  /// "emulator" (GPU kernels executed on the host with every access checked: slow, for tests); or
  /// "reference" (plain loops, for tests).
  std::string device = "cpu";

  /// With "cuda" and "emulator": the GPU. Empty: the first one there is; a number: that one by
  /// index; a name ("a100", "h200"), or a file that ends in ".json": a described GPU, which the
  /// emulator imitates, and for which kernels can be explained without having one (docs/gpu.md).
  std::string gpu;

  /// Matmuls and convolutions multiply in this; sums are always f32, or exact. With "cpu": "f32",
  /// "bf16", "f16" or "i8". "bf16": both factors of products with constant weights are rounded to
  /// bf16 where the CPU has instructions for it (AVX512-BF16); elsewhere the weights alone are.
  /// "f16": both are rounded to f16, and multiplied as f32, at its speed (AVX512-FP16 would add up
  /// in f16). "i8": both factors are quantised to 8 bits, symmetric around 0 and by their greatest
  /// magnitudes: each column of the weights at load (NaN and infinity there are an error; weights
  /// "i4" stay such), and each row of a matrix, or each image, when it runs; other weights are kept
  /// in "i8". Every other tensor stays f32, but with "bf16" what goes between kernels is bf16.
  /// With "cuda" and "emulator": "f32", "tf32" (f32 in memory, tensor cores of 10 bits of
  /// mantissa), "f16" or "bf16"; weights and intermediate tensors between GPU kernels are kept so
  /// too. Models that are quantised already are computed in their own integers, whatever this says.
  std::string precision = "f32";

  /// With "cpu": how the constant right sides of matmuls lie in memory: "" (as `precision` says),
  /// "f32", "bf16", "f16" (each half the bytes; numbers beyond 65504 become infinite in f16), "i8"
  /// (a quarter; the largest magnitude of each column is 127, NaN and infinity are an error) or
  /// "i4" (a seventh: 4 bits in groups of weight_group along the sums, each times a scale of its
  /// own). They become f32 before they are multiplied. An embedding that is also such a right side
  /// is bf16 with "i8" and "i4". "f16" is an error with ISA "sse2". With precision "bf16" and "i8"
  /// others than that and "i4" are an error; codes of 4 bits become bf16, or bytes, and the sum of
  /// each group is multiplied by its scale.
  std::string weights;

  /// With weights "i4": how many share a scale: 16, 32, 64, 128 or 256. With fewer the model is
  /// closer to what it was, and larger.
  int weight_group = 32;

  /// The instruction set to generate for: "" (the best that the CPU has), "avx512", "avx2" or
  /// "sse2". One that the CPU lacks is an error.
  std::string isa;

  /// Bytes of prepacked weights kept in the cache directory, in all; 0: none. A model's weights are
  /// written there after its first load and mapped by later ones, which neither pack nor read the
  /// weights files, and share them with all processes that load the model. Beyond the limit,
  /// weights of the models that were used least recently are removed. Weights from memory, those
  /// of a Reader without an identity, random weights and less than 1 MiB are not kept.
  std::size_t weight_cache_bytes = std::size_t{8} << 30;

  /// On the CPU: the bits of a result depend on the inputs, their sizes and the instruction set
  /// alone, not on the number of threads or on what was measured of the machine. Otherwise long
  /// sums may be cut in as many slices as there are threads to add them up. Costs speed where
  /// outputs are few.
  bool deterministic = false;

  /// A division of integers by 0, and a region of RoiAlign that is not finite, are Error(user) of
  /// the run, which names the group of operators, instead of numbers.
  bool strict = false;

  /// Who chooses how a matmul of given sizes runs: "dyn", or for comparing one of the published
  /// methods "vortex", "mikpoly", "ftuner", "tscompiler", "dietcode", or such a method with a part
  /// left out ("vortex-static1", "vortex-static2", "vortex-analytical", "vortex-empirical",
  /// "mikpoly-wave", "mikpoly-pipe", "dietcode-padding", "dietcode-partition";
  /// docs/selection.md); "vendor" (oneDNN where it is installed and
  /// can do it, else as "dyn"); or "oracle", which runs every program of all of them when it meets
  /// new shapes, and keeps the fastest: slow, and on the CPU only.
  std::string policy = "dyn";

  /// With "cpu" and policy "dyn": matmuls of f32 also go to oneDNN, where it is installed and
  /// predicted to be clearly faster at the sizes of a run. Opens the library at load, which brings
  /// its OpenMP runtime into the process, and measures each version of it once (kept in the cache
  /// directory; docs/selection.md has the times). It starts no threads. Bits of a result may differ
  /// from those of the same row in another batch, as another library may have computed it, and with
  /// oneDNN's version. Without effect where `deterministic` is set, or where there is no oneDNN.
  bool vendor = false;

  /// A file of `dynrun tune`, whose programs policy "dyn" takes at exactly the problems that they
  /// were tuned for: the same sizes, operands, memories, threads and epilogue. Empty: none. Other
  /// problems, and times of choosing and loading beside reading the file, are as without it.
  /// Policies "tscompiler" and "dietcode", and "dietcode-padding" and "dietcode-partition", choose
  /// from the file's micro-kernels for as many threads (on a GPU for any, in the same precision),
  /// whatever the problem. Error(device) where it cannot be read. Error(user) where it is broken,
  /// where it was made on another machine, by another version of dyn or for a model of another
  /// name, where it has nothing for the policy, and with other policies, but "oracle", which has
  /// what was tuned among what it compares.
  std::string tuning;

  /// For an ONNX model: values of inputs, by name, that are known at load. They are used only where
  /// they decide the structure of the model, such as the axes of a reduction or the shape of a
  /// reshape; a run must give the same values. A model whose structure is not decided at load is
  /// compiled at its first run, and again for other values; `structures` such versions are kept,
  /// and beyond that the least recently used are dropped. The same holds for a model whose
  /// structure sizes of 1, conditions on sizes, ranks of inputs without a shape, or several sizes
  /// of dims with one name change (docs/onnx.md).
  std::map<std::string, Tensor> known_inputs;
  int structures = 16;

  /// A loop whose number of steps a run decides is an Error(user) of the run beyond so many steps:
  /// its condition may never end it.
  std::int64_t max_loop_steps = 100'000'000;

  /// Bytes of memory kept between runs for plans; the least recently used are dropped beyond it.
  std::size_t plan_cache_bytes = std::size_t{64} << 20;

  /// Where the host's memory for weights, for what runs work in, and for the outputs that a run
  /// allocates comes from (dyn/allocator.hpp). nullptr: the system. Not asked for weights that are
  /// mapped from the cache directory (weight_cache_bytes 0: none is), nor for a session's states
  /// and what a GPU's driver copies to and from.
  std::shared_ptr<Allocator> allocator;

  /// The most bytes of the host's memory for the graph's weights, for what its runs work in, those
  /// that are over included, and for the outputs that a run allocates; 0: no limit. Looked at
  /// before anything is allocated: weights by a load, runs by their plan. Beyond it: Error(device),
  /// which says what needs how much; so does a run for which runs in flight leave no room. Not
  /// counted are plans, code, and what loading takes for a while. Error(user) of a load: it is
  /// negative.
  std::int64_t memory_budget = 0;

  /// With "cuda" and "emulator": the most bytes that all runs of the graph together hold in the
  /// device's memory; 0: no limit. Counted are intermediate tensors, sums of tiles that blocks
  /// share, and tables of addresses, sizes and statuses: of runs in flight, and of those that are
  /// over, whose memory is kept for the next. Not counted are weights, states of sessions, tensors
  /// that callers have there, code, and what the driver keeps. A run that alone needs more is an
  /// Error(device). One that needs more than is left takes it from runs that are over, then waits
  /// for others, in the order in which they came. A run left on a stream (Call::set_stream) is over
  /// when its work is: others may wait for this work, so nothing that the stream waits for may need
  /// one of their results. While anybody waits, every run ends before it returns.
  std::size_t device_memory = 0;

  /// Replaces all weights by seeded normal ones, 1/sqrt(fan-in); no weights file is read.
  bool random_weights = false;
  std::uint64_t seed = 0;

  /// For an ONNX file: words that replace the dims of an input, by the input's name; one word for
  /// each dim. A name frees the dim, whether the file fixes it, names it otherwise or leaves it
  /// without a name, and is the same dim wherever it stands; "_" frees one without a name; a
  /// number, which must be the file's, keeps it. An input for which the file has no shape gets its
  /// rank by that, and any number is a size of it. {{"data", {"N", "3", "H", "W"}}} is any batch of
  /// images of any size. Shapes that the file holds as numbers follow (docs/onnx.md); where they
  /// cannot, that is an Error(unsupported) with operator, node and reason. Error(user): no such
  /// input, another number of dims or another size, and a model that is no ONNX file.
  std::map<std::string, std::vector<std::string>> free_dims;

  /// The program's operators (dyn/operator.hpp), and those of plug-ins (dyn/plugin.h): paths of
  /// shared objects, each loaded when a model is and kept as long as it. Error(user) where two
  /// operators have one name.
  Operators operators;
  std::vector<std::string> plugins;

  /// Writes /tmp/perf-PID.map for Linux perf.
  bool perf_map = false;
  /// Registers generated code with GDB.
  bool debugger = false;

  /// Hears how far a load is, in the thread that loads: when a stage begins, and between kernels
  /// and weights. False ends the load with Error(cancelled); what it throws comes out of the load.
  /// A run that compiles a structure of the model is a load, too.
  std::function<bool(const LoadProgress&)> progress;

  /// Receives log lines; may be called from any thread. Nothing is printed without it.
  std::function<void(LogLevel, std::string_view)> log;
};

}  // namespace dyn
