// CART on votes whose answer is known.

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "src/choice/policies/dietcode/decision_tree.hpp"
#include "tests/support/seed.hpp"

using dyn::choice::DecisionTree;
using Point = DecisionTree::Point;

TEST_CASE("a tree without votes, and of one vote") {
  CHECK(DecisionTree({}).label({1, 2, 3, 4}) == 0);
  const DecisionTree one({{{5, 5, 5, 5}, 7}});
  CHECK(one.label({5, 5, 5, 5}) == 7);
  CHECK(one.label({0, 100, -1, 9}) == 7);
  CHECK(one.nodes() == 1);
}

TEST_CASE("the first question is the one with the least Gini impurity, halfway between votes") {
  // By the first number, sides {0 0 1} and {1 1 1}: 3 * (1 - 5/9) = 4/3. By the second, {0 0 1 1}
  // and {1 1}: 4 * (1/2) = 2.
  const std::vector<DecisionTree::Vote> votes{{{1, 1, 0, 0}, 0},  {{2, 3, 0, 0}, 0},
                                              {{3, 2, 0, 0}, 1},  {{10, 4, 0, 0}, 1},
                                              {{11, 5, 0, 0}, 1}, {{12, 6, 0, 0}, 1}};
  const DecisionTree tree(votes);
  for (const DecisionTree::Vote& vote : votes) CHECK(tree.label(vote.point) == vote.label);
  // Here {0 0} and {1 1 1 1} is pure: one question, and the second number decides nothing.
  CHECK(tree.nodes() == 3);
  CHECK(tree.label({2, 99, 0, 0}) == 0);
  CHECK(tree.label({3, -99, 0, 0}) == 1);
  const DecisionTree wide({{{10, 0, 0, 0}, 0}, {{20, 0, 0, 0}, 1}});
  CHECK(wide.label({15, 0, 0, 0}) == 0);
  CHECK(wide.label({16, 0, 0, 0}) == 1);
}

TEST_CASE("where no single question helps, two do") {
  const std::vector<DecisionTree::Vote> votes{
      {{0, 0, 0, 0}, 0}, {{0, 1, 0, 0}, 1}, {{1, 0, 0, 0}, 1}, {{1, 1, 0, 0}, 0}};
  const DecisionTree tree(votes);
  for (const DecisionTree::Vote& vote : votes) CHECK(tree.label(vote.point) == vote.label);
  CHECK(tree.nodes() == 7);
}

TEST_CASE("of votes that contradict each other the most win, then the least label") {
  const Point here{3, 3, 3, 3};
  CHECK(DecisionTree({{here, 4}, {here, 2}, {here, 2}}).label(here) == 2);
  CHECK(DecisionTree({{here, 4}, {here, 2}}).label(here) == 2);
}

TEST_CASE("a tree repeats all votes that do not contradict each other") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; ++round) {
    const std::size_t count = 1 + random() % 400, labels = 1 + random() % 12;
    const std::int64_t values = 1 + static_cast<std::int64_t>(random() % 40);
    std::map<Point, std::size_t> answers;
    for (std::size_t i = 0; i < count; ++i) {
      Point point;
      for (std::int64_t& number : point) number = static_cast<std::int64_t>(random()) % values;
      answers.emplace(point, random() % labels);
    }
    std::vector<DecisionTree::Vote> votes;
    for (const auto& [point, label] : answers) votes.push_back({point, label});
    const DecisionTree tree(votes);
    CHECK(tree.nodes() < 2 * votes.size());
    for (const DecisionTree::Vote& vote : votes) REQUIRE(tree.label(vote.point) == vote.label);
  }
}
