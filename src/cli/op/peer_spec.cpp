// --peers onednn,mkl=/opt/libmkl_rt.so.2,torch=exec:python3 worker.py

#include <algorithm>
#include <cctype>
#include <sstream>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/cli/op/peer_process.hpp"

namespace dyn::cli {
namespace {

constexpr std::string_view known_libraries[] = {"onednn", "openblas", "blis", "mkl"};
constexpr std::string_view program_prefix = "exec:";

[[noreturn]] void fail(std::string_view item, std::string_view problem) {
  throw Error(
      ErrorKind::user,
      fmt::format(
          "--peers {}: {}. A peer is one of {}, or NAME=LIBRARY.so, or NAME=exec:PROGRAM ARGUMENTS",
          item, problem, fmt::join(known_libraries, ", ")));
}

std::vector<std::string> split_words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

PeerSpec parse_peer(std::string_view item, const std::string& peer_program) {
  const std::size_t equals = item.find('=');
  const std::string name(item.substr(0, equals));
  const auto allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  if (name.empty() || !std::all_of(name.begin(), name.end(), allowed))
    fail(item, "a name is letters, digits and _");
  if (equals == std::string_view::npos) {
    if (std::find(std::begin(known_libraries), std::end(known_libraries), name) ==
        std::end(known_libraries))
      fail(item, "unknown");
    return {name, {peer_program, name}};
  }
  const std::string_view source = item.substr(equals + 1);
  if (!source.starts_with(program_prefix)) {
    if (source.empty()) fail(item, "the library is missing");
    return {name, {peer_program, std::string(source)}};
  }
  PeerSpec spec{name, split_words(source.substr(program_prefix.size()))};
  if (spec.command.empty()) fail(item, "the program is missing");
  return spec;
}

}  // namespace

std::vector<PeerSpec> parse_peers(std::string_view text, const std::string& peer_program) {
  std::vector<PeerSpec> specs;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    specs.push_back(parse_peer(text.substr(0, comma), peer_program));
    const auto same = [&](const PeerSpec& spec) { return spec.name == specs.back().name; };
    if (std::count_if(specs.begin(), specs.end(), same) > 1 || specs.back().name == "best")
      fail(specs.back().name, "the name is taken");
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return specs;
}

}  // namespace dyn::cli
