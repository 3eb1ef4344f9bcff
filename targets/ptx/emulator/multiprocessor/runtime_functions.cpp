#include "targets/ptx/emulator/multiprocessor/runtime_functions.hpp"

#include <array>
#include <bit>

#include "targets/ptx/emulator/multiprocessor/multiprocessor.hpp"

// Narrow integers are passed as 32 bits. Several results go through the context; arguments never
// do.
namespace dyn::ptx::emulation {
namespace {

using Word = std::uint32_t;

Thread& thread_of(ThreadContext* context) { return static_cast<Thread&>(*context); }

template <void (Multiprocessor::*check)(Thread&, const char*, std::uint32_t)>
void check_access(ThreadContext* context, const char* address, Word site) noexcept {
  Thread& thread = thread_of(context);
  (thread.home->*check)(thread, address, site);
}

void barrier(ThreadContext* context, Word site) noexcept {
  thread_of(context).home->block_barrier(thread_of(context), site);
}
void named_barrier(ThreadContext* context, Word site, Word number, Word threads) noexcept {
  thread_of(context).home->named_barrier(thread_of(context), site, number, threads);
}
void warp_sync(ThreadContext* context, Word site, Word mask) noexcept {
  thread_of(context).home->together(thread_of(context), site, Op::WarpSync, mask);
}

template <Op op>
Word shuffle(ThreadContext* context, Word site, Word a, Word b, Word c, Word mask) noexcept {
  Thread& thread = thread_of(context);
  thread.operands = {a, b, c};
  thread.home->together(thread, site, op, mask);
  return thread.results[0];
}
Word ballot(ThreadContext* context, Word site, Word predicate, Word mask) noexcept {
  Thread& thread = thread_of(context);
  thread.operands = {predicate};
  thread.home->together(thread, site, Op::Ballot, mask);
  return thread.results[0];
}

constexpr Word all_lanes = ~Word{0};

/// The first result; a caller that takes several finds them in its context.
template <Op op>
Word load_matrix(ThreadContext* context, Word site, const char* row) noexcept {
  Thread& thread = thread_of(context);
  // An offset in shared memory; an address that lies elsewhere gives one far outside.
  const auto offset = static_cast<std::uint64_t>(row - thread.shared);
  thread.operands = {static_cast<Word>(offset), static_cast<Word>(offset >> 32)};
  thread.home->together(thread, site, op, all_lanes);
  return thread.results[0];
}
template <Op op>
void multiply(ThreadContext* context, Word site, Word a0, Word a1, Word a2, Word a3, Word b0,
              Word b1, float c0, float c1, float c2, float c3) noexcept {
  Thread& thread = thread_of(context);
  const auto bits = [](float value) { return std::bit_cast<Word>(value); };
  thread.operands = {a0, a1, a2, a3, b0, b1, bits(c0), bits(c1), bits(c2), bits(c3)};
  thread.home->together(thread, site, op, all_lanes);
}
template <Op op>
void multiply_bytes(ThreadContext* context, Word site, Word a0, Word a1, Word a2, Word a3, Word b0,
                    Word b1, Word c0, Word c1, Word c2, Word c3) noexcept {
  Thread& thread = thread_of(context);
  thread.operands = {a0, a1, a2, a3, b0, b1, c0, c1, c2, c3};
  thread.home->together(thread, site, op, all_lanes);
}

template <std::uint32_t bytes>
void copy(ThreadContext* context, Word site, const char* to, const char* from,
          Word from_bytes) noexcept {
  thread_of(context).home->copy(thread_of(context), site, to, from, bytes, from_bytes);
}
void commit(ThreadContext* context, Word) noexcept {
  thread_of(context).home->commit_copies(thread_of(context));
}
void wait_group(ThreadContext* context, Word, Word left) noexcept {
  thread_of(context).home->wait_for_copies(thread_of(context), left);
}
void copy_arrive(ThreadContext* context, Word site, const char* barrier) noexcept {
  thread_of(context).home->arrive_after_copies(thread_of(context), site, barrier);
}

void barrier_init(ThreadContext* context, Word site, const char* barrier, Word expected) noexcept {
  thread_of(context).home->barrier_init(thread_of(context), site, barrier, expected);
}
std::uint64_t barrier_arrive(ThreadContext* context, Word site, const char* barrier) noexcept {
  return thread_of(context).home->barrier_arrive(thread_of(context), site, barrier);
}
Word barrier_test_wait(ThreadContext* context, Word site, const char* barrier,
                       Word parity) noexcept {
  return thread_of(context).home->barrier_test_wait(thread_of(context), site, barrier, parity) ? 1
                                                                                               : 0;
}
void barrier_invalidate(ThreadContext* context, Word site, const char* barrier) noexcept {
  thread_of(context).home->barrier_invalidate(thread_of(context), site, barrier);
}

void fence(ThreadContext* context, Word) noexcept {
  thread_of(context).home->fence(thread_of(context));
}
Word atomic_add(ThreadContext* context, Word site, char* address, Word value) noexcept {
  return thread_of(context).home->atomic_add(thread_of(context), site, address, value);
}

Word permute(ThreadContext*, Word, Word a, Word b, Word selector) noexcept {
  return permuted(a, b, selector);
}

Word convert_to_bf16(ThreadContext*, Word, float value) noexcept { return to_bf16(value); }
Word convert_to_f16(ThreadContext*, Word, float value) noexcept { return to_f16(value); }
float convert_from_f16(ThreadContext*, Word, Word bits) noexcept {
  return from_f16(static_cast<std::uint16_t>(bits));
}
float exp2_of(ThreadContext*, Word, float x) noexcept { return approximate_exp2(x); }
float reciprocal_of(ThreadContext*, Word, float x) noexcept { return approximate_reciprocal(x); }

using Function = void (*)();

template <class Callee>
void set(std::array<Function, function_count>& table, Op op, Callee callee) {
  table[static_cast<std::size_t>(op)] = reinterpret_cast<Function>(callee);
}

template <void (Multiprocessor::*check)(Thread&, const char*, std::uint32_t)>
void set_check(std::array<Function, function_count>& table, Check kind) {
  table[static_cast<std::size_t>(kind)] = reinterpret_cast<Function>(&check_access<check>);
}

// Index operations have no function: generated code reads the context.
std::array<Function, function_count> make_table() {
  std::array<Function, function_count> table = {};
  set_check<&Multiprocessor::load_global>(table, Check::LoadGlobal);
  set_check<&Multiprocessor::store_global>(table, Check::StoreGlobal);
  set_check<&Multiprocessor::store_status>(table, Check::StoreStatus);
  set_check<&Multiprocessor::load_shared>(table, Check::LoadShared);
  set_check<&Multiprocessor::store_shared>(table, Check::StoreShared);
  set(table, Op::Barrier, &barrier);
  set(table, Op::NamedBarrier, &named_barrier);
  set(table, Op::WarpSync, &warp_sync);
  set(table, Op::ShuffleBfly, &shuffle<Op::ShuffleBfly>);
  set(table, Op::ShuffleDown, &shuffle<Op::ShuffleDown>);
  set(table, Op::ShuffleIndex, &shuffle<Op::ShuffleIndex>);
  set(table, Op::Ballot, &ballot);
  set(table, Op::CopyAsync4, &copy<4>);
  set(table, Op::CopyAsync8, &copy<8>);
  set(table, Op::CopyAsync16, &copy<16>);
  set(table, Op::CopyCommit, &commit);
  set(table, Op::CopyWait, &wait_group);
  set(table, Op::CopyArrive, &copy_arrive);
  set(table, Op::LoadMatrix1, &load_matrix<Op::LoadMatrix1>);
  set(table, Op::LoadMatrix2, &load_matrix<Op::LoadMatrix2>);
  set(table, Op::LoadMatrix4, &load_matrix<Op::LoadMatrix4>);
  set(table, Op::LoadMatrix2Trans, &load_matrix<Op::LoadMatrix2Trans>);
  set(table, Op::LoadMatrix4Trans, &load_matrix<Op::LoadMatrix4Trans>);
  set(table, Op::MmaF16, &multiply<Op::MmaF16>);
  set(table, Op::MmaBf16, &multiply<Op::MmaBf16>);
  set(table, Op::MmaTf32, &multiply<Op::MmaTf32>);
  set(table, Op::MmaU8U8, &multiply_bytes<Op::MmaU8U8>);
  set(table, Op::MmaU8I8, &multiply_bytes<Op::MmaU8I8>);
  set(table, Op::MmaI8U8, &multiply_bytes<Op::MmaI8U8>);
  set(table, Op::MmaI8I8, &multiply_bytes<Op::MmaI8I8>);
  set(table, Op::BarrierInit, &barrier_init);
  set(table, Op::BarrierArrive, &barrier_arrive);
  set(table, Op::BarrierTestWait, &barrier_test_wait);
  set(table, Op::BarrierInvalidate, &barrier_invalidate);
  set(table, Op::Fence, &fence);
  set(table, Op::AtomicAdd, &atomic_add);
  set(table, Op::Permute, &permute);
  set(table, Op::ToBf16, &convert_to_bf16);
  set(table, Op::ToF16, &convert_to_f16);
  set(table, Op::FromF16, &convert_from_f16);
  set(table, Op::Exp2, &exp2_of);
  set(table, Op::Reciprocal, &reciprocal_of);
  return table;
}

}  // namespace

void (*const* runtime_functions())() {
  static const std::array<Function, function_count> table = make_table();
  return table.data();
}

}  // namespace dyn::ptx::emulation
