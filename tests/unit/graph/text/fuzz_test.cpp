// Valid files with tokens replaced, removed, doubled and swapped: each either parses or throws
// dyn::Error.

#include <cstdint>
#include <random>

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "graph/text/text.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/graph/text/support.hpp"

using namespace dyn::graph;
using namespace dyn::test;

namespace {

/// Pieces whose concatenation is the text: names, numbers, blanks, single other characters.
std::vector<std::string> pieces_of(const std::string& text) {
  std::vector<std::string> pieces;
  const auto group = [](char c) {
    if (c == ' ') return 0;
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                   c == '.'
               ? 1
               : 2;
  };
  for (const char c : text) {
    const bool joins = !pieces.empty() && group(c) != 2 && group(pieces.back().back()) == group(c);
    if (joins) {
      pieces.back() += c;
    } else {
      pieces.emplace_back(1, c);
    }
  }
  return pieces;
}

const std::vector<std::string> odd_pieces = {"_",
                                             "-1",
                                             "0",
                                             "9223372036854775807",
                                             "9223372036854775808",
                                             "1e999",
                                             "inf",
                                             "nan",
                                             "\n",
                                             "(",
                                             ")",
                                             "[",
                                             "]",
                                             "{",
                                             "}",
                                             "=",
                                             ":",
                                             ",",
                                             "->",
                                             "\"",
                                             "B",
                                             "S",
                                             "x0",
                                             "f32",
                                             "i64",
                                             "f16",
                                             "bool",
                                             "true",
                                             "-",
                                             "*",
                                             "return",
                                             "state",
                                             "offsets",
                                             "dim",
                                             "matmul",
                                             "softmax",
                                             "reshape",
                                             "concat",
                                             "floordiv(S, 0)",
                                             "mod(S, 3)",
                                             std::string(1, '\0'),
                                             "\xFF",
                                             "#",
                                             "..",
                                             "split",
                                             "gather",
                                             "S * S * S * S * S * 4611686018427387904"};

void mutate(std::vector<std::string>& pieces, std::mt19937_64& random) {
  const auto pick = [&](std::size_t size) { return static_cast<std::size_t>(random() % size); };
  const std::size_t at = pick(pieces.size()), other = pick(pieces.size());
  switch (random() % 5) {
    case 0: pieces[at] = odd_pieces[pick(odd_pieces.size())]; break;
    case 1: pieces[at] = pieces[other]; break;
    case 2: pieces[at].clear(); break;
    case 3: pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(at), pieces[other]); break;
    default: std::swap(pieces[at], pieces[other]);
  }
}

/// 1 where the text parsed.
int check_text(const std::string& text) {
  try {
    const std::string once = print(parse(text, "fuzz.dyn"));
    CHECK_MESSAGE(print(parse(once, "printed.dyn")) == once, text);
    return 1;
  } catch (const dyn::Error& error) {
    CHECK_MESSAGE(error.kind() != dyn::ErrorKind::internal, error.what() << '\n' << text);
    CHECK_MESSAGE((error.message().find("fuzz.dyn") == 0), error.what() << '\n' << text);
    return 0;
  }
}

}  // namespace

TEST_CASE("mutated files parse or throw dyn::Error, in bounded time" * doctest::timeout(120)) {
  constexpr std::uint64_t seed = 20240611;
  const int rounds = dyn::testing::test_rounds(1500);
  std::vector<std::string> paths = list_sources("tests/golden/text", ".in.dyn");
  paths.push_back("tests/models/encoder_small.dyn");
  MESSAGE("seed " << seed);
  std::mt19937_64 random(seed);
  int parsed = 0;
  for (const std::string& path : paths) {
    const std::vector<std::string> pieces = pieces_of(read_source(path));
    for (int round = 0; round < rounds; ++round) {
      std::vector<std::string> changed = pieces;
      for (std::uint64_t edits = 1 + random() % 3; edits > 0; --edits) mutate(changed, random);
      std::string text;
      for (const std::string& piece : changed) text += piece;
      parsed += check_text(text);
    }
  }
  // Both outcomes must occur, or the mutations prove nothing.
  CHECK(parsed > rounds / 15);
  CHECK(parsed < rounds * static_cast<int>(paths.size()) * 3 / 4);
}
