#include "shepherd/memory_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/units.h"
#include "os/clock.h"
#include "os/process.h"
#include "shepherd/nanos.h"
#include "shepherd/note.h"
#include "shepherd/tree_memory.h"

namespace spate::shepherd {
namespace {

constexpr int64_t kSampleEvery = 200 * kMilli;
constexpr int64_t kSampleAtLeastEvery = 2'000 * kMilli;
// Between two close looks there is so many times what one took.
constexpr int64_t kLookPause = 20;
// To read how much page cache a cgroup has takes some 50 us, too much for each small task.
constexpr uint64_t kCacheMatters = 32 << 20;

}  // namespace

void MemoryWatch::Begin(const Start& start, int64_t now) {
  limit_ = start.needs.memory;
  asked_ = start.sample_memory || limit_ != 0;
  began_at_ = now;
  sampled_peak_ = resident_peak_ = 0;
  rusage_peak_ = 0;
  resident_then_ = need_then_ = 0;
  look_after_ = 0;
  sample_at_ = now + kSampleEvery;
}

void MemoryWatch::SetLimit(uint64_t bytes) {
  limit_ = bytes;
  asked_ |= bytes != 0;
}

// If nobody waits for it, seldom is enough for a task that runs long.
void MemoryWatch::Skip(int64_t now) {
  int64_t pause = asked_ ? 0 : std::min((now - began_at_) / 8, kSampleAtLeastEvery);
  sample_at_ = now + std::max(pause, kSampleEvery);
}

uint64_t MemoryWatch::Sample(int64_t now, uint64_t more) {
  Skip(now);
  auto used = cgroup_.Used();
  uint64_t bytes = used ? *used : SampleTree(now, more);
  sampled_peak_ = std::max(sampled_peak_, bytes);
  return bytes;
}

// A sum of resident pages is cheap, and never too small. Only where it would be a new peak, or over
// the limit, is there a close look; one that took long not too often, unless what has come since
// then may be too much. Pages that were shared may be so no more, with the same sum.
uint64_t MemoryWatch::SampleTree(int64_t now, uint64_t more) {
  uint64_t resident = os::RssOfDescendants(getpid());
  resident_peak_ = std::max(resident_peak_, resident + more);
  uint64_t grown = resident - std::min(resident, resident_then_);
  uint64_t guess = std::min(resident, need_then_ + grown) + more;
  bool matters = resident + more > sampled_peak_ || IsOver(resident + more);
  if (!matters || (now < look_after_ && !IsOver(guess))) return std::min(guess, sampled_peak_);
  need_then_ = NeedOfDescendants(getpid());
  resident_then_ = resident;
  look_after_ = now + kLookPause * (os::MonotonicNanos() - now);
  return need_then_ + more;
}

void MemoryWatch::Add(const rusage& usage) {
  rusage_peak_ = std::max(rusage_peak_, static_cast<uint64_t>(usage.ru_maxrss) * 1024);
}

void MemoryWatch::AddTo(AttemptEnd& end) {
  // Memory of the largest process beyond any size that was ever looked at was not seen.
  uint64_t unseen = rusage_peak_ - std::min(rusage_peak_, resident_peak_);
  end.memory_source = unseen > 0 ? MemorySource::kRusage : MemorySource::kSampled;
  end.peak_memory = sampled_peak_ + unseen;
  if (auto peak = cgroup_.Peak()) {
    end.memory_source = MemorySource::kCgroup;
    end.peak_memory = NeedOfCgroup(*peak);
  }
}

// The high-water mark has page cache in it, also that of earlier attempts. How much there was then
// is not known, but how much there is now.
uint64_t MemoryWatch::NeedOfCgroup(uint64_t peak) {
  if (peak > cache_ + kCacheMatters) cache_ = cgroup_.Cache();
  uint64_t need = std::max(peak - std::min(peak, cache_), sampled_peak_);
  if (sampled_peak_ == 0) need = std::max(need, rusage_peak_);
  return std::min(need, peak);
}

std::string MemoryWatch::LastWords(AttemptEnd& end) const {
  const std::string limit = FormatSize(limit_), peak = FormatSize(end.peak_memory);
  AddNote(end, IsOver(end.peak_memory)
                   ? fmt::format("used {} of memory, but only {} was allowed", peak, limit)
                   : fmt::format("needed more memory than the {} that was allowed", limit));
  return fmt::format("spate: MemoryError: over the limit of {} of memory (peak {})\n", limit, peak);
}

}  // namespace spate::shepherd
