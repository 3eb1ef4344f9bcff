#include "targets/llvm/jit/code_memory.hpp"

#include <fmt/format.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "dyn/error.hpp"

namespace dyn::codegen {
namespace {

using llvm::jitlink::BasicLayout;
using llvm::jitlink::JITLinkDylib;
using llvm::jitlink::JITLinkMemoryManager;
using llvm::jitlink::LinkGraph;

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// One range of addresses that is written through `working` and used at `target`; both are the same
/// for Protect.
struct Block {
  char* working = nullptr;
  char* target = nullptr;
  std::size_t bytes = 0;
};

bool map_block(CodeMapping mapping, std::size_t bytes, Block& block) {
  block.bytes = bytes;
  if (mapping == CodeMapping::Protect) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    block.working = block.target = static_cast<char*>(memory);
    return true;
  }
  const int file = memfd_create("dyn-code", MFD_CLOEXEC);
  if (file < 0) return false;
  void *working = MAP_FAILED, *target = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    working = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    target = mmap(nullptr, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  }
  close(file);
  if (working == MAP_FAILED || target == MAP_FAILED) {
    if (working != MAP_FAILED) munmap(working, bytes);
    if (target != MAP_FAILED) munmap(target, bytes);
    return false;
  }
  block.working = static_cast<char*>(working);
  block.target = static_cast<char*>(target);
  return true;
}

void drop_working(Block& block) {
  if (block.working != nullptr && block.working != block.target) munmap(block.working, block.bytes);
  block.working = nullptr;
}

void unmap(Block& block) {
  drop_working(block);
  munmap(block.target, block.bytes);
}

llvm::Error system_error(const char* what) {
  return llvm::make_error<llvm::StringError>(fmt::format("{}: {}", what, std::strerror(errno)),
                                             llvm::inconvertibleErrorCode());
}

int system_protection(llvm::orc::MemProt protection) {
  using llvm::orc::MemProt;
  const auto has = [&](MemProt bit) {
    return (static_cast<unsigned>(protection) & static_cast<unsigned>(bit)) != 0;
  };
  return (has(MemProt::Read) ? PROT_READ : 0) | (has(MemProt::Write) ? PROT_WRITE : 0) |
         (has(MemProt::Exec) ? PROT_EXEC : 0);
}

class CodeMemory final : public JITLinkMemoryManager {
 public:
  explicit CodeMemory(CodeMapping mapping) : mapping_(mapping) {}

  void allocate(const JITLinkDylib*, LinkGraph& graph, OnAllocatedFunction on_allocated) override {
    BasicLayout layout(graph);
    auto sizes = layout.getContiguousPageBasedLayoutSizes(page_bytes());
    if (!sizes) {
      on_allocated(sizes.takeError());
      return;
    }
    Block block;
    if (!map_block(mapping_, std::max<std::size_t>(sizes->total(), page_bytes()), block)) {
      on_allocated(system_error("no memory for generated code"));
      return;
    }
    std::size_t offset = 0;
    std::vector<Piece> pieces;
    for (auto& [group, segment] : layout.segments()) {
      segment.Addr = llvm::orc::ExecutorAddr::fromPtr(block.target + offset);
      segment.WorkingMem = block.working + offset;
      const std::size_t bytes = (segment.ContentSize + segment.ZeroFillSize + page_bytes() - 1) /
                                page_bytes() * page_bytes();
      pieces.push_back({block.target + offset, bytes, group.getMemProt()});
      offset += bytes;
    }
    if (llvm::Error error = layout.apply()) {
      unmap(block);
      on_allocated(std::move(error));
      return;
    }
    on_allocated(std::make_unique<InFlight>(mapping_, block, std::move(pieces), graph));
  }

  void deallocate(std::vector<FinalizedAlloc> allocations,
                  OnDeallocatedFunction on_deallocated) override {
    llvm::Error errors = llvm::Error::success();
    for (FinalizedAlloc& allocation : allocations) {
      std::unique_ptr<Finished> finished(allocation.release().toPtr<Finished*>());
      errors = llvm::joinErrors(std::move(errors),
                                llvm::orc::shared::runDeallocActions(finished->actions));
      unmap(finished->block);
    }
    on_deallocated(std::move(errors));
  }

 private:
  struct Piece {
    char* start;
    std::size_t bytes;
    llvm::orc::MemProt protection;
  };
  struct Finished {
    Block block;
    std::vector<llvm::orc::shared::WrapperFunctionCall> actions;
  };

  class InFlight final : public InFlightAlloc {
   public:
    InFlight(CodeMapping mapping, Block block, std::vector<Piece> pieces, LinkGraph& graph)
        : mapping_(mapping), block_(block), pieces_(std::move(pieces)), graph_(graph) {}

    void finalize(OnFinalizedFunction on_finalized) override {
      drop_working_alias();
      for (const Piece& piece : pieces_) {
        if (mprotect(piece.start, piece.bytes, system_protection(piece.protection)) != 0) {
          on_finalized(system_error("making generated code executable"));
          return;
        }
      }
      auto actions = llvm::orc::shared::runFinalizeActions(graph_.allocActions());
      if (!actions) {
        on_finalized(actions.takeError());
        return;
      }
      auto finished = std::make_unique<Finished>();
      finished->block = block_;
      finished->actions = std::move(*actions);
      on_finalized(FinalizedAlloc(llvm::orc::ExecutorAddr::fromPtr(finished.release())));
    }

    void abandon(OnAbandonedFunction on_abandoned) override {
      unmap(block_);
      on_abandoned(llvm::Error::success());
    }

   private:
    void drop_working_alias() {
      if (mapping_ == CodeMapping::Dual) drop_working(block_);
    }

    CodeMapping mapping_;
    Block block_;
    std::vector<Piece> pieces_;
    LinkGraph& graph_;
  };

  CodeMapping mapping_;
};

bool works(CodeMapping mapping) {
  Block block;
  if (!map_block(mapping, page_bytes(), block)) return false;
  const bool executable = mprotect(block.target, block.bytes, PROT_READ | PROT_EXEC) == 0;
  unmap(block);
  return executable;
}

}  // namespace

CodeMapping allowed_mapping() {
  if (works(CodeMapping::Protect)) return CodeMapping::Protect;
  if (works(CodeMapping::Dual)) return CodeMapping::Dual;
  throw Error(ErrorKind::unsupported,
              "this system refuses executable memory to the process, so no code can be generated; "
              "allow it (for SELinux: execmem, for "
              "systemd: MemoryDenyWriteExecute=no)");
}

std::string code_memory_refusal() {
  try {
    allowed_mapping();
    return {};
  } catch (const Error& error) { return error.message(); }
}

std::unique_ptr<JITLinkMemoryManager> make_code_memory(CodeMapping mapping) {
  return std::make_unique<CodeMemory>(mapping);
}

}  // namespace dyn::codegen
