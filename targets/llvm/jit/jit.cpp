#include "targets/llvm/jit/jit.hpp"

#include <fmt/format.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/DebugObjectManagerPlugin.h>
#include <llvm/ExecutionEngine/Orc/EPCDebugObjectRegistrar.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderGDB.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <unordered_map>

#include "dyn/error.hpp"
#include "src/base/load_progress.hpp"
#include "targets/llvm/code/parallel_jobs.hpp"
#include "targets/llvm/jit/ahead_of_time.hpp"
#include "targets/llvm/jit/code_memory.hpp"
#include "targets/llvm/jit/code_stamp.hpp"
#include "targets/llvm/jit/compiler.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/jit/listing.hpp"
#include "targets/llvm/jit/object_cache.hpp"
#include "targets/llvm/jit/perf_map.hpp"

namespace dyn::codegen {
namespace {

[[noreturn]] void fail(const std::string& what, llvm::Error error) {
  throw Error(ErrorKind::device, fmt::format("{}: {}", what, llvm::toString(std::move(error))));
}

template <class T>
T must(const std::string& what, llvm::Expected<T> value) {
  if (!value) fail(what, value.takeError());
  return std::move(*value);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Links objects into this process. Memory is writable while it is filled and executable afterwards,
// never both.
class Linker {
 public:
  /// The room is for the session that begins.
  Linker(bool debugger, CodeMapping mapping, const RoomForLlvm& = RoomForLlvm())
      : memory_(make_code_memory(mapping == CodeMapping::Automatic ? allowed_mapping() : mapping)),
        session_(must("starting the JIT", llvm::orc::SelfExecutorProcessControl::Create())),
        layer_(session_, *memory_),
        library_(session_.createBareJITDylib("dyn")) {
    define_functions();
    // lookup() says that there was a failure, this says which; nothing is printed.
    session_.setErrorReporter(
        [this](llvm::Error error) { reported_ = llvm::toString(std::move(error)); });
    // Math functions that an ISA has no instruction for (floorf on SSE2, powf) come from the host
    // process.
    library_.addGenerator(
        must("finding the process's symbols",
             llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess('\0')));
    if (debugger) {
      const auto address = llvm::orc::ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderGDBWrapper);
      layer_.addPlugin(std::make_unique<llvm::orc::DebugObjectManagerPlugin>(
          session_, std::make_unique<llvm::orc::EPCDebugObjectRegistrar>(session_, address), false,
          true));
    }
  }

  /// Functions that generated code calls: they are found even where the process hides its own
  /// symbols.
  void define_functions() {
    using Unary = double (*)(double);
    using Binary = double (*)(double, double);
    constexpr std::pair<const char*, Unary> unary[] = {
        {"exp", std::exp},     {"log", std::log},     {"tanh", std::tanh},  {"erf", std::erf},
        {"sin", std::sin},     {"cos", std::cos},     {"tan", std::tan},    {"asin", std::asin},
        {"acos", std::acos},   {"atan", std::atan},   {"sinh", std::sinh},  {"cosh", std::cosh},
        {"asinh", std::asinh}, {"acosh", std::acosh}, {"atanh", std::atanh}};
    constexpr std::pair<const char*, Binary> binary[] = {{"pow", std::pow}, {"fmod", std::fmod}};
    llvm::orc::SymbolMap symbols;
    const auto add = [&](const char* name, auto function) {
      symbols[session_.intern(name)] = {
          llvm::orc::ExecutorAddr::fromPtr(function),
          llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    };
    for (const auto& [name, function] : unary) add(name, function);
    for (const auto& [name, function] : binary) add(name, function);
    add("sched_yield", ::sched_yield);  // where threads wait for each other
    if (llvm::Error error = library_.define(llvm::orc::absoluteSymbols(std::move(symbols))))
      fail("starting the JIT", std::move(error));
  }

  ~Linker() {
    std::optional<RoomForLlvm> room;
    try {
      room.emplace();
    } catch (const std::bad_alloc&) {}  // it has to end
    if (llvm::Error error = session_.endSession()) llvm::consumeError(std::move(error));
  }

  /// Removes a function later; there is none yet.
  llvm::orc::ResourceTrackerSP make_tracker() {
    const RoomForLlvm room;
    return library_.createResourceTracker();
  }

  /// Where the object's function is. Whether it can be linked or not, its symbol may be added again
  /// when the tracker was removed.
  void* add(const llvm::orc::ResourceTrackerSP& tracker, const std::string& symbol,
            const std::string& object) {
    const RoomForLlvm room;
    reported_.clear();
    llvm::Error added = layer_.add(tracker, llvm::MemoryBuffer::getMemBufferCopy(object, symbol));
    if (!added) {
      auto found = session_.lookup({&library_}, symbol);
      if (found) return found->getAddress().toPtr<void*>();
      added = found.takeError();
    }
    std::string cause = llvm::toString(std::move(added));
    if (!reported_.empty()) cause = reported_;
    throw Error(ErrorKind::device, "linking generated code: " + cause);
  }

  /// Its symbol may be added again. Removing it once more does nothing. Throws std::bad_alloc,
  /// before anything has changed.
  static void remove(llvm::orc::ResourceTracker& tracker) {
    if (tracker.isDefunct()) return;
    const RoomForLlvm room;
    if (llvm::Error error = tracker.remove()) llvm::consumeError(std::move(error));
  }

 private:
  std::string reported_;
  std::unique_ptr<llvm::jitlink::JITLinkMemoryManager> memory_;
  llvm::orc::ExecutionSession session_;
  llvm::orc::ObjectLinkingLayer layer_;
  llvm::orc::JITDylib& library_;
};

class Store final : public CodeStore, public std::enable_shared_from_this<Store> {
 public:
  Store(const Isa& isa, const CodeStoreOptions& options)
      : isa_(isa),
        options_(options),
        disk_(options.cache_dir, code_stamp() + " " + isa.name +
                                     (options.effort == CodeEffort::Quick ? " quick" : "")),
        linker_(options.debugger, options.mapping) {}

  const std::string& problem() const noexcept override { return disk_.problem(); }

  LinkedCode resolve(std::span<const KernelSource> sources, int threads,
                     rkernel::CompileReport& report) override {
    LinkedCode code;  // outlives the lock: what it holds needs the mutex to go
    code.keep.reserve(sources.size());
    const std::lock_guard lock(mutex_);
    std::vector<const KernelSource*> missing;
    std::set<std::string_view> seen;
    for (const KernelSource& source : sources) {
      if (!seen.insert(source.key).second) continue;
      ++report.kernels;
      if (ahead_of_time(source) != nullptr) {
        ++report.from_memory;
      } else if (std::shared_ptr<const Function> known = find(source.key)) {
        ++report.from_memory;
        code.keep.push_back(std::move(known));
      } else {
        missing.push_back(&source);
      }
    }
    const std::vector<std::string> objects = build(missing, threads, report);
    link(missing, objects, code);
    code.addresses.reserve(sources.size());
    for (const KernelSource& source : sources) {
      void* const known = ahead_of_time(source);
      code.addresses.push_back(known != nullptr ? known : functions_.at(source.key).address);
    }
    return code;
  }

 private:
  /// Removes its function from memory with the last one that holds it.
  class Function {
   public:
    Function(std::shared_ptr<Store> store, std::string key, llvm::orc::ResourceTrackerSP tracker)
        : store_(std::move(store)), key_(std::move(key)), tracker_(std::move(tracker)) {}
    ~Function() { store_->drop(key_, *tracker_); }
    Function(const Function&) = delete;
    Function& operator=(const Function&) = delete;

   private:
    std::shared_ptr<Store> store_;
    std::string key_;
    llvm::orc::ResourceTrackerSP tracker_;
  };

  struct Entry {
    std::weak_ptr<const Function> function;
    llvm::orc::ResourceTrackerSP tracker;
    void* address = nullptr;
  };

  /// A function that somebody holds. One that nobody holds any more, and whose removal waits for
  /// the mutex, is removed here.
  std::shared_ptr<const Function> find(const std::string& key) {
    const auto entry = functions_.find(key);
    if (entry == functions_.end()) return nullptr;
    std::shared_ptr<const Function> held = entry->second.function.lock();
    if (held) return held;
    Linker::remove(*entry->second.tracker);
    functions_.erase(entry);
    return nullptr;
  }

  /// Without memory for it the function stays until the store goes, or somebody wants it again.
  void drop(const std::string& key, llvm::orc::ResourceTracker& tracker) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      Linker::remove(tracker);
    } catch (const std::bad_alloc&) { return; }
    const auto entry = functions_.find(key);
    if (entry != functions_.end() && entry->second.tracker.get() == &tracker)
      functions_.erase(entry);
  }

  std::vector<std::string> build(const std::vector<const KernelSource*>& missing, int threads,
                                 rkernel::CompileReport& report) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::string> objects(missing.size());
    std::vector<std::size_t> to_compile;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (auto object = dumps() ? std::nullopt : disk_.load(missing[i]->key)) {
        objects[i] = std::move(*object);
        ++report.from_disk;
      } else {
        to_compile.push_back(i);
      }
    }
    compile_all(missing, to_compile, objects, threads, report);
    report.compiled += static_cast<int>(to_compile.size());
    report.compile_seconds += seconds_since(start);
    return objects;
  }

  void compile_all(const std::vector<const KernelSource*>& missing,
                   const std::vector<std::size_t>& which, std::vector<std::string>& objects,
                   int threads, rkernel::CompileReport& report) {
    if (which.empty()) return;
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::string warning;
    std::atomic<std::int64_t> done{0};
    const auto compile_some = [&] {
      Compiler compiler(isa_, options_.effort);
      for (std::size_t i = next++; i < which.size(); i = next++) {
        report_progress({"compile", done, static_cast<std::int64_t>(which.size())});
        const KernelSource& source = *missing[which[i]];
        objects[which[i]] = compiler.compile(source, symbol_of(source));
        dump(compiler, source);
        ++done;
        const std::string problem = disk_.store(source.key, objects[which[i]]);
        if (problem.empty()) continue;
        const std::lock_guard lock(mutex);
        warning = problem;
      }
    };
    run_workers(std::min<std::size_t>(which.size(), static_cast<std::size_t>(std::max(threads, 1))),
                [&] {
                  try {
                    compile_some();
                  } catch (...) {
                    next = which.size();  // the others stop too
                    throw;
                  }
                });
    if (!warning.empty()) report.warnings.push_back(warning);
  }

  void link(const std::vector<const KernelSource*>& missing,
            const std::vector<std::string>& objects, LinkedCode& code) {
    for (std::size_t i = 0; i < missing.size(); ++i) {
      const std::string& key = missing[i]->key;
      const std::string symbol = symbol_of(*missing[i]);
      // From here on the function goes whatever fails, when the mutex is free: `keep` has room.
      const llvm::orc::ResourceTrackerSP tracker = linker_.make_tracker();
      const auto function = std::make_shared<const Function>(shared_from_this(), key, tracker);
      code.keep.push_back(function);
      void* const address = linker_.add(tracker, symbol, objects[i]);
      functions_[key] = {function, tracker, address};
      if (options_.perf_map) append_to_perf_map(objects[i], symbol, key, address);
    }
  }

  void* ahead_of_time(const KernelSource& source) const {
    return dumps() ? nullptr : ahead_of_time_function(isa_, source.key);
  }

  bool dumps() const {
    return options_.dump.wants(DumpKind::Llvm) || options_.dump.wants(DumpKind::Assembly);
  }

  void dump(Compiler& compiler, const KernelSource& source) const {
    const std::string symbol = symbol_of(source);
    if (options_.dump.wants(DumpKind::Llvm))
      options_.dump.write(symbol + ".ll", "; " + source.key + "\n" + compiler.ir(source, symbol));
    if (options_.dump.wants(DumpKind::Assembly))
      options_.dump.write(symbol + ".s", assembly_text(compiler, source));
  }

  const Isa& isa_;
  CodeStoreOptions options_;
  ObjectCache disk_;
  std::mutex mutex_;
  Linker linker_;
  std::unordered_map<std::string, Entry> functions_;  // its trackers are the linker's
};

}  // namespace

std::shared_ptr<CodeStore> CodeStore::open(const Isa& isa, const CodeStoreOptions& options) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<CodeStore>> stores;
  const std::lock_guard lock(mutex);
  const std::string name = fmt::format(
      "{}|{}|{}|{}|{}|{}|{}", isa.name, options.cache_dir, options.perf_map, options.debugger,
      static_cast<int>(options.mapping), static_cast<int>(options.effort), options.dump.identity());
  std::shared_ptr<CodeStore> store = stores[name].lock();
  if (!store) {
    store = std::make_shared<Store>(isa, options);
    stores[name] = store;
  }
  return store;
}

}  // namespace dyn::codegen
