#include "tests/support/emulated.hpp"

#include "dyn/error.hpp"

namespace dyn::test {

choice::GpuMachine emulated_machine() {
  choice::GpuMachine machine;
  machine.name = "test";
  machine.multiprocessors = 4;
  machine.shared_bytes_per_multiprocessor = 164 << 10;
  machine.shared_bytes_per_block = 163 << 10;
  machine.memory_bytes = std::int64_t{1} << 30;
  return machine;
}

Emulated::Emulated(const ptx::EmulatorOptions& options) : emulator_(ptx::make_emulator(options)) {}

std::vector<ptx::FaultReport> Emulated::launch(const void* function, std::int64_t blocks,
                                               int threads, int shared_bytes,
                                               std::span<const EmulatedBuffer> buffers,
                                               std::span<const std::int64_t> ints) {
  ptx::Emulator& device = *emulator_;
  const auto stream = device.make_stream();
  std::vector<rkernel::DeviceBlock> blocks_of_memory;
  std::vector<rkernel::OperandRange> operands;
  std::vector<rkernel::DeviceAddress> pointers;
  for (const EmulatedBuffer& buffer : buffers) {
    blocks_of_memory.emplace_back(device, buffer.bytes, "a buffer of a test");
    pointers.push_back(blocks_of_memory.back().address());
    stream->upload(pointers.back(), buffer.data, buffer.bytes);
    operands.push_back({pointers.back(), buffer.bytes, buffer.written});
  }
  const rkernel::DeviceBlock pointer_table(device, pointers.size() * sizeof(pointers[0]),
                                           "the pointers of a test");
  const rkernel::DeviceBlock int_table(device, ints.size_bytes(), "the ints of a test");
  const rkernel::DeviceBlock status(device, sizeof(status_), "the status of a test");
  stream->upload(pointer_table.address(), pointers.data(), pointers.size() * sizeof(pointers[0]));
  stream->upload(int_table.address(), ints.data(), ints.size_bytes());
  stream->clear(status.address(), sizeof(status_));
  try {
    stream->launch({function, "test", blocks, threads, shared_bytes, pointer_table.address(),
                    int_table.address(), status.address(), operands});
    stream->synchronise();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device) throw;
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].written) stream->download(buffers[i].data, pointers[i], buffers[i].bytes);
  }
  stream->download(&status_, status.address(), sizeof(status_));
  stream->synchronise();
  return device.take_reports();
}

std::string text_of(const std::vector<ptx::FaultReport>& reports) {
  std::string text;
  for (const ptx::FaultReport& report : reports) text += to_string(report) + "\n";
  return text;
}

}  // namespace dyn::test
