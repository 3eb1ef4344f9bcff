// A table that is both gathered from and multiplied with is in memory once, in panels, and gives
// the same as two copies.

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "dyn/dyn.hpp"
#include "src/runtime/load/model.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using testing::uncached;

namespace {

constexpr std::int64_t table_width = 24;

std::vector<std::int64_t> random_ids(std::size_t count, std::int64_t rows) {
  std::mt19937 random(static_cast<unsigned>(dyn::testing::test_seed()));
  std::vector<std::int64_t> ids(count);
  for (std::int64_t& id : ids)
    id = static_cast<std::int64_t>(random() % static_cast<unsigned>(2 * rows)) - rows;
  ids.front() = rows - 1;
  ids.back() = -rows;
  return ids;
}

/// The model on the CPU and on the reference, whose weights lie as in the file. Returns the
/// resident bytes of the former.
std::size_t check_model(const std::string& text, std::int64_t rows) {
  CAPTURE(text);
  Options reference = uncached();
  reference.device = "reference";
  const Graph graph = Graph::from_text(text, uncached()),
              expected_graph = Graph::from_text(text, reference);
  for (const auto& [batch, length] : {std::pair(1, 1), std::pair(3, 7), std::pair(2, 33)}) {
    std::vector<std::int64_t> ids = random_ids(static_cast<std::size_t>(batch * length), rows);
    const NamedTensors inputs = {{"ids", Tensor::view(ids.data(), {batch, length})}};
    const Outputs actual = graph.run(inputs), expected = expected_graph.run(inputs);
    for (const auto& port : graph.outputs()) {
      double worst = 0;
      for (std::size_t i = 0; i < expected[port.name].data<float>().size(); ++i) {
        worst = std::max(worst, std::fabs(double{actual[port.name].data<float>()[i]} -
                                          expected[port.name].data<float>()[i]));
      }
      CHECK(worst < 1e-4);
    }
    ids[ids.size() / 2] = rows;
    testing::check_error(ErrorKind::user, [&] { graph.run(inputs); }, "out of range");
  }
  return graph.load_report().weight_bytes;
}

std::string tied(std::int64_t rows, const std::string& body) {
  const std::string table = "weight table: f32[" + std::to_string(rows) + ", 24] = random 1\n";
  return "dyn 1\ndim B in 1..8\ndim S in 1..64\n" + table + "weight gain: f32[24] = random 2\n" +
         body;
}

const char* const logits = R"(graph g(ids: i64[B, S]) -> (y: f32[B, S, N], h: f32[B, S, 24]) {
  h = gather(table, ids) axis=0 * gain
  y = matmul(h, table) transpose_b=true
  return y, h
}
)";

std::string with_rows(std::string body, std::int64_t rows) {
  return tied(rows, body.replace(body.find(", N]"), 4, ", " + std::to_string(rows) + "]"));
}

}  // namespace

TEST_CASE("a tied embedding gathers from the panels") {
  testing::Sweep sweep(3);
  for (const std::int64_t rows : {1, 15, 16, 24, 33, 64, 100}) {
    if (!sweep.takes()) continue;
    const std::size_t resident = check_model(with_rows(logits, rows), rows);
    const std::size_t padded = static_cast<std::size_t>((rows + 63) / 64 * 64 * table_width * 4);
    // The last one of 33 columns lies behind the panels once more, as the row that dots read: 24
    // elements in whole lines, and one line.
    const std::size_t row = rows == 33 ? 192 : 0;
    CHECK(resident <= padded + row + 256);
  }
}

TEST_CASE("a table with uses that panels do not serve is kept as it lies, too") {
  constexpr std::int64_t rows = 24;
  const std::string both = R"(graph g(ids: i64[B, S]) -> (y: f32[B, S, 24], z: f32[B, S, 24]) {
  h = gather(table, ids) axis=0
  y = matmul(h, table) transpose_b=true
  z = matmul(h, table)
  return y, z
}
)";
  CHECK(check_model(tied(rows, both), rows) >= 3 * rows * table_width * 4);
  const std::string columns = R"(graph g(ids: i64[B, S]) -> (y: f32[24, B, S], z: f32[B, S, 24]) {
  y = gather(table, ids) axis=1
  z = matmul(gather(table, ids) axis=0, table) transpose_b=true
  return y, z
}
)";
  CHECK(check_model(tied(rows, columns), rows) >= 2 * rows * table_width * 4);
  const std::string sum = R"(graph g(ids: i64[B, S]) -> (y: f32[B, S, 24], z: f32[24, 24]) {
  y = matmul(gather(table, ids) axis=0, table) transpose_b=true
  z = table + gain
  return y, z
}
)";
  CHECK(check_model(tied(rows, sum), rows) >= 2 * rows * table_width * 4);
}
