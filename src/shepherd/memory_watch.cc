#include "shepherd/memory_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/units.h"
#include "os/process.h"
#include "shepherd/note.h"

namespace spate::shepherd {
namespace {

constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kSampleEvery = 200 * kMilli;
constexpr int64_t kSampleAtLeastEvery = 2'000 * kMilli;

}  // namespace

void MemoryWatch::Begin(const Start& start, int64_t now) {
  limit_ = start.needs.memory;
  asked_ = start.sample_memory || limit_ != 0;
  noted_ = false;
  began_at_ = now;
  sampled_peak_ = 0;
  rusage_peak_ = 0;
  sample_at_ = now + (asked_ ? 200 : 1000) * kMilli;
  cgroup_.Begin(limit_);
}

// Where nobody waits for it, seldom is enough for a task that runs long.
void MemoryWatch::Skip(int64_t now) {
  int64_t pause = asked_ ? 0 : std::min((now - began_at_) / 8, kSampleAtLeastEvery);
  sample_at_ = now + std::max(pause, kSampleEvery);
}

uint64_t MemoryWatch::Sample(int64_t now, uint64_t more) {
  Skip(now);
  uint64_t bytes = os::RssOfDescendants(getpid()) + more;
  sampled_peak_ = std::max(sampled_peak_, bytes);
  return bytes;
}

void MemoryWatch::Add(const rusage& usage) {
  rusage_peak_ = std::max(rusage_peak_, static_cast<uint64_t>(usage.ru_maxrss) * 1024);
}

void MemoryWatch::Note(AttemptEnd& end, uint64_t used) {
  noted_ = true;
  AddNote(end, used > limit_ ? fmt::format("used {} of memory, {} were allowed", FormatSize(used),
                                           FormatSize(limit_))
                             : fmt::format("needed more memory than the {} that were allowed",
                                           FormatSize(limit_)));
}

void MemoryWatch::Tell(AttemptEnd& end) {
  end.memory_source = MemorySource::kRusage;
  end.peak_memory = rusage_peak_;
  if (sampled_peak_ > rusage_peak_) {
    end.memory_source = MemorySource::kSampled;
    end.peak_memory = sampled_peak_;
  }
  if (auto peak = cgroup_.Peak()) {
    end.memory_source = MemorySource::kCgroup;
    end.peak_memory = *peak;
  }
}

std::string MemoryWatch::LastWords(AttemptEnd& end) {
  if (!noted_) Note(end, end.peak_memory);
  return fmt::format("spate: MemoryError: over the limit of {} of memory (peak {})\n",
                     FormatSize(limit_), FormatSize(end.peak_memory));
}

}  // namespace spate::shepherd
