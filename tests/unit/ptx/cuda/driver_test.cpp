// Finding the driver, and the errors where it is missing, damaged or too old.

#include "targets/ptx/lowering/ptx_lowering.hpp"
#include "tests/support/fake_driver.hpp"

namespace dyn::test {
namespace {

using ptx::cuda::Result;

TEST_CASE("cuda driver: every function is found, and the version is known") {
  const FakeDriver fake;
  const auto driver = fake.open();
  CHECK(driver->version() == 12040);
#define DYN_CUDA_FUNCTION(name, version, parameters) CHECK(bool(driver->name != nullptr));
#include "targets/ptx/cuda/driver_functions.def"
#undef DYN_CUDA_FUNCTION
  CHECK(driver->text(Result::OutOfMemory) == "CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
  CHECK(driver->text(static_cast<Result>(12345)) == "CUDA error 12345 (unknown)");
}

TEST_CASE("cuda driver: no library") {
  const std::string message =
      message_of(ErrorKind::device, [] { ptx::cuda::open_driver("libcuda-that-is-nowhere.so.1"); });
  CHECK_CONTAINS(message,
                 "no NVIDIA driver: libcuda-that-is-nowhere.so.1 was not found; install the NVIDIA "
                 "driver, or use --device emulator");
}

TEST_CASE("cuda driver: a library that is no driver") {
  CHECK_CONTAINS(message_of(ErrorKind::device, [] { ptx::cuda::open_driver("libm.so.6"); }),
                 "lacks the function cuDriverGetVersion");
}

TEST_CASE("cuda driver: one missing function is named, and nothing stays loaded") {
  const FakeDriver fake;
  for (const bool null : {true, false}) {
    fake->missing_function = "cuMemsetD8Async";
    fake->null_when_missing = null;
    CHECK_CONTAINS(message_of(ErrorKind::device, [&] { fake.open(); }),
                   "lacks the function cuMemsetD8Async");
  }
  fake->missing_function = nullptr;
  CHECK(fake.open() != nullptr);
}

TEST_CASE("cuda driver: too old for the PTX") {
  const FakeDriver fake;
  CHECK(ptx::cuda::least_driver_version() >= ptx::cuda::driver_api_version);
  fake->driver_version = 11020;
  const std::string message = message_of(ErrorKind::unsupported, [&] { fake.open(); });
  CHECK_CONTAINS(message, "the NVIDIA driver is too old: it supports CUDA 11.2, and dyn needs " +
                              ptx::cuda::version_text(ptx::cuda::least_driver_version()));
  CHECK_CONTAINS(message, "update the NVIDIA driver");
  fake->driver_version = ptx::cuda::least_driver_version();
  CHECK(fake.open() != nullptr);
}

TEST_CASE("cuda driver: no GPU, a mismatch, an unknown failure of cuInit") {
  const FakeDriver fake;
  fake->devices = 0;
  std::string message = message_of(ErrorKind::device, [&] { fake.open(); });
  CHECK_CONTAINS(message, "the NVIDIA driver finds no GPU");
  CHECK_CONTAINS(message, "CUDA_ERROR_NO_DEVICE");
  fake->devices = 1;
  fake.fail("cuInit", Result::SystemDriverMismatch);
  CHECK_CONTAINS(message_of(ErrorKind::device, [&] { fake.open(); }),
                 "of different versions: restart the machine");
  fake.fail("cuInit", static_cast<Result>(12345));
  message = message_of(ErrorKind::device, [&] { fake.open(); });
  CHECK_CONTAINS(message, "the NVIDIA driver cannot be initialised");
  CHECK_CONTAINS(message, "12345");
}

TEST_CASE("cuda driver: without a driver on this machine, there are no GPUs, and it is said why") {
  std::string why;
  const auto machines = ptx::cuda_devices(&why);
  CHECK(machines.empty() == !why.empty());
}

}  // namespace
}  // namespace dyn::test
