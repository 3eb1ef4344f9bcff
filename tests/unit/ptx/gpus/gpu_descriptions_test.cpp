// The data files of described GPUs.

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "dyn/error.hpp"
#include "targets/ptx/gpus/gpu_data.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace dyn;

namespace {

nlohmann::json described(std::string_view name) {
  for (const ptx::GpuData& data : ptx::gpu_data()) {
    if (data.name == name) return nlohmann::json::parse(data.text);
  }
  FAIL("no such file");
  return {};
}

std::string refusal(const std::string& text) {
  try {
    ptx::parse_gpu_description("mine.json", text);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::internal);
    return error.message();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("the described GPUs have the numbers of their makers' documents") {
  std::set<std::string> names;
  for (const dyn::choice::GpuMachine& machine : ptx::described_gpus()) names.insert(machine.name);
  CHECK(names == std::set<std::string>{"a100", "h100", "h200"});
  const dyn::choice::GpuMachine& a100 = ptx::described_gpu("a100");
  CHECK(a100.compute_capability == 80);
  CHECK(a100.shared_bytes_per_block == 163 * 1024);
  // The datasheet's peaks: 19.5 TFLOP/s f32, 312 f16, 156 TF32.
  const double cycles = 2 * a100.multiprocessors * a100.clock_hz;
  CHECK(a100.f32_fma * cycles == doctest::Approx(19.5e12).epsilon(0.01));
  CHECK(a100.f16_mma_fma * cycles == doctest::Approx(312e12).epsilon(0.01));
  CHECK(a100.i8_mma_fma * cycles == doctest::Approx(624e12).epsilon(0.01));
  CHECK(a100.tf32_mma_fma * cycles == doctest::Approx(156e12).epsilon(0.01));
  const dyn::choice::GpuMachine& h200 = ptx::described_gpu("h200");
  CHECK(h200.compute_capability == 90);
  CHECK(h200.shared_bytes_per_block == 227 * 1024);
  CHECK(2 * h200.multiprocessors * h200.clock_hz * h200.f32_fma ==
        doctest::Approx(67e12).epsilon(0.01));
  CHECK(h200.memory_bytes_per_second == 4.8e12);
  const dyn::choice::GpuMachine& h100 = ptx::described_gpu("h100");
  CHECK(h100.multiprocessors == h200.multiprocessors);
  CHECK(h100.memory_bytes_per_second == 3.35e12);
}

TEST_CASE("a broken description is refused with its file and key") {
  nlohmann::json good = described("a100");
  CHECK(refusal(good.dump()) == "accepted");
  for (const auto& [key, value] : good.items()) {
    nlohmann::json bad = good;
    bad.erase(key);
    CAPTURE(key);
    CHECK(refusal(bad.dump()).find("mine.json: \"" + key + "\"") != std::string::npos);
    bad[key] = nullptr;
    if (key != "source")
      CHECK(refusal(bad.dump()).find("mine.json: \"" + key + "\"") != std::string::npos);
    if (!value.is_number()) continue;
    bad[key] = -1;
    CHECK(refusal(bad.dump()).find("mine.json: \"" + key + "\" must be greater than 0") !=
          std::string::npos);
  }
  nlohmann::json bad = good;
  bad["clock_mhz"] = 1;
  CHECK(refusal(bad.dump()) == "mine.json: \"clock_mhz\" is not a key of a description");
  bad = good;
  bad["multiprocessors"] = 10.5;
  CHECK(refusal(bad.dump()) == "mine.json: \"multiprocessors\" must be a whole number in range");
  CHECK(refusal("{") == "mine.json is not a JSON object");
  CHECK(refusal("[1]") == "mine.json is not a JSON object");
}

TEST_CASE(
    "an unknown name is a user's error that lists the names; real GPUs find the nearest "
    "description") {
  try {
    ptx::described_gpu("b200");
    FAIL("found");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::user);
    CHECK(error.message() ==
          "no GPU named \"b200\" is described; there are: a100, h100, h200; or give a file "
          "NAME.json");
  }
  CHECK(ptx::nearest_description("NVIDIA A100-PCIE-40GB", 80).name == "a100");
  CHECK(ptx::nearest_description("NVIDIA H200 NVL", 90).name == "h200");
  CHECK(ptx::nearest_description("NVIDIA H100 PCIe", 90).name == "h100");
  CHECK(ptx::nearest_description("NVIDIA GeForce RTX 3090", 86).name == "a100");
  CHECK(ptx::nearest_description("NVIDIA L4", 89).name == "a100");
  CHECK(ptx::nearest_description("NVIDIA B200", 100).name == "h100");
  CHECK(ptx::nearest_description("an old one", 75).name == "a100");
}

TEST_CASE("a file describes a GPU at run time; one that does not is a user's error") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.string() + "/wide.json";
  nlohmann::json wide = described("a100");
  wide["multiprocessors"] = 200;
  std::ofstream(path) << wide.dump();
  const choice::GpuMachine machine = ptx::gpu_by_name_or_file(path);
  CHECK(machine.name == "wide");
  CHECK(machine.multiprocessors == 200);
  CHECK(ptx::gpu_by_name_or_file("h200").name == "h200");
  const auto refused = [](const std::string& name) {
    try {
      ptx::gpu_by_name_or_file(name);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::user);
      return error.message();
    }
    return std::string("accepted");
  };
  wide["multiprocessors"] = 0;
  std::ofstream(path) << wide.dump();
  CHECK(refused(path) == path + ": \"multiprocessors\" must be greater than 0");
  CHECK(refused(folder.string() + "/none.json").starts_with(folder.string() + "/none.json cannot"));
  CHECK(refused("b200").starts_with("no GPU named"));
}
