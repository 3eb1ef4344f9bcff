// Streams, copies, launches and loading through the fake driver.

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "targets/ptx/ir/kernel_symbol.hpp"
#include "tests/support/fake_driver.hpp"
#include "tests/unit/ptx/cuda/empty_kernel.hpp"

namespace dyn::test {
namespace {

using ptx::cuda::Result;
using rkernel::DeviceBlock;

const void* load_one(ptx::PtxDevice& device, const codegen::KernelSource& kernel) {
  rkernel::CompileReport report;
  return device.load(std::span(&kernel, 1), 1, report).front();
}

TEST_CASE("cuda stream: a launch is timed between two events") {
  const FakeDriver fake;
  const auto device = fake.device();
  const DeviceBlock block(*device, 64, "tables");
  const rkernel::DeviceLaunch launch{load_one(*device, empty_kernel("timed")),
                                     "timed",
                                     1,
                                     64,
                                     0,
                                     block.address(),
                                     block.address(),
                                     block.address(),
                                     {}};
  CHECK(device->launch_seconds(launch).value() == doctest::Approx(1e-3));
  CHECK(fake->counts.events.made == fake->counts.events.ended);
  CHECK(fake->counts.events.made >= 2);
  CHECK(device->identity().starts_with(device->name() + ", driver for CUDA "));
  fake.fail("cuEventRecord", Result::Unknown);
  CHECK_THROWS_AS(device->launch_seconds(launch), Error);
}

TEST_CASE(
    "cuda stream: uploads of any size are there after synchronise, whatever happens to their "
    "source") {
  const FakeDriver fake;
  const auto device = fake.device();
  const auto stream = device->make_stream();
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{4096}, std::size_t{2} << 20, (std::size_t{11} << 20) + 13}) {
    CAPTURE(bytes);
    const DeviceBlock block(*device, bytes + 2, "a block");
    std::vector<unsigned char> sent(bytes), expected, got(bytes + 2, 0xff);
    std::mt19937 random(static_cast<unsigned>(bytes));
    std::generate(sent.begin(), sent.end(), [&] { return static_cast<unsigned char>(random()); });
    expected = sent;
    stream->clear(block.address(), bytes + 2);
    stream->upload(block.address() + 1, sent.data(), bytes);
    std::fill(sent.begin(), sent.end(), 0xee);
    stream->download(got.data(), block.address(), bytes + 2);
    stream->synchronise();
    CHECK(got.front() == 0);
    CHECK(got.back() == 0);
    CHECK(std::equal(expected.begin(), expected.end(), got.begin() + 1));
  }
}

TEST_CASE(
    "cuda stream: a source in the caller's own page-locked memory may be reused at once, too") {
  const FakeDriver fake;
  const auto driver = fake.open();
  const auto device = ptx::open_cuda_device("", "", driver);
  ptx::cuda::ContextHandle context = nullptr;
  REQUIRE(driver->cuDevicePrimaryCtxRetain(&context, 0) == Result::Success);
  REQUIRE(driver->cuCtxPushCurrent(context) == Result::Success);
  void* source = nullptr;
  REQUIRE(driver->cuMemHostAlloc(&source, sizeof(int), 0) == Result::Success);
  const DeviceBlock block(*device, sizeof(int), "a block");
  const auto stream = device->make_stream();
  int got = 0;
  *static_cast<int*>(source) = 11;
  stream->upload(block.address(), source, sizeof(int));
  *static_cast<int*>(source) = 22;
  stream->download(&got, block.address(), sizeof got);
  stream->synchronise();
  CHECK(got == 11);
  CHECK(driver->cuMemFreeHost(source) == Result::Success);
  CHECK(driver->cuCtxPopCurrent(&context) == Result::Success);
  CHECK(driver->cuDevicePrimaryCtxRelease(0) == Result::Success);
}

TEST_CASE("cuda stream: many small uploads share the page-locked memory") {
  const FakeDriver fake;
  const auto device = fake.device();
  const auto stream = device->make_stream();
  constexpr int rounds = 9000;
  const DeviceBlock block(*device, rounds * sizeof(std::int64_t) * 100, "ints");
  std::vector<std::int64_t> ints(100), got(rounds * ints.size());
  for (int round = 0; round < rounds; ++round) {
    std::iota(ints.begin(), ints.end(), round * 1000);
    stream->upload(
        block.address() + static_cast<std::size_t>(round) * ints.size() * sizeof(std::int64_t),
        ints.data(), ints.size() * sizeof(std::int64_t));
  }
  stream->download(got.data(), block.address(), got.size() * sizeof(std::int64_t));
  stream->synchronise();
  int wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    wrong += got[i] != static_cast<std::int64_t>(i / 100 * 1000 + i % 100);
  CHECK(wrong == 0);
  CHECK(fake->counts.host_memory.made == 1);
}

TEST_CASE("cuda stream: nothing is copied for zero bytes") {
  const FakeDriver fake;
  const auto stream = fake.device()->make_stream();
  stream->upload(0, nullptr, 0);
  stream->download(nullptr, 0, 0);
  stream->clear(0, 0);
  stream->synchronise();
  CHECK(fake->counts.uploads + fake->counts.downloads + fake->counts.clears == 0);
}

// y = 2 x for the tickets of a grid, in place of a GPU.
void double_floats(const FakeLaunch& launch, void* user) {
  const auto* pointers = reinterpret_cast<const rkernel::DeviceAddress*>(launch.pointers);
  const auto* ints = reinterpret_cast<const std::int64_t*>(launch.ints);
  const auto* x = reinterpret_cast<const float*>(pointers[0]);
  auto* y = reinterpret_cast<float*>(pointers[1]);
  for (std::int64_t i = 0; i < ints[0]; ++i) y[i] = 2 * x[i];
  *reinterpret_cast<std::int32_t*>(launch.status) =
      static_cast<std::int32_t>(rkernel::Status::IndexOutOfRange);
  *static_cast<FakeLaunch*>(user) = launch;
}

TEST_CASE("cuda stream: a kernel sees its pointers, ints and status, in order between the copies") {
  const FakeDriver fake;
  FakeLaunch seen{};
  fake->on_launch = double_floats;
  fake->user = &seen;
  const auto device = fake.device();
  const codegen::KernelSource kernel = empty_kernel("double", large_shared_bytes);
  const void* function = load_one(*device, kernel);
  CHECK(fake->counts.opted_in_shared_bytes == large_shared_bytes);

  const std::vector<float> x{1.5f, -2, 3};
  std::vector<float> y(3);
  std::int32_t status = 0;
  const std::int64_t ints[] = {3};
  const DeviceBlock x_block(*device, 12, "x"), y_block(*device, 12, "y"),
      args(*device, 256, "arguments");
  const rkernel::DeviceAddress pointers[] = {x_block.address(), y_block.address()};
  const auto stream = device->make_stream();
  stream->upload(x_block.address(), x.data(), 12);
  stream->upload(args.address(), pointers, sizeof pointers);
  stream->upload(args.address() + 64, ints, sizeof ints);
  stream->clear(args.address() + 128, 4);
  stream->launch({function,
                  "doubling",
                  5,
                  64,
                  large_shared_bytes,
                  args.address(),
                  args.address() + 64,
                  args.address() + 128,
                  {}});
  stream->download(y.data(), y_block.address(), 12);
  stream->download(&status, args.address() + 128, 4);
  stream->synchronise();
  CHECK(y == std::vector<float>{3, -4, 6});
  CHECK(status == 1);
  CHECK(seen.blocks == 5);
  CHECK(seen.threads == 64);
  CHECK(seen.shared_bytes == large_shared_bytes);
}

TEST_CASE(
    "cuda stream: a refused launch throws at its call with the group's name, and the stream goes "
    "on") {
  const FakeDriver fake;
  const auto device = fake.device();
  const void* function = load_one(*device, empty_kernel("refused"));
  const auto stream = device->make_stream();
  const rkernel::DeviceLaunch launch{function, "matmul of layer 3", 7, 64, 1024, 0, 0, 0, {}};
  fake.fail("cuLaunchKernel", Result::LaunchOutOfResources);
  const std::string message = message_of(ErrorKind::device, [&] { stream->launch(launch); });
  CHECK_CONTAINS(
      message,
      "launching matmul of layer 3 (7 blocks of 64 threads, 1024 bytes of shared memory): "
      "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (too many resources requested for launch)");
  CHECK(!contains(message, "lost"));
  stream->launch(launch);
  stream->synchronise();
  CHECK(fake->counts.launches == 1);

  rkernel::DeviceLaunch wrong = launch;
  wrong.blocks = std::int64_t{1} << 31;
  CHECK_CONTAINS(message_of(ErrorKind::device, [&] { stream->launch(wrong); }),
                 "blocks are more than a grid can have");
  wrong = launch;
  wrong.function = nullptr;
  CHECK_CONTAINS(message_of(ErrorKind::internal, [&] { stream->launch(wrong); }),
                 "matmul of layer 3");
  wrong = launch;
  wrong.blocks = 0;
  stream->launch(wrong);
  stream->synchronise();
  CHECK(fake->counts.launches == 1);
}

struct Seen {
  std::vector<FakeLaunch> launches;
};

void note_launch(const FakeLaunch& launch, void* user) {
  static_cast<Seen*>(user)->launches.push_back(launch);
}

TEST_CASE(
    "cuda graph: a replay has the blocks and addresses of its time, and its kernels in order") {
  const FakeDriver fake;
  Seen seen;
  fake->on_launch = note_launch;
  fake->user = &seen;
  const auto device = fake.device();
  const DeviceBlock tables(*device, 4096, "tables");
  std::vector<rkernel::DeviceLaunch> launches;
  for (const char* name : {"a", "b", "c"})
    launches.push_back({load_one(*device, empty_kernel(name)),
                        name,
                        3,
                        64,
                        128,
                        tables.address(),
                        tables.address() + 64,
                        tables.address() + 128,
                        {}});
  const auto graph = device->make_graph(launches);
  REQUIRE(graph != nullptr);
  const auto stream = device->make_stream(), other = device->make_stream();
  REQUIRE(stream->replay(*graph, launches));
  stream->synchronise();
  CHECK(fake->counts.node_updates == 0);
  launches[1].blocks = 700;
  launches[2].ints += 256;
  REQUIRE(other->replay(*graph, launches));
  other->synchronise();
  CHECK(fake->counts.node_updates == 2);
  CHECK(fake->counts.launches == 0);
  REQUIRE(seen.launches.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    const rkernel::DeviceLaunch& wanted = launches[i % 3];
    CHECK(seen.launches[i].kernel == ptx::kernel_symbol(wanted.name));
    CHECK(seen.launches[i].blocks == (i == 4 ? 700 : 3));
    CHECK(seen.launches[i].threads == 64);
    CHECK(seen.launches[i].shared_bytes == 128);
    CHECK(seen.launches[i].pointers == wanted.pointers);
    CHECK(seen.launches[i].ints == tables.address() + (i == 5 ? 320 : 64));
    CHECK(seen.launches[i].status == wanted.status);
  }
  fake->asynchronous_failure = Result::IllegalAddress;
  REQUIRE(stream->replay(*graph, launches));
  CHECK_CONTAINS(message_of(ErrorKind::device, [&] { stream->synchronise(); }),
                 "one of the last 3 kernels, up to that of c, failed");
}

TEST_CASE("fake driver: a graph replayed after its tables were freed is misuse") {
  const FakeDriver fake;
  const auto device = fake.device();
  std::vector<rkernel::DeviceLaunch> launches;
  const auto stream = device->make_stream();
  std::unique_ptr<rkernel::LaunchGraph> graph;
  {
    const DeviceBlock tables(*stream, 4096, "tables");
    launches.push_back({load_one(*device, empty_kernel("a")),
                        "a",
                        3,
                        64,
                        128,
                        tables.address(),
                        tables.address() + 64,
                        tables.address() + 128,
                        {}});
    graph = device->make_graph(launches);
    REQUIRE(stream->replay(*graph, launches));
  }  // freed behind the replay
  stream->synchronise();
  CHECK(fake->counts.misuses == 0);
  REQUIRE(stream->replay(*graph, launches));
  stream->synchronise();
  CHECK(fake->counts.misuses == 1);
  CHECK(std::string(fake->counts.last_misuse) == "a launch with tables in freed memory");
  fake->counts.misuses = 0;
}

TEST_CASE(
    "cuda stream: an asynchronous failure loses the device, until all graphs on it are gone") {
  const FakeDriver fake;
  const auto driver = fake.open();
  {
    const auto device = ptx::open_cuda_device("", "", driver);
    const DeviceBlock block(*device, 64, "a block");
    const void* function = load_one(*device, empty_kernel("fails"));
    const auto stream = device->make_stream();
    fake->asynchronous_failure = Result::IllegalAddress;
    const rkernel::DeviceLaunch launch{function, "softmax", 1, 64, 0, 0, 0, 0, {}};
    stream->launch(launch);
    std::string message = message_of(ErrorKind::device, [&] { stream->synchronise(); });
    CHECK_CONTAINS(message, "the kernel of softmax failed");
    CHECK_CONTAINS(message,
                   "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)");
    CHECK_CONTAINS(message, "the device is lost");
    CHECK_CONTAINS(message, "load the model again");
    message = message_of(ErrorKind::device, [&] { stream->launch(launch); });
    CHECK_CONTAINS(message, "the device is lost");
    CHECK_CONTAINS(message_of(ErrorKind::device, [&] { device->allocate(1, "x"); }),
                   "the device is lost");
    CHECK_CONTAINS(message_of(ErrorKind::device, [&] { ptx::open_cuda_device("", "", driver); }),
                   "destroy every graph on it");
  }
  const auto device = ptx::open_cuda_device("", "", driver);
  CHECK(DeviceBlock(*device, 64, "a block").address() != 0);
  device->make_stream()->synchronise();
  CHECK(fake->counts.pushes.even());
}

TEST_CASE("cuda stream: what an earlier kernel did is not blamed on the next launch") {
  const FakeDriver fake;
  const auto device = fake.device();
  const void* function = load_one(*device, empty_kernel("fails"));
  const auto stream = device->make_stream();
  stream->launch({function, "long done", 1, 64, 0, 0, 0, 0, {}});
  stream->synchronise();
  stream->launch({function, "first", 1, 64, 0, 0, 0, 0, {}});
  stream->launch({function, "second", 1, 64, 0, 0, 0, 0, {}});
  fake.fail("cuLaunchKernel", Result::IllegalAddress);
  const std::string message = message_of(
      ErrorKind::device, [&] { stream->launch({function, "third", 1, 64, 0, 0, 0, 0, {}}); });
  CHECK_CONTAINS(message, "one of the last 2 kernels, up to that of second, failed");
}

TEST_CASE("cuda load: once for each key, also on several threads") {
  const FakeDriver fake;
  const auto device = fake.device();
  const std::vector<codegen::KernelSource> sources{empty_kernel("a"), empty_kernel("b"),
                                                   empty_kernel("a"), empty_kernel("c")};
  rkernel::CompileReport report;
  const auto handles = device->load(sources, 3, report);
  CHECK(handles[0] == handles[2]);
  CHECK(handles[0] != handles[1]);
  CHECK(report.kernels == 3);
  CHECK(report.compiled == 3);
  CHECK(fake->counts.modules.made == 3);
  rkernel::CompileReport again;
  CHECK(device->load(sources, 3, again) == handles);
  CHECK(again.from_memory == 3);
  CHECK(again.compiled == 0);
  CHECK(fake->counts.modules.made == 3);
}

TEST_CASE("cuda load: a refused module gives the compiler's log, and the next load is tried anew") {
  const FakeDriver fake;
  const auto device = fake.device();
  fake->compiler_log = "ptxas fatal   : Unresolved extern function 'f'\n";
  fake.fail("cuLinkAddData", Result::InvalidPtx);
  std::string message =
      message_of(ErrorKind::device, [&] { load_one(*device, empty_kernel("broken")); });
  CHECK_CONTAINS(message, "loading the kernel " + ptx::kernel_symbol("broken"));
  CHECK_CONTAINS(message, "ptxas fatal   : Unresolved extern function 'f'");
  CHECK_CONTAINS(message, "CUDA_ERROR_INVALID_PTX");
  fake.fail("cuLinkAddData", Result::UnsupportedPtxVersion);
  message = message_of(ErrorKind::unsupported, [&] { load_one(*device, empty_kernel("broken")); });
  CHECK_CONTAINS(message, "the NVIDIA driver (CUDA 12.4) cannot compile PTX 7.1");
  CHECK_CONTAINS(message, "update the NVIDIA driver");
  fake.fail("cuModuleGetFunction", Result::NotFound);
  CHECK_CONTAINS(message_of(ErrorKind::device, [&] { load_one(*device, empty_kernel("broken")); }),
                 "finding the kernel");
  fake.fail("cuFuncSetAttribute", Result::InvalidValue);
  message = message_of(ErrorKind::device,
                       [&] { load_one(*device, empty_kernel("large", large_shared_bytes)); });
  CHECK_CONTAINS(message, "asking for 98304 bytes of shared memory");
  CHECK(fake->counts.modules == FakeBalance{2, 2});
  CHECK(load_one(*device, empty_kernel("broken")) != nullptr);
}

TEST_SUITE("full") {
  TEST_CASE("cuda: a thousand times open, load, use and close leaves nothing") {
    const FakeDriver fake;
    const std::vector<codegen::KernelSource> sources{empty_kernel("a", large_shared_bytes),
                                                     empty_kernel("b")};
    const int cycles = 1000;
    for (int cycle = 0; cycle < cycles; ++cycle) {
      const auto device = fake.device();
      rkernel::CompileReport report;
      const auto handles = device->load(sources, 1, report);
      const DeviceBlock block(*device, 4096, "a block");
      const auto stream = device->make_stream();
      stream->upload(block.address(), &cycle, sizeof cycle);
      stream->launch({handles[0], "a", 1, 64, 0, 0, 0, 0, {}});
      if (cycle % 2 == 0) stream->synchronise();
    }
    CHECK(fake->counts.even());
    CHECK(fake->counts.launches == cycles);
    CHECK(fake->counts.contexts.made == cycles);
    CHECK(fake->counts.modules.made == 2 * cycles);
  }
}

}  // namespace
}  // namespace dyn::test
