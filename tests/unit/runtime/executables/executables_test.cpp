// Each kind of executable answers all that a caller may ask, or says why it cannot.

#include <doctest/doctest.h>

#include <vector>

#include "dyn/session.hpp"
#include "src/runtime/run/call_state.hpp"
#include "src/runtime/structures/undecided_executable.hpp"
#include "src/runtime/structures/variant_executable.hpp"
#include "tests/unit/runtime/load/fake_target.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using runtime::CallState;
using runtime::Model;
using runtime::Structures;

namespace {

using Floats = std::vector<float>;
using ModelPtr = std::shared_ptr<const Model>;

/// Rows of x that a mark picks, doubled: their number is known when `nonzero` has run.
constexpr const char* picked_rows = R"(dyn 1
dim N
dim P
graph picked(x: f32[N, 2], mark: f32[N]) -> (y: f32[_, 2]) {
  at = nonzero(mark) count=P
  y = gather(x + x, reshape(at) shape=[P]) axis=0 * 2
  return y
}
)";

ModelPtr load(const char* text, const Options& options) {
  return Model::load({text, "a test", ".", nullptr, {}}, options, testing::make_fake_target);
}

Options with_policy(const std::string& policy) {
  Options options = testing::uncached(1);
  options.policy = policy;
  return options;
}

Floats elements(const Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

Floats run_picked(const ModelPtr& model, const Floats& mark) {
  const Floats x{1, 2, 3, 4, 5, 6};
  CallState call(model);
  call.set_input(0, Tensor::view(x, {3, 2}));
  call.set_input(1, Tensor::view(mark, {3}));
  call.run();
  testing::check_error(ErrorKind::user, [&] { call.plan(); }, "has not run yet");
  return elements(call.output(0));
}

/// A model that adds to x the one value of `n`, and is loaded anew for each such value.
ModelPtr undecided(int& loads) {
  runtime::ModelInfo info{testing::uncached(1), 1, {}, {}, {}};
  info.options.structures = 1;
  info.inputs = {{"x", DType::f32, "[N]"}, {"n", DType::f32, "[]"}};
  info.outputs = {{"y", DType::f32, "[N]"}};
  const Options options = info.options;
  const auto load_for = [&loads, options](const Structures::Facts& facts) -> Structures::Loaded {
    if (!facts.values.contains("n")) return {nullptr, {{"n"}, {}}};
    ++loads;
    const float n = facts.values.at("n").data<float>()[0];
    const std::string text =
        "dyn 1\ndim N\ngraph add(x: f32[N], n: f32[]) -> (y: f32[N]) {\n  y = x + " +
        std::to_string(n) + "\n  return y\n}\n";
    return {load(text.c_str(), options), {}};
  };
  return std::make_shared<const Model>(
      std::make_unique<runtime::UndecidedExecutable>(std::move(info), Structures::Deciding{},
                                                     load_for, nullptr),
      LoadReport());
}

/// A model of x + 1, which at one row is x + 2 without the axis of rows.
ModelPtr with_variant(int& loads, const Options& options) {
  const ModelPtr usual =
      load("dyn 1\ndim N\ngraph g(x: f32[N, 2]) -> (y: f32[N, 2]) {\n  y = x + 1\n  return y\n}\n",
           options);
  const auto key_at = [](std::span<const Shape* const> inputs) {
    return (*inputs[0])[0] == 1 ? runtime::Variants::Key{"N"} : runtime::Variants::Key{};
  };
  const auto load_variant = [&loads, options](const runtime::Variants::Key& key) {
    CHECK(key == runtime::Variants::Key{"N"});
    ++loads;
    return load(
        "dyn 1\ngraph g(x: f32[1, 2]) -> (y: f32[2]) {\n  y = reshape(x) shape=[2] + 2\n  return "
        "y\n}\n",
        options);
  };
  return std::make_shared<const Model>(
      std::make_unique<runtime::VariantExecutable>(usual, key_at, load_variant),
      usual->load_report());
}

}  // namespace

TEST_CASE("a model with variants is the usual one, but at shapes that change its structure") {
  int loads = 0;
  const ModelPtr model = with_variant(loads, testing::uncached(1));
  CHECK(model->device_name() == "fake");
  CHECK(model->problems().size() == 1);
  CHECK(model->inputs()[0].shape == "[N, 2]");
  CHECK(model->deciding_inputs().empty());
  CHECK(model->variant_at({{"x", {3, 2}}}) == nullptr);
  CHECK(loads == 0);
  CallState call(model);
  testing::check_error(ErrorKind::user, [&] { call.run(); }, "input 'x' is missing");
  const Floats x{1, 2, 3, 4, 5, 6};
  for (const std::int64_t rows : {3, 1, 1, 2, 1}) {
    call.set_input(0, Tensor::view(x.data(), {rows, 2}));
    call.run();
    Floats expected;
    for (std::int64_t i = 0; i < 2 * rows; ++i)
      expected.push_back(x[static_cast<std::size_t>(i)] + (rows == 1 ? 2.0f : 1.0f));
    CHECK(elements(call.output(0)) == expected);
    const Shape shape = rows == 1 ? Shape{2} : Shape{rows, 2};
    CHECK(call.output(0).shape() == shape);
    CHECK(call.plan().output_shapes == std::vector<Shape>{shape});
  }
  CHECK(loads == 1);
  const ModelPtr variant = runtime::model_at(model, {{"x", {1, 2}}});
  CHECK(variant != model);
  CHECK(variant->output_shapes(variant->bind({{"x", {1, 2}}}))[0].second == Shape{2});
  CHECK(loads == 1);
  testing::check_error(
      ErrorKind::user, [&] { model->variant_at({{"z", {1, 2}}}); }, "no input 'z'");
}

TEST_CASE("a segmented model has no plan, whoever asks, but dims, steps and runs") {
  const ModelPtr model = load(picked_rows, testing::uncached(1));
  CHECK(model->device_name() == "fake");
  CHECK(model->segments().size() + 1 == model->steps().size());
  const auto symbols = model->bind({{"x", {3, 2}}, {"mark", {3}}});
  CHECK(model->input_shapes(symbols)[0].second == Shape{3, 2});
  model->prepare(symbols);
  const char* why = "they are known when it has run";
  testing::check_error(ErrorKind::user, [&] { model->require_plan(); }, why);
  testing::check_error(ErrorKind::user, [&] { model->plan(symbols); }, why);
  testing::check_error(ErrorKind::user, [&] { model->plan_uncached(symbols); }, why);
  testing::check_error(ErrorKind::user, [&] { model->output_shapes(symbols); }, why);
  CallState call(model);
  testing::check_error(ErrorKind::user, [&] { call.use_plan(nullptr); }, why);
  CHECK(model->shapes_planned() == 0);
  CHECK(model->kernels_compiled_since_load() == 0);
  CHECK(run_picked(model, {1, 0, 2}) == Floats{4, 8, 20, 24});
  CHECK(run_picked(model, {0, 0, 0}).empty());
}

TEST_CASE("segments are measured as whole models are") {
  const ModelPtr model = load(picked_rows, with_policy("oracle"));
  const int before = testing::runs_of_program(2);
  CHECK(run_picked(model, {0, 3, 1}) == Floats{12, 16, 20, 24});
  CHECK(testing::runs_of_program(2) > before);
}

TEST_CASE("an undecided model has nothing but ports and runs") {
  int loads = 0;
  const ModelPtr model = undecided(loads);
  CHECK(model->device_name() == "cpu");
  CHECK(model->segments().empty());
  CHECK(model->problems().empty());
  CHECK(model->host_weight_bytes() == 0);
  const char* why = "decide the structure";
  testing::check_error(ErrorKind::user, [&] { model->require_structure(); }, why);
  testing::check_error(ErrorKind::user, [&] { model->module(); }, why);
  testing::check_error(ErrorKind::user, [&] { model->bind({{"x", {3}}, {"n", {}}}); }, why);
  testing::check_error(ErrorKind::user, [&] { model->bind_dims({}); }, why);
  testing::check_error(ErrorKind::user, [&] { model->plan({}); }, why);
  CHECK(loads == 0);

  CallState call(model);
  testing::check_error(ErrorKind::user, [&] { call.use_plan(nullptr); }, why);
  testing::check_error(ErrorKind::user, [&] { call.plan(); }, "has not run yet");
  testing::check_error(ErrorKind::user, [&] { call.run(); }, "input 'x' is missing");
  const Floats x{1, 2, 3};
  call.set_input(0, Tensor::view(x, {3}));
  for (const float n : {0.5f, 0.5f, 2.0f}) {
    call.set_input(1, Tensor::from({n}, {}));
    call.run();
    CHECK(elements(call.output(0)) == Floats{1 + n, 2 + n, 3 + n});
    CHECK(call.plan().output_shapes == std::vector<Shape>{{3}});
  }
  CHECK(loads == 2);
  CHECK(model->deciding_inputs() == std::vector<std::string>{"n"});
  Floats y(3);
  call.set_output(0, Tensor::view(y, {3}));
  call.run();
  CHECK(y == Floats{3, 4, 5});
  CHECK(loads == 2);
}

TEST_CASE("the reference plans shapes alone, and measures nothing") {
  Options options = testing::uncached(1, "reference");
  const char* text =
      "dyn 1\ndim N\ngraph g(x: f32[N]) -> (y: f32[N]) {\n  y = x + 1\n  return y\n}\n";
  const ModelPtr model = load(text, options);
  CHECK(model->device_name() == "reference");
  CHECK(model->problems().empty());
  const runtime::PlanPtr plan = model->plan(model->bind({{"x", {2}}}));
  CHECK(plan->launches.empty());
  CHECK(plan->output_shapes == std::vector<Shape>{{2}});
  CHECK(model->shapes_planned() == 1);
  options.policy = "oracle";
  const ModelPtr measured = load(text, options);
  testing::check_error(
      ErrorKind::unsupported, [&] { measured->plan(measured->bind({{"x", {2}}})); },
      "measured on device 'cpu' only");
}
