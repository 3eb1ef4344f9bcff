#pragma once
// All peers of one command, at the present number of threads.

#include <memory>
#include <string>
#include <vector>

#include "src/cli/op/peer_process.hpp"

namespace dyn::cli {

/// A failure of a peer is reported on stderr, once; the other peers go on. Not thread-safe.
class PeerTeam {
 public:
  /// From `--peers`; starts none yet. `program`: dynrun's own file, beside which dyn-peer lies.
  /// Throws Error(user) as parse_peers() does.
  PeerTeam(const std::string& peers, const std::string& program);

  const std::vector<PeerSpec>& specs() const noexcept { return specs_; }
  std::vector<std::string> names() const;

  /// Starts all anew.
  void start(int threads);
  /// One entry for each peer: nullptr where it cannot do this problem.
  std::vector<PeerProcess*> prepare(const std::string& problem_line);
  /// Ends a problem, and reports the peers that ended meanwhile.
  void done(const std::vector<PeerProcess*>& ready);

 private:
  void report_ended();

  std::vector<PeerSpec> specs_;
  std::vector<std::unique_ptr<PeerProcess>> peers_;
  std::vector<bool> told_;  ///< for each peer: its end was reported
};

}  // namespace dyn::cli
