#include "src/import/onnx/sizes/file_sizes.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "graph/shapes/unifier.hpp"

namespace dyn::onnx {

using graph::Dim;

namespace {

constexpr std::int64_t least_prime = 10007;

std::int64_t next_prime(std::int64_t from) {
  const auto is_prime = [](std::int64_t number) {
    for (std::int64_t factor = 3; factor * factor <= number; factor += 2) {
      if (number % factor == 0) return false;
    }
    return true;
  };
  while (!is_prime(from)) from += 2;
  return from;
}

std::set<int> symbols_in(Dim dim) {
  std::set<int> symbols;
  graph::for_each_symbol(dim, [&](int symbol) { symbols.insert(symbol); });
  return symbols;
}

}  // namespace

std::vector<const FileSizes::Freed*> FileSizes::freed_in(const std::set<int>& symbols) const {
  std::vector<const Freed*> found;
  for (const Freed& freed : freed_) {
    if (std::ranges::any_of(symbols_in(builder_.resolve(freed.symbol)),
                            [&](int symbol) { return symbols.contains(symbol); }))
      found.push_back(&freed);
  }
  return found;
}

bool FileSizes::depends(Dim dim) const {
  return !freed_.empty() && !freed_in(symbols_in(builder_.resolve(dim))).empty();
}

bool FileSizes::knows(Dim dim) const {
  const std::set<int> symbols = symbols_in(builder_.resolve(dim));
  return std::ranges::all_of(symbols, [&](int symbol) { return !freed_in({symbol}).empty(); });
}

std::int64_t FileSizes::of(Dim dim, std::int64_t scale) const {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(dim.table().symbol_count()));
  for (const Freed& freed : freed_) {
    if (const auto left = builder_.resolve(freed.symbol).symbol())
      sizes[static_cast<std::size_t>(*left)] = freed.size * scale;
  }
  std::int64_t prime = least_prime;
  for (std::int64_t& size : sizes) {
    if (size > 0) continue;
    size = next_prime(prime);
    prime = size + 2;
  }
  try {
    return graph::evaluate(builder_.resolve(dim), sizes);
  } catch (const Error& error) {
    throw Error(ErrorKind::unsupported,
                fmt::format("what the size {} is in the file cannot be computed: {}",
                            graph::to_string(dim), error.message()));
  }
}

bool FileSizes::binds(const graph::Constraint& condition) const {
  using Kind = graph::Constraint::Kind;
  if (condition.kind != Kind::Equal && condition.kind != Kind::EqualOrOne) return false;
  if (!knows(condition.left) || !knows(condition.right)) return false;
  int held = 0;
  for (const std::int64_t scale : {2, 3, 5}) {
    const std::int64_t left = of(condition.left, scale), right = of(condition.right, scale);
    if (left == right || (condition.kind == Kind::EqualOrOne && (left == 1 || right == 1))) ++held;
  }
  // A single one may equal a constant by accident.
  return held < 2;
}

std::string FileSizes::names_in(std::span<const Dim> dims) const {
  std::set<int> symbols;
  for (const Dim dim : dims) symbols.merge(symbols_in(builder_.resolve(dim)));
  const std::vector<const Freed*> freed = freed_in(symbols);
  std::string text;
  for (std::size_t i = 0; i < freed.size(); ++i)
    text += (i == 0 ? "" : i + 1 == freed.size() ? " and " : ", ") + freed[i]->name;
  return text;
}

std::string FileSizes::words_without(std::span<const Dim> bound) const {
  std::set<int> symbols;
  for (const Dim dim : bound) symbols.merge(symbols_in(builder_.resolve(dim)));
  std::string text;
  for (const Input& input : inputs_) {
    std::vector<std::string> words = input.words;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const Dim dim = builder_.resolve(input.dims[i]);
      const bool is_bound = dim.constant() || std::ranges::any_of(symbols_in(dim), [&](int symbol) {
                              return symbols.contains(symbol);
                            });
      if (is_bound && knows(dim)) words[i] = std::to_string(of(dim));
    }
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", input.name, fmt::join(words, ","));
  }
  return text;
}

}  // namespace dyn::onnx
