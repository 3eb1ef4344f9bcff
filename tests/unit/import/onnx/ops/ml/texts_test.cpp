// Inputs and outputs of texts.

#include <doctest/doctest.h>

#include <functional>

#include "dyn/texts.hpp"
#include "graph/text/text.hpp"
#include "src/import/onnx/import.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/ops/ml/ml_file.hpp"
#include "tests/unit/import/onnx/values.hpp"

namespace dyn::testing::ml_texts {
namespace {

using Strings = std::vector<std::string>;
constexpr int text_type = onnx::TensorProto::STRING;

/// A model with both domains.
OnnxFile new_file() {
  OnnxFile file;
  onnx::OperatorSetIdProto& set = *file.model.add_opset_import();
  set.set_domain("ai.onnx.ml");
  set.set_version(4);
  return file;
}

onnx::NodeProto& ml_node(OnnxFile& file, const std::string& op,
                         std::initializer_list<std::string> inputs, const std::string& output) {
  onnx::NodeProto& node = file.node(op, inputs, {output});
  node.set_domain("ai.onnx.ml");
  return node;
}

void add_texts(OnnxFile& file, const std::string& name, const std::vector<std::int64_t>& dims,
               const Strings& texts) {
  onnx::TensorProto& tensor = *file.model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(text_type);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  for (const std::string& text : texts) tensor.add_string_data(text);
}

struct TextInput {
  std::string name;
  Strings texts;
  Shape shape;
};

/// What a model makes of texts.
struct TextRun {
  TextRun(const OnnxFile& file, const std::vector<TextInput>& inputs, const Options& options = {})
      : graph(load(file, options)), coder(graph) {
    for (const TextInput& input : inputs)
      named.emplace_back(input.name, coder.encode(input.name, input.texts, input.shape));
  }
  Result number() { return run_all(graph, named).front(); }
  Strings text() {
    const Outputs outputs = graph.run(named);
    return coder.decode(graph.outputs().front().name, outputs[0]);
  }

  Graph graph;
  TextCoder coder;
  NamedTensors named;
};

Strings texts_of(const std::vector<PortInfo>& ports, std::size_t port) {
  REQUIRE(ports.at(port).texts != nullptr);
  return *ports[port].texts;
}

OnnxFile encoder_of_texts(const std::function<void(onnx::NodeProto&)>& describe,
                          const std::string& op = "LabelEncoder") {
  OnnxFile file = new_file();
  file.input("x", {"N", 1}, text_type).output("y");
  describe(ml_node(file, op, {"x"}, "y"));
  return file;
}

const Strings animals{"cat", "", "été", "dog", "cat ", "Cat"};
const Shape column{6, 1};

}  // namespace

TEST_CASE("an input of texts is looked up by encoders") {
  const Strings keys{"dog", "été", "", "cat", "dog"};
  const OnnxFile to_numbers = encoder_of_texts([&](auto& node) {
    set_list(set_words(node, "keys_strings", keys), "values_int64s", {10, 11, 12, 13, 14});
  });
  TextRun run(to_numbers, {{"x", animals, column}});
  CHECK(run.number().values == Values{13, 12, 11, 10, -1, -1});
  CHECK(run.number().shape == column);
  CHECK(texts_of(run.graph.inputs(), 0) == Strings{"dog", "été", "", "cat"});
  const OnnxFile mapper = encoder_of_texts(
      [](auto& node) {
        set_list(set_words(node, "cats_strings", {"dog", "cat"}), "cats_int64s", {3, 4});
      },
      "CategoryMapper");
  CHECK(TextRun(mapper, {{"x", animals, column}}).number().values == Values{4, -1, -1, 3, -1, -1});
  OnnxFile one_hot = encoder_of_texts(
      [](auto& node) { set_words(node, "cats_strings", {"été", "cat"}); }, "OneHotEncoder");
  const Result ones = TextRun(one_hot, {{"x", animals, column}}).number();
  CHECK(ones.shape == Shape{6, 1, 2});
  CHECK(ones.values == Values{0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0});
  set(*one_hot.model.mutable_graph()->mutable_node(0), "zeros", 0);
  CHECK_THROWS_AS(TextRun(one_hot, {{"x", animals, column}}).number(), Error);
  CHECK_NOTHROW(TextRun(one_hot, {{"x", {"cat", "été"}, {2, 1}}}).number());
}

TEST_CASE("texts become other texts, whose equal values are one") {
  const OnnxFile file = encoder_of_texts([](auto& node) {
    set_words(set_words(node, "keys_strings", {"dog", "cat", "été"}), "values_strings",
              {"animal", "animal", "season"});
    set_word(node, "default_string", "");
  });
  Logged logged;
  logged.options.strict = true;
  TextRun run(file, {{"x", animals, column}}, logged.options);
  CHECK(run.text() == Strings{"animal", "", "season", "animal", "", ""});
  CHECK(texts_of(run.graph.outputs(), 0) == Strings{"animal", "season", ""});
  CHECK(logged.warnings.empty());
}

TEST_CASE("texts beyond a list, and places of nothing, are unknown texts") {
  const OnnxFile file = encoder_of_texts([](auto& node) {
    set_list(set_words(node, "keys_strings", {"a", "b"}), "values_int64s", {1, 2});
  });
  const Tensor places = Tensor::from<std::int64_t>(
      {0, 1, 2, 1'000'000, -1, -7, std::numeric_limits<std::int64_t>::min(),
       std::numeric_limits<std::int64_t>::max()},
      {8, 1});
  CHECK(run_all(file, {{"x", places}}).front().values == Values{1, 2, -1, -1, -1, -1, -1, -1});
}

TEST_CASE("columns of texts are joined, chosen and encoded, as in pipelines") {
  OnnxFile file = new_file();
  file.input("color", {"N", 1}, text_type).input("size", {"N", 1}, text_type);
  file.input("other", {"N", 1}, text_type).output("y").output("z");
  set(file.node("Concat", {"color", "size"}, {"both"}), "axis", 1);
  file.integers("first", {1}, {0}).integers("second", {1}, {1}).integers("flat", {2}, {-1, 1});
  ml_node(file, "ArrayFeatureExtractor", {"both", "first"}, "colors");
  ml_node(file, "ArrayFeatureExtractor", {"both", "second"}, "sizes");
  set(file.node("Cast", {"sizes"}, {"cast"}), "to", text_type);
  file.node("Reshape", {"cast", "flat"}, {"reshaped"});
  set_words(ml_node(file, "OneHotEncoder", {"colors"}, "c"), "cats_strings", {"red", "blue"});
  set_words(ml_node(file, "OneHotEncoder", {"reshaped"}, "s"), "cats_strings", {"S", "red"});
  set_words(ml_node(file, "OneHotEncoder", {"other"}, "z"), "cats_strings", {"x"});
  set(file.node("Concat", {"c", "s"}, {"y"}), "axis", 2);
  TextRun run(file, {{"color", {"blue", "red", "S"}, {3, 1}},
                     {"size", {"S", "M", "red"}, {3, 1}},
                     {"other", {"x", "red", ""}, {3, 1}}});
  const std::vector<Result> results = run_all(run.graph, run.named);
  CHECK(results[0].values == Values{0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1});
  CHECK(results[1].values == Values{1, 0, 0});
  // Texts that meet have one list; others do not grow it.
  CHECK(texts_of(run.graph.inputs(), 0) == Strings{"red", "blue", "S"});
  CHECK(texts_of(run.graph.inputs(), 1) == texts_of(run.graph.inputs(), 0));
  CHECK(texts_of(run.graph.inputs(), 2) == Strings{"x"});
}

TEST_CASE("texts are compared with constants and with each other") {
  OnnxFile file = new_file();
  file.input("a", {"N", 2}, text_type).input("b", {1, 2}, text_type);
  file.output("both").output("one").output("constants");
  add_texts(file, "yes", {}, {"yes"});
  add_texts(file, "names", {3}, {"no", "yes", "no"});
  file.node("Equal", {"a", "b"}, {"both"});
  file.node("Equal", {"a", "yes"}, {"one"});
  file.node("Equal", {"names", "yes"}, {"constants"});
  TextRun run(file, {{"a", {"yes", "", "maybe", "maybe", "été", "no"}, {3, 2}},
                     {"b", {"maybe", ""}, {1, 2}}});
  const std::vector<Result> results = run_all(run.graph, run.named);
  CHECK(results[0].values == Values{0, 1, 1, 0, 0, 0});
  CHECK(results[1].values == Values{1, 0, 0, 0, 0, 0});
  CHECK(results[2].values == Values{0, 1, 0});
}

TEST_CASE("texts that are chosen among inputs and constants keep their list") {
  OnnxFile file = new_file();
  file.input("x", {"N"}, text_type).output("y").output("passed");
  add_texts(file, "missing", {}, {"?"});
  add_texts(file, "empty", {1}, {""});
  file.node("Equal", {"x", "empty"}, {"is_empty"});
  file.node("Where", {"is_empty", "missing", "x"}, {"filled"});
  file.node("Identity", {"filled"}, {"y"});
  file.integers("places", {2}, {1, 0});
  file.node("Gather", {"x", "places"}, {"passed"});
  const Strings x{"", "unknown", "?"};
  TextRun run(file, {{"x", x, {3}}});
  const Outputs outputs = run.graph.run(run.named);
  CHECK(run.coder.decode("y", outputs["y"]) == Strings{"?", "unknown", "?"});
  CHECK(run.coder.decode("passed", outputs["passed"]) == Strings{"unknown", ""});
  CHECK(texts_of(run.graph.outputs(), 0) == texts_of(run.graph.inputs(), 0));
}

TEST_CASE("texts that an encoder gives meet those of an input") {
  OnnxFile file = new_file();
  file.input("x", {"N"}, text_type).output("same");
  onnx::NodeProto& encoder = ml_node(file, "LabelEncoder", {"x"}, "coded");
  set_words(set_words(encoder, "keys_strings", {"dog", "cat"}), "values_strings", {"cat", "é"});
  file.node("Equal", {"x", "coded"}, {"same"});
  TextRun run(file, {{"x", {"dog", "cat", "é", "_Unused"}, {4}}});
  CHECK(run.number().values == Values{0, 0, 0, 1});
  CHECK(texts_of(run.graph.inputs(), 0) == Strings{"dog", "cat", "é", "_Unused"});
}

TEST_CASE("constants with different lists meet, and equal texts are equal") {
  OnnxFile file = new_file();
  file.input("x", {"N", 2}).output("y").output("rows");
  add_texts(file, "some", {2}, {"b", "a"});
  add_texts(file, "more", {3}, {"a", "a", "c"});
  set(file.node("Concat", {"some", "more"}, {"all"}), "axis", 0);
  file.node("Identity", {"all"}, {"y"});
  file.node("Shape", {"all"}, {"rows"});
  const std::vector<float> x(2);
  const Graph graph = load(file);
  const Outputs outputs = graph.run({{"x", Tensor::view(x, {1, 2})}});
  CHECK(TextCoder(graph).decode("y", outputs["y"]) == Strings{"b", "a", "a", "a", "c"});
  CHECK(outputs["rows"].data<std::int64_t>()[0] == 5);
}

TEST_CASE("n-grams of texts are counted") {
  OnnxFile file = new_file();
  file.input("x", {"N", 4}, text_type).output("y");
  onnx::NodeProto& node = file.node("TfIdfVectorizer", {"x"}, {"y"});
  set_words(node, "pool_strings", {"cat", "été", "cat", "cat"});
  set_list(set_list(node, "ngram_counts", {0, 2}), "ngram_indexes", {0, 1, 2});
  set(set(set(node, "min_gram_length", 1), "max_gram_length", 2), "max_skip_count", 0);
  set_word(node, "mode", "TF");
  CHECK(TextRun(file, {{"x", {"cat", "cat", "été", "x", "y", "", "cat", "y"}, {2, 4}}})
            .number()
            .values == Values{2, 1, 1, 1, 0, 0});
}

TEST_CASE("texts in functions, branches and loops are known") {
  OnnxFile file = new_file();
  file.input("x", {3}, text_type).input("on", {1}, onnx::TensorProto::BOOL).output("y");
  onnx::FunctionProto& function = file.function("is_cat", {"a"}, {"b"});
  onnx::NodeProto& constant = node(function, "Constant", {}, {"cat"});
  set_word(constant, "value_string", "cat");
  node(function, "Equal", {"a", "cat"}, {"b"});
  file.call("is_cat", {"x"}, {"cats"});
  onnx::NodeProto& branch = file.node("If", {"on"}, {"y"});
  onnx::GraphProto &yes = graph_of(branch, "then_branch"), &no = graph_of(branch, "else_branch");
  set_word(node(yes, "Constant", {}, {"dog"}), "value_string", "dog");
  node(yes, "Equal", {"x", "dog"}, {"dogs"});
  name_outputs(yes, {"dogs"});
  node(no, "Identity", {"cats"}, {"same"});
  name_outputs(no, {"same"});
  TextRun run(file, {{"x", {"dog", "cat", "eel"}, {3}}});
  for (const bool on : {true, false}) {
    run.named.resize(1);
    run.named.emplace_back("on", Tensor::from<bool>({on}, {1}));
    CHECK(run.number().values == (on ? Values{1, 0, 0} : Values{0, 1, 0}));
  }
}

TEST_CASE("attributes of a call are texts that its body looks up") {
  OnnxFile file = new_file();
  file.input("x", {"N"}, text_type).output("y");
  onnx::FunctionProto& function = file.function("code", {"a"}, {"b"});
  onnx::OperatorSetIdProto& set = *function.add_opset_import();
  set.set_domain("ai.onnx.ml");
  set.set_version(4);
  onnx::NodeProto& encoder = node(function, "LabelEncoder", {"a"}, {"b"});
  encoder.set_domain("ai.onnx.ml");
  set_list(encoder, "values_int64s", {5, 6});
  set_reference(encoder, "keys_strings", "keys", onnx::AttributeProto::STRINGS);
  function.add_attribute("keys");
  set_words(file.call("code", {"x"}, {"y"}), "keys", {"a", "é"});
  CHECK(TextRun(file, {{"x", {"é", "a", "b"}, {3}}}).number().values == Values{6, 5, -1});
}

TEST_CASE("a loop reads texts around it; data decide between none") {
  OnnxFile file = new_file();
  file.input("x", {3}, text_type).input("start", {3}, onnx::TensorProto::BOOL);
  file.input("steps", {}, onnx::TensorProto::INT64).output("y");
  onnx::NodeProto& loop = file.node("Loop", {"steps", "", "start"}, {"y"});
  onnx::GraphProto& body = graph_of(loop, "body");
  name_inputs(body, {"step", "condition", "v"});
  set_word(node(body, "Constant", {}, {"cat"}), "value_string", "cat");
  node(body, "Equal", {"x", "cat"}, {"is_cat"});
  node(body, "Xor", {"v", "is_cat"}, {"next"});
  name_outputs(body, {"condition", "next"});
  TextRun run(file, {{"x", {"cat", "dog", "?"}, {3}}});
  for (const std::int64_t steps : {0, 1, 2, 3}) {
    run.named.resize(1);
    run.named.emplace_back("start", Tensor::from<bool>({false, false, true}, {3}));
    run.named.emplace_back("steps", Tensor::from<std::int64_t>({steps}, {}));
    CHECK(run.number().values == Values{steps % 2 == 1 ? 1.0 : 0.0, 0, 1});
  }
  OnnxFile chosen = new_file();
  chosen.input("x", {3}, text_type).input("d", {2, 3}).output("y");
  chosen.floats("zero", {}, {0});
  set(chosen.node("ReduceMax", {"d"}, {"most"}), "keepdims", 0);
  chosen.node("Greater", {"most", "zero"}, {"on"});
  onnx::NodeProto& branch = chosen.node("If", {"on"}, {"y"});
  onnx::GraphProto &yes = graph_of(branch, "then_branch"), &no = graph_of(branch, "else_branch");
  set_words(node(yes, "Constant", {}, {"a"}), "value_strings", {"a", "b", "c"});
  node(no, "Identity", {"x"}, {"b"});
  name_outputs(yes, {"a"});
  name_outputs(no, {"b"});
  check_error(chosen, ErrorKind::unsupported,
              {"data decide which of two sequences, optional values or tensors of texts it is"});
}

TEST_CASE("sizes decide which texts an output has, from one list") {
  const auto one_or_many = [](const Strings& one) {
    OnnxFile file = new_file();
    file.input("x", {"N"}, text_type).output("y");
    file.integers("one", {1}, {1});
    add_texts(file, "a", {1}, {"a"});
    set(file.node("Concat", {"x", "a"}, {"longer"}), "axis", 0);
    file.node("Shape", {"x"}, {"size"});
    file.node("Equal", {"size", "one"}, {"is_one"});
    onnx::NodeProto& branch = file.node("If", {"is_one"}, {"y"});
    onnx::GraphProto &yes = graph_of(branch, "then_branch"), &no = graph_of(branch, "else_branch");
    if (one.empty())
      node(yes, "Identity", {"x"}, {"chosen"});
    else
      set_words(node(yes, "Constant", {}, {"chosen"}), "value_strings", one);
    node(no, "Identity", {"longer"}, {"all"});
    name_outputs(yes, {"chosen"});
    name_outputs(no, {"all"});
    return file;
  };
  for (const Strings& x : {Strings{"b", "c"}, Strings{"d"}}) {
    Strings expected = x;
    if (x.size() > 1) expected.emplace_back("a");
    TextRun run(one_or_many({}), {{"x", x, {static_cast<std::int64_t>(x.size())}}});
    CHECK(run.text() == expected);
  }
  TextRun run(one_or_many({"z"}), {{"x", {"b"}, {1}}});
  CHECK_THROWS_WITH_AS(run.text(), doctest::Contains("the output y has other texts"), Error);
}

TEST_CASE("a model of texts is text that reads back") {
  const OnnxFile file = encoder_of_texts([](auto& node) {
    set_words(set_words(node, "keys_strings", {"a\nb", "\"q\"", ""}), "values_strings",
              {"1", "2", "2"});
  });
  const Folder folder;
  file.save(folder.path("m.onnx"));
  const onnx::Imported imported = onnx::import_model(folder.path("m.onnx"), "w");
  CHECK(imported.text.find(R"(x: i64[N, 1] of ["a\x0ab", "\"q\"", ""])") != std::string::npos);
  CHECK(imported.text.find(R"(of ["1", "2", "_Unused"])") != std::string::npos);
  CHECK(graph::print(graph::parse(imported.text)) == imported.text);
  CHECK(*imported.inputs.front().texts == Strings{"a\nb", "\"q\"", ""});
}

TEST_CASE("what needs the letters of an input's texts is refused") {
  OnnxFile concat = new_file();
  concat.input("x", {"N"}, text_type).output("y");
  concat.node("StringConcat", {"x", "x"}, {"y"});
  check_error(concat, ErrorKind::unsupported, {"StringConcat"});
  for (const char* op : {"Abs", "NonZero", "Unique", "Less"}) {
    OnnxFile file = new_file();
    file.input("x", {"N"}, text_type).output("y");
    file.node(op, {"x", "x"}, {"y"});
    check_error(file, ErrorKind::unsupported, {"x holds texts, of which dyn has no tensors"});
  }
  OnnxFile mixed = new_file();
  mixed.input("x", {"N"}, text_type).input("n", {"N"}, onnx::TensorProto::INT64).output("y");
  mixed.node("Equal", {"x", "n"}, {"y"});
  check_error(mixed, ErrorKind::model, {"its input 1 holds numbers, but others hold texts"});
  check_error(encoder_of_texts([](auto& node) {
                set_list(set_list(node, "keys_int64s", {1}), "values_int64s", {2});
              }),
              ErrorKind::model, {"its input holds texts, but its keys are numbers"});
  OnnxFile grams = new_file();
  grams.input("x", {"N"}, text_type).output("y");
  onnx::NodeProto& node = grams.node("TfIdfVectorizer", {"x"}, {"y"});
  set_list(set_list(node, "pool_int64s", {1}), "ngram_counts", {0});
  set_word(set_list(node, "ngram_indexes", {0}), "mode", "TF");
  check_error(grams, ErrorKind::model, {"its input holds texts, but it has no pool_strings"});
}

TEST_CASE("an input of texts takes nothing but i64") {
  const Graph graph = load(encoder_of_texts(
      [](auto& node) { set_list(set_words(node, "keys_strings", {"a"}), "values_int64s", {1}); }));
  CHECK_THROWS_WITH_AS(graph.run({{"x", Tensor::from<float>({0}, {1, 1})}}),
                       doctest::Contains("input 'x' is f32, but the model's is i64"), Error);
}

}  // namespace dyn::testing::ml_texts
