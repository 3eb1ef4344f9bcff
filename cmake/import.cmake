# Reading ONNX: protobuf's compiler makes the messages of its schema, and dyn_import converts them.

set(schema ${PROJECT_SOURCE_DIR}/src/import/onnx/reader)
set(onnx_messages ${PROJECT_BINARY_DIR}/messages)
file(MAKE_DIRECTORY ${onnx_messages})
add_custom_command(
  OUTPUT ${onnx_messages}/onnx.pb.cc ${onnx_messages}/onnx.pb.h
  COMMAND protobuf::protoc --cpp_out=${onnx_messages} -I${schema} ${schema}/onnx.proto
  DEPENDS ${schema}/onnx.proto protobuf::protoc)
dyn_part(import SOURCES src/import/*.cpp LIBRARIES nlohmann_json::nlohmann_json protobuf::libprotobuf-lite)
target_sources(dyn_import PRIVATE ${onnx_messages}/onnx.pb.cc)
target_include_directories(dyn_import SYSTEM PRIVATE ${onnx_messages})
set_source_files_properties(${onnx_messages}/onnx.pb.cc PROPERTIES COMPILE_OPTIONS -w)
