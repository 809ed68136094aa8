#include "store/sqlite/job_spans.h"

#include <algorithm>
#include <functional>

namespace spate::store {
namespace {

constexpr std::string_view kRead =
    "SELECT first_seq, last_seq FROM span WHERE job = ? ORDER BY first_seq";
constexpr std::string_view kRange =
    "SELECT first_seq, last_seq FROM job WHERE id = ? AND first_seq IS NOT NULL";
constexpr std::string_view kWrite = "INSERT OR REPLACE INTO span VALUES(?, ?, ?)";

}  // namespace

void SpanList::Add(uint64_t first, uint64_t last) {
  if (!spans_.empty() && first <= spans_.back().second + kNear) {
    spans_.back().second = std::max(spans_.back().second, last);
    return;
  }
  spans_.emplace_back(first, last);
  if (spans_.size() > 2 * kMost) CloseSmallGaps();
}

// Leaves kMost: rarely, so that a number costs little.
void SpanList::CloseSmallGaps() {
  std::vector<uint64_t> gaps;
  for (size_t i = 1; i < spans_.size(); ++i) {
    gaps.push_back(spans_[i].first - spans_[i - 1].second);
  }
  std::ranges::nth_element(gaps, gaps.begin() + (kMost - 1), std::greater());
  const uint64_t least = gaps[kMost - 1];
  std::vector<std::pair<uint64_t, uint64_t>> kept;
  for (const auto& span : spans_) {
    const bool apart = kept.empty() || span.first - kept.back().second > least;
    if (apart) {
      kept.push_back(span);
    } else {
      kept.back().second = span.second;
    }
  }
  spans_ = std::move(kept);
}

Status JobSpans::Prepare(Database& db) {
  const std::pair<Statement*, std::string_view> all[] = {
      {&read_, kRead}, {&range_, kRange}, {&write_, kWrite}};
  return db.PrepareAll(all);
}

void JobSpans::Begin(JobId job, uint64_t seq) {
  SpanList list;
  list.Add(seq, seq);
  known_.insert_or_assign(job, std::move(list));
}

Status JobSpans::Add(JobId job, uint64_t seq) {
  auto at = known_.find(job);
  if (at == known_.end()) at = known_.emplace(job, TRY(Load(job, seq))).first;  // it goes on
  at->second.Add(seq, seq);
  return {};
}

Status JobSpans::Finished(JobId job) {
  auto at = known_.find(job);
  if (at == known_.end()) return {};
  const SpanList list = std::move(at->second);
  known_.erase(at);
  // The job's row says it, or as good as that: what others wrote in between is soon passed over.
  constexpr uint64_t kShort = 500;
  const auto& spans = list.spans();
  if (spans.size() < 2 || spans.back().second - spans.front().first < kShort) return {};
  for (const auto& [first, last] : spans) {
    write_.Bind(0, job.value);
    write_.Bind(1, static_cast<int64_t>(first));
    write_.Bind(2, static_cast<int64_t>(last));
    TRY(write_.RunOnce());
  }
  return {};
}

Result<SpanList> JobSpans::Load(JobId job, uint64_t seq) {
  SpanList list;
  for (Statement* from : {&read_, &range_}) {
    from->Bind(0, job.value);
    for (;;) {
      auto more = TRY(from->Step());
      if (!more) break;
      const uint64_t last = from->IsNull(1) ? seq : static_cast<uint64_t>(from->Int(1));
      list.Add(static_cast<uint64_t>(from->Int(0)), last);
    }
    from->Reset();
    if (!list.spans().empty()) break;
  }
  return list;
}

}  // namespace spate::store
