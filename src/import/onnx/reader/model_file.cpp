#include "src/import/onnx/reader/model_file.hpp"

#include <fstream>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "dyn/error.hpp"

namespace dyn::onnx {
namespace {

/// Protobuf reads in blocks, so that a file is in memory only once, as messages.
class FileStream final : public google::protobuf::io::CopyingInputStream {
 public:
  explicit FileStream(std::ifstream& file) : file_(file) {}
  int Read(void* buffer, int size) override {
    file_.read(static_cast<char*>(buffer), size);
    return file_.bad() ? -1 : static_cast<int>(file_.gcount());
  }

 private:
  std::ifstream& file_;
};

}  // namespace

ModelProto read_model(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto fail = [&](const std::string& message) {
    throw Error(ErrorKind::model, fmt::format("{}: {}", path, message));
  };
  if (!file) fail("cannot be opened");
  FileStream stream(file);
  google::protobuf::io::CopyingInputStreamAdaptor blocks(&stream);
  google::protobuf::io::CodedInputStream input(&blocks);
  ModelProto model;
  if (!model.ParseFromCodedStream(&input) || !input.ConsumedEntireMessage())
    fail(
        fmt::format("not a whole ONNX model: reading it as protobuf failed at byte {}; is the file "
                    "cut, of another format, over 2 GiB (keep weights in external data), or nested "
                    "deeper than 100 messages?",
                    input.CurrentPosition()));
  if (file.bad()) fail("reading failed");
  if (!model.has_graph()) fail("not an ONNX model: it has no graph");
  return model;
}

}  // namespace dyn::onnx
