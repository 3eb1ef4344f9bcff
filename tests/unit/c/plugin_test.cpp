// Plug-ins: operators in shared objects.

#include <doctest/doctest.h>

#include <filesystem>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "dyn/dyn.hpp"
#include "dyn/plugin.h"
#include "tests/support/error_text.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using testing::check_says;
using testing::error_text;
using testing::uncached;

namespace {

std::string plugin(const std::string& name) {
  return fmt::format(DYN_BINARY_DIR "/tests/plugins/{}.so", name);
}

Options with_plugin(const std::string& name) {
  Options options = uncached();
  options.plugins = {plugin(name)};
  return options;
}

std::string calling(const std::string& expression, const std::string& output = "f32[N, 4]") {
  return fmt::format(
      "dyn 1\ndim N in 0..100\ngraph g(x: f32[N, 4]) -> (y: {}) {{\n  y = {}\n"
      "  return y\n}}\n",
      output, expression);
}

std::string load_error(const std::string& text, const Options& options) {
  return error_text([&] { Graph::from_text(text, options); });
}

std::string run_error(const Graph& graph) {
  return error_text([&] { graph.run({{"x", Tensor(DType::f32, {2, 4})}}); });
}

}  // namespace

TEST_CASE("a plug-in's numbers of dtypes are the library's") {
  CHECK(static_cast<dyn_plugin_dtype>(DType::f32) == 0);
  CHECK(static_cast<dyn_plugin_dtype>(DType::i64) == 7);
  CHECK(static_cast<dyn_plugin_dtype>(DType::boolean) == 12);
}

TEST_CASE("operators of a plug-in run at two sizes, and keep their library") {
  std::optional<Graph> graph;
  {
    const testing::TemporaryFolder folder;
    const std::filesystem::path copy = folder.path() / "copy.so";
    std::filesystem::copy_file(plugin("scale"), copy);
    Options options = with_plugin("scale");
    options.plugins = {copy.string()};
    graph = Graph::from_text(
        calling("own::pairs(own::scale(own::swish(x) alpha=0.0) factor=4.0)", "f32[N, 2]"),
        options);
  }
  for (const std::int64_t rows : {1, 3}) {
    Tensor x(DType::f32, {rows, 4});
    for (std::size_t i = 0; i < x.mutable_data<float>().size(); ++i)
      x.mutable_data<float>()[i] = static_cast<float>(i);
    const Outputs outputs = graph->run({{"x", x}});
    REQUIRE(outputs["y"].shape() == Shape{rows, 2});
    // x * sigmoid(0) * 4, added to its neighbour.
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows) * 2; ++i)
      CHECK(outputs["y"].data<float>()[i] == 2 * static_cast<float>(4 * i + 1));
  }
}

TEST_CASE("what a plug-in's shape function does wrong is an error of the load") {
  const std::string file = "broken.so";
  const auto says = [&](const char* op, const char* what) {
    check_says(load_error(calling(fmt::format("bad::{}(x)", op)), with_plugin("broken")),
               {what, file.c_str(), fmt::format("bad::{}", op).c_str()});
  };
  says("throws", "it threw: no shape today");
  says("throws_number", "it threw what is no std::exception");
  says("fills_nothing", "it gives the dtype -1, which is none");
  says("wrong_rank", "it gives a type of 900 dims; at most 8");
  says("negative", "gives the negative size -3");
  says("null_dim", "dim 0 of a type that it gives is NULL");
  says("wild_dim", "is no size that it was given");
  says("wrong_dtype", "it gives the dtype 99, which is none");
  says("null_operand", "got no size (NULL)");
  says("silent", "it failed with 5 and gave no reason");
  CHECK(load_error(calling("bad::null_arguments(x)"), with_plugin("broken")).empty());
}

TEST_CASE(
    "what a plug-in's kernel does wrong is an error of the run, and the next one is as good") {
  const auto says = [&](const char* op, const char* what) {
    const Graph graph =
        Graph::from_text(calling(fmt::format("bad::{}(x)", op)), with_plugin("broken"));
    for (int i = 0; i < 2; ++i)
      check_says(run_error(graph),
                 {what, "broken.so", fmt::format("bad::{} 'y' (line 4)", op).c_str()});
  };
  says("kernel_throws", "it threw: the kernel gave up");
  says("kernel_silent", "it failed with 3 and gave no reason");
  says("kernel_says", "these numbers are odd");
}

TEST_CASE("files that are no plug-ins are refused by name") {
  const std::string text = calling("x");
  const auto says = [&](const char* name, std::initializer_list<const char*> parts) {
    const std::string error = load_error(text, with_plugin(name));
    check_says(error, parts);
    check_says(error, {name});
  };
  says("newer", {"was built for version 2.0", "reads version 1"});
  says("nothing", {"gave nothing (NULL)"});
  says("stranger", {"has no function dyn_plugin_get"});
  says("unresolved", {"cannot be loaded", "made_elsewhere"});
  says("nameless", {"the name of an operator is NULL"});
  says("absent", {"cannot be loaded"});
  Options twice = with_plugin("scale");
  twice.plugins.push_back(twice.plugins.front());
  check_says(load_error(text, twice), {"two operators are called own::"});
}
