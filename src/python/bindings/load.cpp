#include "src/python/bindings/load.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/python/bindings/bytes.hpp"
#include "src/python/bindings/host/reader.hpp"

namespace dyn::python {
namespace {

nb::dict dict_of_files(nb::handle files) {
  nb::dict own;
  if (files.is_none() || PyDict_Update(own.ptr(), files.ptr()) == 0) return own;
  nb::python_error error;
  if (!error.matches(PyExc_Exception)) throw error;
  user_error("files are a mapping from names to bytes, not " + described(files));
}

GraphObject from_bytes(std::string_view model, nb::handle files, const LoadOptions& options) {
  std::vector<std::unique_ptr<Bytes>> kept;
  std::map<std::string, std::string_view> views;
  for (const auto& [name, bytes] : dict_of_files(files)) {
    const std::string file = text_of(name);
    kept.push_back(std::make_unique<Bytes>(bytes, "the file '" + file + "' is"));
    views.emplace(file, kept.back()->text());
  }
  return loaded("memory", options, [&] { return Graph::from_memory(model, views, options); });
}

/// `what` a model is.
GraphObject from_memory(nb::handle model, nb::handle files, const LoadOptions& options,
                        const char* what) {
  if (PyUnicode_Check(model.ptr()) != 0) return from_bytes(to_utf8(model), files, options);
  if (model.is_none() || PyObject_CheckBuffer(model.ptr()) == 0)
    user_error("a model is " + std::string(what) + ", not " + described(model));
  const Bytes bytes(model, "the model is");
  return from_bytes(bytes.text(), files, options);
}

GraphObject load(nb::handle model, const nb::kwargs& keywords) {
  const LoadOptions options = to_options(keywords);
  if (const auto path = path_of(model))
    return loaded(*path, options, [&] { return Graph::load(*path, options); });
  return from_memory(model, nb::none(), options, "a path, or the bytes of a model");
}

GraphObject from_text(nb::handle text, nb::handle weight_directory, const nb::kwargs& keywords) {
  if (PyUnicode_Check(text.ptr()) == 0) user_error("a text is a str, not " + described(text));
  const std::string own = to_utf8(text);
  const auto directory = path_of(weight_directory);
  if (!directory) user_error("a folder is a path, not " + described(weight_directory));
  const LoadOptions options = to_options(keywords);
  return loaded("text", options, [&] { return Graph::from_text(own, options, *directory); });
}

GraphObject from_reader(nb::handle name, nb::handle reader, const nb::kwargs& keywords) {
  const auto own = path_of(name);
  if (!own) user_error("a reader's name of a model is a str, not " + described(name));
  const LoadOptions options = to_options(keywords);
  const std::shared_ptr<Reader> files = make_reader(reader, options.failure);
  return loaded(*own, options, [&] { return Graph::from_reader(*own, files, options); });
}

}  // namespace

GraphObject loaded(const std::string& source, const LoadOptions& options,
                   const std::function<Graph()>& load) {
  const bool on_executor = options.executor != nullptr;
  return GraphObject(without_gil(options.failure.get(), [&] {
    return std::make_shared<GraphState>(load(), source, on_executor, options.failure);
  }));
}

void define_loads(nb::class_<GraphObject>& own) {
  own.def(
         "__init__",
         [](GraphObject* self, nb::handle model, const nb::kwargs& keywords) {
           new (self) GraphObject(load(model, keywords));
         },
         nb::arg("model").none(), nb::arg("options"),
         nb::sig("def __init__(self, model: str | os.PathLike[str] | bytes | bytearray | "
                 "memoryview, /, **options: object) "
                 "-> None"),
         "As load().")
      .def_static("load", load, nb::arg("model").none(), nb::arg("options"),
                  nb::sig("def load(model: str | os.PathLike[str] | bytes | bytearray | "
                          "memoryview, /, **options: object) "
                          "-> Graph"),
                  "A model from a .dyn or .onnx file, or from the bytes of such a file. Options\n"
                  "are those of dyn::Options, by name: threads=2, precision=\"bf16\".")
      .def_static("from_text", from_text, nb::arg("text").none(), nb::arg("weight_directory") = ".",
                  nb::arg("options"),
                  nb::sig("def from_text(text: str, weight_directory: str | os.PathLike[str] = "
                          "\".\", **options: object) -> Graph"),
                  "A model from text; relative weight files are looked for in weight_directory.")
      .def_static(
          "from_memory",
          [](nb::handle model, nb::handle files, const nb::kwargs& keywords) {
            return from_memory(model, files, to_options(keywords),
                               "the bytes of an ONNX file, or dyn's text");
          },
          nb::arg("model").none(), nb::arg("files") = nb::none(), nb::arg("options"),
          nb::sig("def from_memory(model: str | bytes | bytearray | memoryview, files: "
                  "collections.abc.Mapping[str, bytes | bytearray | memoryview] | None = None, "
                  "**options: object) -> Graph"),
          "A model from the bytes of an ONNX file, or from text, with each file of weights as\n"
          "bytes by the name that the model uses. Nothing is read from the file system.")
      .def_static(
          "from_reader", from_reader, nb::arg("name").none(), nb::arg("reader").none(),
          nb::arg("options"),
          nb::sig("def from_reader(name: str | os.PathLike[str], reader: object, "
                  "**options: object) -> Graph"),
          "A model whose files a Python object reads: one that is packed or encrypted.\n"
          "`reader` has size(name), which gives the file's number of bytes, and\n"
          "read(name, offset, bytes), which gives as many bytes from there on. It may have\n"
          "in_place(name), which gives the whole file where it lies in memory, or None,\n"
          "and identity(name), a str that tells this state of a file from every other;\n"
          "with one, prepacked weights are kept in the cache directory, in the clear.\n"
          "`name` is the model's; other files are asked for by names beside it. Called\n"
          "from any thread, by one at a time for each graph, also by runs that import an\n"
          "ONNX model again. Its exception is the cause of the error of the load or run.");
}

}  // namespace dyn::python
