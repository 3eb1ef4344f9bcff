#pragma once
// The file of a tuner: what it found, for loading (Options::tuning), and what it tried, for going
// on. docs/tuning.md describes it for people.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/choice/policies/shared/block_kernel.hpp"
#include "src/choice/policies/shared/micro_kernels.hpp"
#include "src/rkernel/target/tuning.hpp"

namespace dyn::runtime {

/// What a search has tried of one problem at one shape.
struct TunedProblem {
  std::string name;               ///< "matmul M=1 N=768 K=768", or the model's group and its dims
  int threads = 1;                ///< of a run
  std::string sizes;              ///< JSON: the problem as the target's choices know it
  std::vector<std::string> axes;  ///< of the space that is searched
  struct Trial {
    std::vector<std::int64_t> point;  ///< a value of each axis
    double ratio = 0;                 ///< its time over that of dyn's own choice
  };
  std::vector<Trial> trials = {};
  double spent_seconds = 0;  ///< in searching
  bool scored = false;       ///< `own` and `best` were compared in runs of their own

  struct Program {
    std::string words;
    double seconds = 0;
    bool operator==(const Program&) const = default;
  };
  std::optional<Program> own = std::nullopt;  ///< dyn's own choice, once it is scored
  /// The best program of the search beside it, whether it is better or not.
  std::optional<Program> best = std::nullopt;
  /// What is loaded: `best` where it is clearly better.
  std::optional<rkernel::ModelInput> program = std::nullopt;
};

/// The micro-kernels of a policy that a search has tried, on one number of threads with operands of
/// one kind.
struct TunedKernelPool {
  rkernel::Policy policy = rkernel::Policy::TSCompiler;
  int threads = 1;  ///< 0: those of a run do not matter, on a GPU
  std::uint64_t seed = 0;
  std::vector<choice::ProductShape> shapes;      ///< that it searches for together
  std::vector<choice::PoolSpeed> measured = {};  ///< in the order in which they were tried
  std::vector<std::size_t> kept = {};            ///< what is loaded: indices in `measured`
  double of_limit = 0;  ///< geometric mean over shapes of the least time that the machine's fastest
                        ///< tile allows, over what the policy predicts with these
  double spent_seconds = 0;
  choice::BlockOperands operands = {};  ///< with which they are timed; not on a GPU
};

struct TuningFile {
  std::string version;                              ///< version of dyn and its code generator
  std::string target, machine;                      ///< as rkernel::Tuning's
  std::string times;                                ///< "measured" or "predicted"
  std::optional<std::string> model = std::nullopt;  ///< the model's name; none: single operators
  std::string method = {};                          ///< of tune::all_methods()
  std::uint64_t seed = 0;
  std::vector<TunedProblem> problems = {};
  std::vector<TunedKernelPool> pools = {};
};

/// The version that files are made and read by.
std::string tuning_version();

std::string to_json(const TuningFile& file);
/// Throws Error(user) that begins with the file's name for text that is no such file.
TuningFile tuning_file_from(const std::string& text, const std::string& name);
/// Throws Error(device) where the file cannot be read, and what tuning_file_from() throws.
TuningFile read_tuning_file(const std::string& path);

/// What a target takes of the file; nullptr for an empty path. Throws Error(user) for a file
/// of another version of dyn, and what reading throws.
std::shared_ptr<const rkernel::Tuning> load_tuning(const std::string& path);
/// The policy whose micro-kernels in a file a policy takes; nullopt for one that takes none.
std::optional<rkernel::Policy> tuned_as(rkernel::Policy policy);
/// Throws Error(user) where a file has nothing that the policy could take on so many threads (0: on
/// a GPU), but has micro-kernels for others.
void require_content(const rkernel::Tuning& tuning, rkernel::Policy policy, int threads);
/// Throws Error(user) where the file was tuned for a model of another name.
void require_same_model(const std::string& path, const std::string& model);

}  // namespace dyn::runtime
