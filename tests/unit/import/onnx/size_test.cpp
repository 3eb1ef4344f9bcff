// Sizes of windows and steps that 64 bits hold, though products and sums of them do not fit.

#include <doctest/doctest.h>

#include <limits>

#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/onnx_file.hpp"

using namespace dyn;
using testing::check_error;
using testing::OnnxFile;
using testing::set_list;

namespace {

constexpr std::int64_t huge = std::int64_t{1} << 40;

OnnxFile pool(std::int64_t size, std::int64_t stride, std::int64_t dilation) {
  OnnxFile file;
  file.input("x", {"N", 2, "H", "W"}).output("y");
  set_list(set_list(set_list(file.node("MaxPool", {"x"}, {"y"}), "kernel_shape", {size, size}),
                    "strides", {stride, 1}),
           "dilations", {dilation, 1});
  return file;
}

OnnxFile columns(std::int64_t rows, std::int64_t across) {
  OnnxFile file;
  file.input("x", {"N", "C", "L"})
      .integers("image", {2}, {5, 6})
      .integers("block", {2}, {rows, across})
      .output("y");
  file.node("Col2Im", {"x", "image", "block"}, {"y"});
  return file;
}

}  // namespace

TEST_CASE("windows whose sizes do not fit are refused") {
  for (const OnnxFile& file :
       {pool(huge, 1, 1), pool(1 << 16, 1, 1), pool(2, huge, 1), pool(3, 1, huge),
        pool(2, 1, std::numeric_limits<std::int64_t>::max())})
    check_error(file, ErrorKind::unsupported,
                {"MaxPool \"MaxPool1\"",
                 "windows and strides of more than 2147483648 elements are not supported"});
  check_error(columns(huge, huge), ErrorKind::unsupported,
              {"Col2Im \"Col2Im1\"", "of more than 2147483648 elements"});
  check_error(
      columns(-1, -2), ErrorKind::model,
      {"Col2Im \"Col2Im1\"", "its windows have the size -1 along axis 0; it must be at least 1"});
}

TEST_CASE("filters of size 0, and deformable ones of too many taps, are refused") {
  OnnxFile conv;
  conv.input("x", {"N", 1, "H", "W"}).floats("w", {2, 1, 3, 0}, {}).output("y");
  conv.node("Conv", {"x", "w"}, {"y"});
  check_error(conv, ErrorKind::model,
              {"Conv \"Conv1\"", "its windows have the size 0 along axis 1"});
  OnnxFile deformable;
  deformable.input("x", {"N", 1, "H", "W"})
      .input("w", {1, 1, 300, 300})
      .input("o", {"N", 180000, "A", "B"})
      .output("y");
  deformable.node("DeformConv", {"x", "w", "o"}, {"y"});
  check_error(deformable, ErrorKind::unsupported,
              {"DeformConv \"DeformConv1\"", "filters of more than 65536 taps are not supported"});
}

TEST_CASE("a slice of sizes by steps that reach beyond 64 bits takes one") {
  for (const std::int64_t step :
       {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    OnnxFile file;
    file.input("x", {7, 8, 9})
        .integers("start", {1}, {1})
        .integers("end", {1}, {step > 0 ? 3 : -4})
        .integers("axis", {1}, {0})
        .integers("step", {1}, {step})
        .output("y");
    file.node("Shape", {"x"}, {"shape"});
    file.node("Slice", {"shape", "start", "end", "axis", "step"}, {"one"});
    file.node("Expand", {"x0", "one"}, {"y"});
    file.floats("x0", {1}, {2});
    CHECK(testing::statements_of(file).find("[8]") != std::string::npos);
  }
}

TEST_CASE("a scale or a zero point for each place of an axis needs the axis") {
  for (const bool of_zero_point : {false, true}) {
    OnnxFile file;
    file.input("x", {}).floats(
        "scale", of_zero_point ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{2},
        of_zero_point ? std::vector<float>{1} : std::vector<float>{1, 2});
    file.input("zero", {"K"}, onnx::TensorProto::UINT8).output("y");
    file.node("QuantizeLinear", {"x", "scale", "zero"}, {"y"});
    check_error(file, ErrorKind::model,
                {"QuantizeLinear \"QuantizeLinear1\"",
                 "a scale or zero point of 1 dims is for each element of an axis, but its tensor "
                 "has 0 dims"});
  }
}
