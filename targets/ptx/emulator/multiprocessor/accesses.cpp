// Loads and stores of global and shared memory.

#include "targets/ptx/emulator/multiprocessor/multiprocessor.hpp"

namespace dyn::ptx::emulation {
namespace {

bool aligned(const char* address, std::uint32_t alignment) {
  return (reinterpret_cast<std::uintptr_t>(address) & (alignment - 1)) == 0;
}

constexpr const char *reads = "reads", *writes = "writes";

}  // namespace

void Multiprocessor::load_global(Thread& thread, const char* address, std::uint32_t site) {
  ++counts_.loads;
  const Site& access = kernel_->sites[site];
  if (!aligned(address, access.alignment))
    fail_alignment(thread, site, reads, address, access.alignment);
  if (!global_shadow_.read(here_->clocks, thread.thread, site,
                           reinterpret_cast<std::uintptr_t>(address), access.bytes))
    fail_global(thread, site, reads, address, access.bytes);
  meter_global(thread, site, address, access.bytes);
}

void Multiprocessor::store_global(Thread& thread, const char* address, std::uint32_t site) {
  ++counts_.stores;
  const Site& access = kernel_->sites[site];
  if (!aligned(address, access.alignment))
    fail_alignment(thread, site, writes, address, access.alignment);
  if (!global_shadow_.write(here_->clocks, thread.thread, site,
                            reinterpret_cast<std::uintptr_t>(address), access.bytes))
    fail_global(thread, site, writes, address, access.bytes);
  meter_global(thread, site, address, access.bytes);
}

void Multiprocessor::store_status(Thread& thread, const char* address, std::uint32_t site) {
  ++counts_.stores;
  const Site& access = kernel_->sites[site];
  if (global_shadow_.is_status(reinterpret_cast<std::uintptr_t>(address), access.bytes)) return;
  note(Fault::OutOfBounds, thread, site, "writes {} bytes atomically where the status is not",
       access.bytes);
  stop();
}

void Multiprocessor::load_shared(Thread& thread, const char* address, std::uint32_t site) {
  ++counts_.loads;
  const Site& access = kernel_->sites[site];
  if (!aligned(address, access.alignment))
    fail_alignment(thread, site, reads, address, access.alignment);
  if (!in_shared(address, access.bytes)) fail_outside(thread, site, reads, address, access.bytes);
  if (!here_->shared_shadow.read(here_->clocks, thread.thread, shared_offset(address),
                                 access.bytes))
    fail_shared(thread, site, reads, shared_offset(address), access.bytes);
  if (meter_) meter_->shared(thread.thread, site, shared_offset(address), access.bytes);
}

void Multiprocessor::store_shared(Thread& thread, const char* address, std::uint32_t site) {
  ++counts_.stores;
  const Site& access = kernel_->sites[site];
  if (!aligned(address, access.alignment))
    fail_alignment(thread, site, writes, address, access.alignment);
  if (!in_shared(address, access.bytes)) fail_outside(thread, site, writes, address, access.bytes);
  if (!here_->shared_shadow.write(here_->clocks, thread.thread, shared_offset(address),
                                  access.bytes))
    fail_shared(thread, site, writes, shared_offset(address), access.bytes);
  if (meter_) meter_->shared(thread.thread, site, shared_offset(address), access.bytes);
}

}  // namespace dyn::ptx::emulation
