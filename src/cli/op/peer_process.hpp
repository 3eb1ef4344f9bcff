#pragma once
// A peer: another library, timed in a process of its own over the line protocol of docs/peers.md.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dyn::cli {

/// How `--peers` says to start one peer.
struct PeerSpec {
  std::string name;                  ///< begins the names of its columns
  std::vector<std::string> command;  ///< words[0] is looked up in PATH

  bool operator==(const PeerSpec&) const = default;
};

/// A comma separates peers, each one of: a known library's name (onednn, openblas, blis, mkl),
/// NAME=LIBRARY.so, or NAME=exec:PROGRAM ARGUMENTS for any program that speaks the protocol.
/// `peer_program` is dyn-peer's file. Throws Error(user) that quotes the text for anything else and
/// for a name given twice.
std::vector<PeerSpec> parse_peers(std::string_view text, const std::string& peer_program);

/// The process starts at once and ends with the destructor. A failure (missing, dead, silent for
/// long, nonsense) is remembered as a problem, after which the process has ended and every call
/// does nothing. Not thread-safe.
class PeerProcess {
 public:
  PeerProcess(PeerSpec spec, int threads);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  const std::string& name() const noexcept { return spec_.name; }
  const std::string& version() const noexcept {
    return version_;
  }  ///< as the peer reports it: "oneDNN 2.6.3"
  bool alive() const noexcept { return process_ > 0; }
  /// The reason why it ended; empty while it lives.
  const std::string& problem() const noexcept { return problem_; }

  /// Prepares the peer for a problem. False where it cannot do this one, with its reason.
  bool prepare(const std::string& problem_line, std::string& reason);
  /// Seconds of one iteration of the prepared problem, the median over a slice.
  std::optional<double> time(double slice_seconds);
  /// Releases the problem's memory.
  void done();
  /// Returns when no thread of the peer runs any more (threads of pools spin for a while after
  /// their work), or after a third of a second.
  void wait_until_idle() const;

 private:
  void start(int threads);
  std::optional<std::string> ask(const std::string& line);
  bool write_line(const std::string& line);
  std::optional<std::string> read_line();
  void fail(const std::string& problem);
  void end(bool at_once);

  PeerSpec spec_;
  std::string version_, problem_, buffer_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
};

/// Waits in the same way for all threads of this process but the calling one.
void wait_until_helpers_idle();

}  // namespace dyn::cli
