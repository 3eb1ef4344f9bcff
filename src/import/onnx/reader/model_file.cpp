#include "src/import/onnx/reader/model_file.hpp"

#include <cstring>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include "dyn/error.hpp"
#include "src/base/readable_file.hpp"

namespace dyn::onnx {

ModelProto read_model(const std::string& path) {
  const ReadableFile file(path);
  const auto fail = [&](const std::string& message) {
    throw Error(ErrorKind::model, fmt::format("{}: {}", path, message));
  };
  // Protobuf reads in blocks, so that a file is in memory only once, as messages.
  google::protobuf::io::FileInputStream blocks(file.descriptor());
  google::protobuf::io::CodedInputStream input(&blocks);
  ModelProto model;
  const bool parsed = model.ParseFromCodedStream(&input) && input.ConsumedEntireMessage();
  if (blocks.GetErrno() != 0)
    throw Error(ErrorKind::device,
                fmt::format("cannot read '{}': {}", path, std::strerror(blocks.GetErrno())));
  if (!parsed)
    fail(
        fmt::format("not a whole ONNX model: reading it as protobuf failed at byte {}; is the file "
                    "cut, of another format, over 2 GiB (keep weights in external data), or nested "
                    "deeper than 100 messages?",
                    input.CurrentPosition()));
  if (!model.has_graph()) fail("not an ONNX model: it has no graph");
  return model;
}

}  // namespace dyn::onnx
