#include "src/cli/op/peer_team.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "src/cli/report/progress.hpp"

namespace dyn::cli {

PeerTeam::PeerTeam(const std::string& peers, const std::string& program)
    : specs_(parse_peers(peers,
                         (std::filesystem::path(program).parent_path() / "dyn-peer").string())) {}

std::vector<std::string> PeerTeam::names() const {
  std::vector<std::string> names;
  for (const PeerSpec& spec : specs_) names.push_back(spec.name);
  return names;
}

void PeerTeam::start(int threads) {
  peers_.clear();
  told_.assign(specs_.size(), false);
  for (const PeerSpec& spec : specs_) {
    peers_.push_back(std::make_unique<PeerProcess>(spec, threads));
    if (peers_.back()->alive())
      fmt::print(stderr, "dynrun: peer {}: {}\n", spec.name, peers_.back()->version());
  }
  report_ended();
}

std::vector<PeerProcess*> PeerTeam::prepare(const std::string& problem_line) {
  std::vector<PeerProcess*> ready;
  for (const auto& peer : peers_) {
    std::string reason;
    const bool can = peer->alive() && peer->prepare(problem_line, reason);
    if (!reason.empty())
      show_note(fmt::format("peer {} cannot do \"{}\": {}", peer->name(), problem_line, reason));
    ready.push_back(can ? peer.get() : nullptr);
    peer->wait_until_idle();
  }
  return ready;
}

void PeerTeam::done(const std::vector<PeerProcess*>& ready) {
  for (PeerProcess* peer : ready) {
    if (peer != nullptr) peer->done();
  }
  report_ended();
}

void PeerTeam::report_ended() {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i]->alive() || told_[i]) continue;
    show_note(fmt::format("peer {}: {}; its columns stay empty from here on", peers_[i]->name(),
                          peers_[i]->problem()));
    told_[i] = true;
  }
}

}  // namespace dyn::cli
