#include "doors/mw/run/waiting_results.h"

#include <fmt/format.h>

#include <utility>

#include "os/file.h"

namespace spate::mw {
namespace {

// A shorter value costs more as a file than it takes in memory.
constexpr size_t kFileLeast = 4096;

void ReadBack(const WaitingResult& from, result& what) {
  auto bytes = os::ReadFile(from.file, from.cost);
  if (bytes) {
    what.bytes = std::move(*bytes);
  } else {
    what.failure = "its value cannot be read back: " + bytes.error().message;
  }
}

}  // namespace

WaitingResult ResultKeeper::Store(result what) {
  WaitingResult waiting{.what = std::move(what)};
  result& kept = waiting.what;
  waiting.cost = sizeof(waiting) + kept.bytes.size() + kept.tag.size() + kept.failure.size();
  waiting.held = link::HeldMemory(memory_);
  if (waiting.held.Acquire(waiting.cost) || kept.bytes.size() < kFileLeast) return waiting;
  std::string file = os::JoinPath(folder_, fmt::format("result-{}", ++files_));
  if (os::WriteFile(file, kept.bytes, 0600)) {
    waiting.file = std::move(file);
    std::string().swap(kept.bytes);
  } else {
    // The disk is full: it stays in memory, because a result may not be lost.
    (void)os::RemoveFile(file);
  }
  return waiting;
}

result Whole(const WaitingResult& waiting) {
  result what = waiting.what;
  if (!waiting.file.empty()) ReadBack(waiting, what);
  return what;
}

result Taken(WaitingResult waiting) {
  if (!waiting.file.empty()) {
    ReadBack(waiting, waiting.what);
    (void)os::RemoveFile(waiting.file);
  }
  return std::move(waiting.what);
}

void Discard(WaitingResult waiting) {
  if (!waiting.file.empty()) (void)os::RemoveFile(waiting.file);
}

}  // namespace spate::mw
