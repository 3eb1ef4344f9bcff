#pragma once
// Launches of a run that follow each other, replayed as one graph.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/rkernel/target/device.hpp"
#include "src/runtime/plan/wiring.hpp"

namespace dyn::runtime {

/// Graphs are kept by the kernels that they launch: at another shape of the same kernels a graph is
/// given other blocks, and finds other sizes in the tables. A graph is made when its kernels run
/// for the second time. Belongs to one DeviceRun, which must not end before the work of its graphs.
class LaunchGraphs {
 public:
  /// The least recently used are dropped beyond this number, as far as the current plan does not
  /// need them.
  static constexpr std::size_t most_kept = 16;

  explicit LaunchGraphs(rkernel::Device& device) : device_(device) {}

  /// `launches`, by group: those of the wiring's groups on the device, at one shape.
  void bind(const Wiring& wiring, std::span<const rkernel::DeviceLaunch> launches);
  /// A run begins. `one_by_one`: it uses no graphs.
  void start(bool one_by_one);
  /// The group's turn has come. True where a graph launches it, or has done so.
  bool launch(std::size_t group, rkernel::Stream& stream);

  std::size_t kept() const noexcept { return kept_.size(); }

 private:
  struct Kept {
    std::vector<const void*> functions;
    std::unique_ptr<rkernel::LaunchGraph> graph;
    int runs = 0;
    bool refused = false;  ///< by the device; asked again at the next shape
    std::uint64_t last_use = 0;
  };
  /// Launches with nothing between them.
  struct Sequence {
    std::size_t first_group = 0;
    std::vector<rkernel::DeviceLaunch> launches;
    Kept* kept = nullptr;
    bool replayed = false;  ///< in this run
  };
  void find_sequences(const Wiring& wiring, std::span<const rkernel::DeviceLaunch> launches);
  Kept& find(const Sequence& sequence);
  void drop_unused();
  bool replay(Sequence& sequence, rkernel::Stream& stream);

  rkernel::Device& device_;
  std::vector<std::unique_ptr<Kept>> kept_;
  std::vector<Sequence> sequences_;
  std::vector<int> sequence_of_;  ///< by group; -1: none
  std::uint64_t uses_ = 0;
  bool one_by_one_ = false;
};

}  // namespace dyn::runtime
