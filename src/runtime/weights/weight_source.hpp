#pragma once
// Where the elements of weights come from: files, a splat, or a seed. Checks every weight's
// declaration.

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "dyn/options.hpp"
#include "graph/ir/module.hpp"
#include "src/runtime/load/load_request.hpp"
#include "src/runtime/weights/random_weights.hpp"
#include "src/runtime/weights/safetensors.hpp"

namespace dyn::runtime {

/// The constant shape of a weight. Throws Error(model) where a dim is a symbol.
Shape weight_shape(const graph::Value& weight);

/// Writes the one element of a constant.
void store_constant(const graph::Value& value, void* out);

class WeightSources {
 public:
  /// Opens the files that are needed and checks all weights of the module. Throws Error(model)
  /// naming key and file for one that is missing, ambiguous, or of another dtype or shape than
  /// declared; Error(device) for a file that cannot be read.
  WeightSources(const graph::Module& module, const LoadRequest& request, const Options& options);

  /// The bytes in the file (perhaps unaligned); empty where the weight is not from a file.
  std::span<const std::byte> file_bytes(graph::ValueId weight) const;
  /// Is it made by a generator of random numbers? One of parts: are they all?
  bool is_random(graph::ValueId weight) const;

  /// Are all weights copies of files, or splats, so that the known state of the files says what
  /// they are?
  bool only_files() const;
  const std::deque<Safetensors>& files() const noexcept { return files_; }
  /// Reads the data of files that the host reads, before anything asks for elements of them.
  void read_data() const;
  /// The value of a splat; 0 for others.
  double splat(graph::ValueId weight) const;

  /// All elements in f32, of a weight that has such or halves.
  std::vector<float> floats(graph::ValueId weight) const;

  /// Nobody reads the weight from here again: gives its memory back, where the caller gave it.
  void release(graph::ValueId weight) const;

  /// Elements [first, first + count) of the weight, dense row-major, to `out`. Thread-safe.
  void fill(graph::ValueId weight, std::int64_t first, std::int64_t count, void* out) const;

 private:
  struct Entry {
    graph::WeightSource::Kind kind = graph::WeightSource::Kind::File;
    std::span<const std::byte> bytes;
    bool is_given = false;  ///< nobody needs these bytes after the load
    double splat = 0;
    std::uint64_t seed = 0;
    NormalSpread spread;
  };
  /// Elements of a part as those of a weight of `dtype`.
  void fill_part(graph::ValueId part, DType dtype, std::int64_t first, std::int64_t count,
                 std::byte* out) const;
  void fill_from_blocks(const graph::Value& weight, std::int64_t first, std::int64_t count,
                        float* out) const;
  void fill_padded(const graph::Value& weight, std::int64_t first, std::int64_t count,
                   std::byte* out) const;
  void fill_from_parts(const graph::Value& weight, std::int64_t first, std::int64_t count,
                       std::byte* out) const;
  /// How the columns of an f32 weight are quantised.
  struct Columns {
    std::vector<float> scales;
    std::vector<std::int32_t> sums;
  };
  /// Made when it is first asked for. Throws Error(model) where an element is not finite.
  const Columns& columns_of(const graph::Value& quantised) const;
  Columns made_columns(const graph::Value& quantised) const;
  void fill_quantised(const graph::Value& weight, std::int64_t first, std::int64_t count,
                      void* out) const;
  void open_files(const graph::Module& module, const LoadRequest& request);
  Entry make_entry(const graph::Value& weight, const Options& options) const;
  void find_in_files(const graph::Value& weight, const Shape& shape, Entry& entry) const;

  const graph::Module& module_;
  bool gives_files_;
  std::deque<Safetensors> files_;
  std::map<graph::ValueId, Entry> entries_;
  mutable std::mutex mutex_;  ///< of the columns
  /// By what is quantised, the length of its columns where they lie so, and their number.
  mutable std::map<std::tuple<graph::ValueId, std::int64_t, std::int64_t>, Columns> columns_;
};

}  // namespace dyn::runtime
