#include "targets/ptx/cuda/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <mutex>
#include <string_view>
#include <utility>

#include "dyn/error.hpp"
#include "targets/ptx/lowering/ptx_lowering.hpp"

namespace dyn::ptx::cuda {
namespace {

constexpr const char* driver_library = "libcuda.so.1";

// PTX 7.x came with CUDA 11.x, and 8.x with 12.x ("Release Notes" of the PTX manual: 7.0
// to 7.8, 8.0 to 8.5).
constexpr int cuda_version_of_ptx(int ptx) { return (ptx / 10 + 4) * 1000 + ptx % 10 * 10; }

struct Advice {
  Result result;
  std::string_view text;
};
constexpr Advice advice[] = {
    {Result::NoDevice,
     "the NVIDIA driver finds no GPU: check nvidia-smi, CUDA_VISIBLE_DEVICES and, in a container, "
     "that it was given the GPU"},
    {Result::SystemDriverMismatch,
     "the driver's library and its kernel module are of different versions: restart the machine, "
     "or install the same version of "
     "both"},
    {Result::CompatNotSupportedOnDevice,
     "the CUDA compatibility library in use does not support this GPU: remove it from the library "
     "path, or update the driver"},
    {Result::StubLibrary,
     "this libcuda is the toolkit's stub for linking, not a driver: remove its folder from the "
     "library path"},
    {Result::SystemNotReady,
     "the GPU's services are not running (nvidia-fabricmanager or the DCGM host engine): start "
     "them"},
    {Result::OperatingSystem,
     "the system refuses access to the GPU: check the permissions of /dev/nvidia*"},
    {Result::Unknown,
     "the driver cannot reach the GPU: check that the nvidia kernel module is loaded and that "
     "/dev/nvidia-uvm exists"},
};

std::string_view advice_on(Result result) {
  const auto* known = std::find_if(std::begin(advice), std::end(advice),
                                   [&](const Advice& entry) { return entry.result == result; });
  return known == std::end(advice) ? std::string_view("the NVIDIA driver cannot be initialised")
                                   : known->text;
}

/// Holds dlopen's handle until another owner takes it.
class Library {
 public:
  explicit Library(const std::string& name) : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ != nullptr) return;
    const char* reason = dlerror();
    throw Error(ErrorKind::device, fmt::format("no NVIDIA driver: {} was not found; install the "
                                               "NVIDIA driver, or use --device emulator\n"
                                               "  the system's loader says: {}",
                                               name, reason == nullptr ? "nothing" : reason));
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  template <typename Function>
  Function symbol(const char* name) const {
    return reinterpret_cast<Function>(dlsym(handle_, name));
  }
  void* take() { return std::exchange(handle_, nullptr); }

 private:
  void* handle_;
};

[[noreturn]] void missing_function(const std::string& library, const char* name) {
  throw Error(ErrorKind::device,
              fmt::format("the NVIDIA driver {} lacks the function {}: it is damaged, or no "
                          "driver; install the NVIDIA driver again",
                          library, name));
}

int checked_version(const Library& library, const std::string& name) {
  const auto get_version = library.symbol<DriverGetVersion>("cuDriverGetVersion");
  if (get_version == nullptr) missing_function(name, "cuDriverGetVersion");
  int version = 0;
  const Result result = get_version(&version);
  if (result != Result::Success) {
    throw Error(ErrorKind::device, fmt::format("{}: {}\n  cuDriverGetVersion: CUDA error {}", name,
                                               advice_on(result), static_cast<int>(result)));
  }
  if (version < least_driver_version()) {
    throw Error(ErrorKind::unsupported,
                fmt::format("the NVIDIA driver is too old: it supports CUDA {}, and dyn needs {} "
                            "(for PTX {}.{}); update the "
                            "NVIDIA driver, or use "
                            "--device emulator",
                            version_text(version), version_text(least_driver_version()),
                            ptx_version / 10, ptx_version % 10));
  }
  return version;
}

// Before CUDA 12 a missing function is an error, later it is a null pointer.
void resolve(DriverFunctions& functions, GetProcAddress get, const std::string& library) {
  const auto find = [&](const char* name) {
    void* function = nullptr;
    if (get(name, &function, driver_api_version, 0) != Result::Success || function == nullptr)
      missing_function(library, name);
    return function;
  };
#define DYN_CUDA_FUNCTION(name, version, parameters) \
  functions.name = reinterpret_cast<decltype(functions.name)>(find(#name));
#include "targets/ptx/cuda/driver_functions.def"
#undef DYN_CUDA_FUNCTION
}

void initialise(const Driver& driver) {
  const Result result = driver.cuInit(0);
  if (result == Result::Success) return;
  throw Error(ErrorKind::device,
              fmt::format("{}\n  cuInit: {}", advice_on(result), driver.text(result)));
}

}  // namespace

int least_driver_version() noexcept {
  return std::max(driver_api_version, cuda_version_of_ptx(ptx_version));
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

bool is_fatal(Result result) noexcept {
  constexpr std::array fatal{Result::EccUncorrectable,
                             Result::NvlinkUncorrectable,
                             Result::Contained,
                             Result::IllegalAddress,
                             Result::LaunchTimeout,
                             Result::ContextIsDestroyed,
                             Result::Assert,
                             Result::HardwareStackError,
                             Result::IllegalInstruction,
                             Result::MisalignedAddress,
                             Result::InvalidAddressSpace,
                             Result::InvalidPc,
                             Result::LaunchFailed,
                             Result::Unknown};
  return std::find(fatal.begin(), fatal.end(), result) != fatal.end();
}

Driver::~Driver() {
  if (library_ != nullptr) dlclose(library_);
}

std::string Driver::text(Result result) const {
  const char *name = nullptr, *description = nullptr;
  const bool named = cuGetErrorName(result, &name) == Result::Success && name != nullptr;
  const bool described =
      cuGetErrorString(result, &description) == Result::Success && description != nullptr;
  return fmt::format("{} ({})",
                     named ? name : fmt::format("CUDA error {}", static_cast<int>(result)),
                     described ? description : "unknown");
}

void Driver::check(Result result, const char* doing) const {
  if (result != Result::Success)
    throw Error(ErrorKind::device, fmt::format("{}: {}", doing, text(result)));
}

std::shared_ptr<const Driver> open_driver(const std::string& name) {
  Library library(name);
  const int version = checked_version(library, name);
  const auto get = library.symbol<GetProcAddress>("cuGetProcAddress");
  if (get == nullptr) missing_function(name, "cuGetProcAddress");
  auto driver = std::make_shared<Driver>();
  resolve(*driver, get, name);
  driver->version_ = version;
  initialise(*driver);
  driver->library_ = library.take();
  return driver;
}

std::shared_ptr<const Driver> system_driver() {
  static std::mutex mutex;
  static auto* const driver = new std::shared_ptr<const Driver>;
  const std::lock_guard lock(mutex);
  if (*driver == nullptr) *driver = open_driver(driver_library);
  return *driver;
}

}  // namespace dyn::ptx::cuda
