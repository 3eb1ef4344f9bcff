#pragma once
// Threads that share the columns of each step. A ticket leads, others join while it runs: it counts
// who is there before each phase of a step, tells them how many parts the columns have, and waits
// for theirs. It never waits for a thread that has not joined, so any number of threads, one
// included, comes to the same end.

#include "targets/cpu/recurrence/function.hpp"

namespace dyn::cpu {

class Team {
 public:
  /// `words`: where the team meets, zeros before its first ticket runs; `leads`, an i1: whether the
  /// ticket leads.
  Team(RecurrenceFunction& function, llvm::Value* words, llvm::Value* leads)
      : function_(function), builder_(function.builder), words_(words), leads_(leads) {}

  /// One phase of the steps for this thread: part `part` of `parts` of the columns.
  struct Phase {
    llvm::Value *index, *part, *parts;
  };
  /// Calls body(phase) for phases [0, count) where the thread leads, else for those in which it
  /// takes part. Outside of it nobody but the leader runs.
  void run(llvm::Value* count, const std::function<void(const Phase&)>& body);

 private:
  struct Turn {
    llvm::Value *goes_on, *index, *part, *parts, *word;
  };
  Turn lead(llvm::Value* next, llvm::Value* count);
  Turn follow(llvm::Value* own, llvm::Value* last);
  llvm::Value* word(int index);
  /// Spins until test(word) holds; returns the word.
  llvm::Value* wait(llvm::Value* address, const std::function<llvm::Value*(llvm::Value*)>& test);
  llvm::Value* add(int index, std::int64_t value);
  llvm::Value* load(int index);
  void store(llvm::Value* value, int index);

  RecurrenceFunction& function_;
  codegen::Builder& builder_;
  llvm::Value *words_, *leads_;
};

}  // namespace dyn::cpu
