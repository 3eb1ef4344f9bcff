// C says and computes what C++ does.

#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "dyn/dyn.hpp"
#include "src/c/option_table.hpp"
#include "tests/support/random_floats.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/c/model.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using namespace dyn::testing;

namespace {

const char* const layer = R"(dyn 1
dim N in 1..4096
weight w: f32[24, 17] = random 5
weight b: f32[17] = random 6
graph layer(x: f32[N, 24], y: f32[N, 17]) -> (z: f32[N, 17], s: f32[N]) {
  z = relu(matmul(x, w) + b) + y
  s = reduce_sum(z) axes=[1] keepdims=false
  return z, s
}
)";

/// Both fail, with one text and one chain of places.
void fail_alike(dyn_status* status, const std::function<void()>& body) {
  const CStatus owned(status);
  const auto error = error_of(body);
  REQUIRE(error);
  REQUIRE(status != nullptr);
  CHECK(dyn_status_kind(status) == static_cast<dyn_kind>(error->kind()));
  CHECK(std::string(dyn_kind_name(dyn_status_kind(status))) == name_of(error->kind()));
  CHECK(std::string(dyn_status_text(status)) == error->what());
  CHECK(std::string(dyn_status_message(status)) == error->message());
  REQUIRE(dyn_status_place_count(status) == error->where().size());
  for (std::size_t i = 0; i < error->where().size(); ++i)
    CHECK(std::string(dyn_status_place(status, i)) == error->where()[i]);
  CHECK(dyn_status_place(status, error->where().size()) == nullptr);
}

}  // namespace

TEST_CASE("C: a graph's ports, shapes and results are those of C++") {
  std::mt19937_64 random(test_seed());
  const Graph graph = Graph::from_text(layer, uncached());
  const COptions options = c_options();
  const CGraph c = c_graph(layer, options.get());
  size_t inputs = 0, outputs = 0;
  succeeds(dyn_graph_input_count(c.get(), &inputs));
  succeeds(dyn_graph_output_count(c.get(), &outputs));
  REQUIRE(inputs == 2);
  REQUIRE(outputs == 2);
  for (size_t i = 0; i < inputs; ++i) {
    CPort port;
    succeeds(dyn_graph_input(c.get(), i, Into(port)));
    const char *name = nullptr, *shape = nullptr;
    dyn_dtype dtype = -1;
    bool is_text = true;
    size_t texts = 1;
    succeeds(dyn_port_name(port.get(), &name));
    succeeds(dyn_port_shape(port.get(), &shape));
    succeeds(dyn_port_dtype(port.get(), &dtype));
    succeeds(dyn_port_text_count(port.get(), &is_text, &texts));
    CHECK(name == graph.inputs()[i].name);
    CHECK(shape == graph.inputs()[i].shape);
    CHECK(dtype == DYN_F32);
    CHECK_FALSE(is_text);
    CHECK(texts == 0);
  }
  for (const std::int64_t n : {1, 7, 64, 333}) {
    const Shape x_shape{n, 24}, y_shape{n, 17};
    const Tensor x = Tensor::from<float>(random_floats(random, n * 24), x_shape);
    const Tensor y = Tensor::from<float>(random_floats(random, n * 17), y_shape);
    const CTensor cx = shared(x), cy = shared(y);
    const dyn_named_shape shapes[] = {{"y", 2, y_shape.data()}, {"x", 2, x_shape.data()}};
    succeeds(dyn_graph_prepare(c.get(), 2, shapes));
    CShapes inferred;
    succeeds(dyn_graph_infer_shapes(c.get(), 2, shapes, Into(inferred)));
    const auto expected = graph.infer_shapes({{"x", x_shape}, {"y", y_shape}});
    size_t count = 0;
    succeeds(dyn_shapes_count(inferred.get(), &count));
    REQUIRE(count == expected.size());
    for (size_t i = 0; i < count; ++i) {
      dyn_named_shape shape;
      succeeds(dyn_shapes_get(inferred.get(), i, &shape));
      CHECK(shape.name == expected[i].first);
      CHECK(Shape(shape.sizes, shape.sizes + shape.rank) == expected[i].second);
    }

    const Outputs plain = graph.run({{"x", x}, {"y", y}});
    const dyn_named_tensor named[] = {{"y", cy.get()}, {"x", cx.get()}};
    dyn_tensor* results[2] = {};
    succeeds(dyn_graph_run(c.get(), 2, named, 2, results));
    const CTensor z(results[0]), s(results[1]);
    check_equal(z.get(), plain["z"]);
    check_equal(s.get(), plain["s"]);
  }
  int64_t planned = 0, compiled = -1;
  succeeds(dyn_graph_shapes_planned(c.get(), &planned));
  succeeds(dyn_graph_kernels_compiled_since_load(c.get(), &compiled));
  CHECK(planned == 4);
  CHECK(compiled == 0);
}

TEST_CASE("C: a call runs on tensors that stay bound, and writes where it is told") {
  std::mt19937_64 random(test_seed());
  const COptions options = c_options();
  const CGraph c = c_graph(layer, options.get());
  CCall call;
  succeeds(dyn_call_create(c.get(), Into(call)));
  const Graph graph = Graph::from_text(layer, uncached());
  Tensor x(DType::f32, {9, 24}), y(DType::f32, {9, 17}), z(DType::f32, {9, 17});
  CTensor cz;
  succeeds(dyn_tensor_view(DYN_F32, z.raw(), 2, z.shape().data(), Into(cz)));
  size_t index = 9;
  succeeds(dyn_call_input_index(call.get(), "y", &index));
  CHECK(index == 1);
  succeeds(dyn_call_set_input(call.get(), index, shared(y).get()));
  succeeds(dyn_call_set_input(call.get(), 0, shared(x).get()));
  succeeds(dyn_call_output_index(call.get(), "z", &index));
  CHECK(index == 0);
  succeeds(dyn_call_set_output(call.get(), index, cz.get()));
  for (int run = 0; run < 3; ++run) {
    const auto values = random_floats(random, x.size()), others = random_floats(random, y.size());
    std::memcpy(x.raw(), values.data(), x.bytes());
    std::memcpy(y.raw(), others.data(), y.bytes());
    succeeds(dyn_call_run(call.get()));
    const Outputs plain = graph.run({{"x", x}, {"y", y}});
    CHECK(std::memcmp(z.raw(), plain["z"].raw(), z.bytes()) == 0);
    CTensor s;
    succeeds(dyn_call_output(call.get(), 1, Into(s)));
    check_equal(s.get(), plain["s"]);
  }
  succeeds(dyn_call_wait(call.get()));
}

TEST_CASE("C: errors have the kinds, messages and places of C++") {
  const COptions options = c_options();
  const CGraph c = c_graph(layer, options.get());
  const Graph graph = Graph::from_text(layer, uncached());
  dyn_graph* broken = nullptr;
  const std::string text = "dyn 1\ngraph g(x: f32[N]) -> (y: f32[N]) { return z }\n";
  fail_alike(dyn_graph_from_text(text.data(), text.size(), options.get(), nullptr, &broken),
             [&] { Graph::from_text(text, uncached()); });
  CHECK(broken == nullptr);
  fail_alike(dyn_graph_load("/no/such/file.onnx", options.get(), &broken),
             [&] { Graph::load("/no/such/file.onnx", uncached()); });
  fail_alike(dyn_graph_load("/no/such/file.dyn", options.get(), &broken),
             [&] { Graph::load("/no/such/file.dyn", uncached()); });

  const Tensor x(DType::f32, {3, 24}), y(DType::f32, {4, 17});
  const CTensor cx = shared(x), cy = shared(y);
  dyn_tensor* results[2] = {};
  const dyn_named_tensor named[] = {{"x", cx.get()}, {"y", cy.get()}};
  fail_alike(dyn_graph_run(c.get(), 2, named, 2, results),
             [&] { graph.run({{"x", x}, {"y", y}}); });
  fail_alike(dyn_graph_run(c.get(), 1, named, 2, results), [&] { graph.run({{"x", x}}); });
  const dyn_named_tensor twice[] = {{"x", cx.get()}, {"x", cx.get()}};
  fail_alike(dyn_graph_run(c.get(), 2, twice, 2, results),
             [&] { graph.run({{"x", x}, {"x", x}}); });
  CHECK(results[0] == nullptr);

  const std::int64_t negative[] = {2, -1}, wide[] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  dyn_tensor* tensor = nullptr;
  fail_alike(dyn_tensor_create(DYN_F32, 2, negative, &tensor), [] { Tensor(DType::f32, {2, -1}); });
  fail_alike(dyn_tensor_create(DYN_F32, 2, wide, &tensor),
             [&] { Tensor(DType::f32, {wide[0], wide[1]}); });
  fail_alike(dyn_tensor_reshape(cx.get(), 1, negative, &tensor), [&] { (void)x.reshaped({2}); });
  const void* data = nullptr;
  void* written = nullptr;
  fail_alike(dyn_tensor_data(cx.get(), DYN_I64, &data), [&] { (void)x.data<std::int64_t>(); });
  Tensor view = Tensor::view(DType::f32, x.raw(), x.shape());
  fail_alike(dyn_tensor_mutable_data(cx.get(), DYN_F32, &written),
             [&] { (void)view.mutable_data<float>(); });
  alignas(8) char bytes[64] = {};
  const std::int64_t four[] = {4};
  fail_alike(dyn_tensor_view(DYN_F32, bytes + 2, 1, four, &tensor),
             [&] { Tensor::view(DType::f32, static_cast<void*>(bytes + 2), {4}); });
  CHECK(tensor == nullptr);
}

TEST_CASE("C: the kinds, dtypes and log levels are those of C++") {
  for (const DType dtype : all_dtypes()) {
    const auto number = static_cast<dyn_dtype>(dtype);
    CHECK(std::string(dyn_dtype_name(number)) == name_of(dtype));
    CHECK(dyn_dtype_size(number) == size_of(dtype));
    CHECK(dyn_dtype_parse(dyn_dtype_name(number)) == number);
  }
  CHECK(std::string(dyn_dtype_name(DYN_F32)) == "f32");
  CHECK(std::string(dyn_dtype_name(DYN_BOOL)) == "bool");
  CHECK(std::string(dyn_dtype_name(DYN_F8E8M0)) == "f8e8m0");
  CHECK(std::string(dyn_dtype_name(DYN_U2)) == "u2");
  for (const dyn_dtype none : {-1, DYN_U2 + 1, 1 << 30}) {
    CHECK(dyn_dtype_name(none) == nullptr);
    CHECK(dyn_dtype_size(none) == 0);
  }
  CHECK(dyn_dtype_parse("float") == -1);
  CHECK(dyn_dtype_parse(nullptr) == -1);
  CHECK(static_cast<int>(LogLevel::debug) == DYN_LOG_DEBUG);
  CHECK(static_cast<int>(LogLevel::warning) == DYN_LOG_WARNING);
  CHECK(std::string(dyn_kind_name(DYN_ERROR_UNSUPPORTED)) == "unsupported");
  CHECK(std::string(dyn_kind_name(DYN_ERROR_CANCELLED)) == "cancelled");
  CHECK(std::string(dyn_kind_name(DYN_ERROR_CANCELLED + 1)) == "unknown");
  CHECK(std::string(dyn_version()) == version());
}

TEST_CASE("C: every option of C++ can be set, and those that are none are refused") {
  std::ifstream file(std::string(DYN_SOURCE_DIR) + "/include/dyn/options.hpp");
  std::stringstream source;
  source << file.rdbuf();
  const std::string text = source.str();
  const std::regex member(R"(\n  [a-zA-Z][\w:<>, ()&]* (\w+)( = [^;\n]+)?;)");
  std::set<std::string> members;
  for (std::sregex_iterator at(text.begin(), text.end(), member), end; at != end; ++at)
    members.insert((*at)[1]);
  for (const char* own : {"known_inputs", "free_dims", "log", "operators", "plugins", "executor",
                          "allocator", "progress"})
    CHECK(members.erase(own) == 1);
  for (const char* of_progress : {"stage", "done"}) CHECK(members.erase(of_progress) == 1);
  std::set<std::string> names;
  std::stringstream words(c::option_names());
  for (std::string word; words >> word;) {
    if (word.back() == ',') word.pop_back();
    names.insert(word);
  }
  CHECK(names == members);

  const COptions options = c_options();
  fails(DYN_ERROR_USER, dyn_options_set_text(options.get(), "thread", "1"),
        "there is no option 'thread'; those with a value are threads, ");
  fails(DYN_ERROR_USER, dyn_options_set_text(options.get(), "threads", "1"),
        "the option 'threads' takes an integer, not a text");
  fails(DYN_ERROR_USER, dyn_options_set_flag(options.get(), "device", true),
        "the option 'device' takes a text, not a flag");
  fails(DYN_ERROR_USER, dyn_options_set_integer(options.get(), "strict", 1),
        "the option 'strict' takes a flag, not an integer");
  fails(DYN_ERROR_USER, dyn_options_set_integer(options.get(), "threads", std::int64_t{1} << 31),
        "does not take 2147483648: its least is -2147483648, its greatest 2147483647");
  fails(DYN_ERROR_USER, dyn_options_set_integer(options.get(), "device_memory", -1),
        "does not take -1");
  fails(DYN_ERROR_USER, dyn_options_set_text(options.get(), nullptr, "x"),
        "the argument 'name' is NULL");
  fails(DYN_ERROR_USER, dyn_options_set_text(options.get(), "device", nullptr),
        "the argument 'value' is NULL");
  succeeds(dyn_options_set_text(options.get(), "device", "abacus"));
  dyn_graph* graph = nullptr;
  fails(DYN_ERROR_USER,
        dyn_graph_from_text(layer, std::strlen(layer), options.get(), nullptr, &graph), "abacus");
}

TEST_CASE("C: log lines come with their level, and end") {
  const COptions options = c_options();
  std::vector<std::string> lines;
  const auto log = [](void* context, dyn_log_level level, const char* text, size_t length) {
    CHECK(std::strlen(text) == length);
    CHECK(level >= DYN_LOG_DEBUG);
    CHECK(level <= DYN_LOG_WARNING);
    static_cast<std::vector<std::string>*>(context)->emplace_back(text);
  };
  succeeds(dyn_options_set_log(options.get(), log, &lines));
  c_graph(layer, options.get());
  succeeds(dyn_options_set_log(options.get(), nullptr, nullptr));
  const std::size_t count = lines.size();
  c_graph(layer, options.get());
  CHECK(lines.size() == count);
}

TEST_CASE("C: a load report is as long as its caller knows it") {
  const CGraph graph = c_graph(layer, c_options().get());
  dyn_load_report report;
  report.struct_size = sizeof report;
  succeeds(dyn_graph_load_report(graph.get(), &report));
  CHECK(report.struct_size == sizeof report);
  CHECK(report.total > 0);
  CHECK(report.kernels > 0);
  CHECK(report.weight_bytes >= 24 * 17 * 4);
  struct {
    size_t struct_size;
    double total, parse;
  } old = {sizeof old, -1, -1};
  dyn_load_report copy = report;
  copy.struct_size = offsetof(dyn_load_report, parse);
  copy.parse = -7;
  succeeds(dyn_graph_load_report(graph.get(), &copy));
  CHECK(copy.total > 0);
  CHECK(copy.parse == -7);
  // A caller of a later version has members that this one does not know.
  struct {
    dyn_load_report report;
    double later;
  } late{};
  late.report.struct_size = sizeof late;
  late.later = 5;
  succeeds(dyn_graph_load_report(graph.get(), &late.report));
  CHECK(late.report.kernels == report.kernels);
  CHECK(late.later == 0);
  report.struct_size = 3;
  fails(DYN_ERROR_USER, dyn_graph_load_report(graph.get(), &report), "struct_size is 3");
  fails(DYN_ERROR_USER, dyn_graph_load_report(graph.get(), nullptr), "'report' is NULL");
}
