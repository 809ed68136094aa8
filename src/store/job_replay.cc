#include "store/job_replay.h"

#include <utility>

#include "core/engine/record_job.h"
#include "store/bytes.h"

namespace spate::store {
const engine::JobState& JobReplay::job() const {
  static const engine::JobState kNone;
  const engine::JobState* job = state_.FindJob(job_);
  return job == nullptr ? kNone : *job;
}

bool JobReplay::IsOfJob(const engine::Record& record) const {
  JobId of = engine::JobOf(record);
  return of == job_ || of == JobId();
}

bool JobReplay::Apply(uint64_t seq, const engine::Record& record) {
  if (!IsOfJob(record) || !state_.Admits(record)) return false;
  changes_.Clear();
  state_.Apply(record, changes_);
  position_ = seq;
  if (!engine::ReplacesEarlier(record)) {
    if (recent_.size() == kRecent) recent_.erase(recent_.begin());
    recent_.push_back(seq);
  }
  ++applied_;
  if (const auto* ended = std::get_if<engine::AttemptEnded>(&record)) return AddEnd(seq, *ended);
  const auto* reopened = std::get_if<engine::TasksReopened>(&record);
  if (reopened != nullptr && !ForgetTries(reopened->tasks)) return false;
  words_.Add(record, job_);
  ends_.Grow(job().task_count());
  return true;
}

void JobReplay::Add(const AttemptNumbers& numbers) {
  sums_.Add(numbers);
  if (numbers.output_bytes <= 0) return;
  const uint64_t block = position_ / kSeqBlock;
  if (output_blocks_.empty() || output_blocks_.back() != block) output_blocks_.push_back(block);
}

bool JobReplay::AddEnd(uint64_t seq, const engine::AttemptEnded& ended) {
  TaskEnds* ends = ends_.Edit(ended.end.ref.index);
  if (ends == nullptr) return false;
  if (ends->last_seq != 0 && !earlier_.Push({seq, ends->last_seq})) return false;
  ends->last_seq = seq;
  if (ended.verdict == Verdict::kPart) {
    ends->has_parts = true;
    return true;
  }
  if (ends->attempts < UINT16_MAX) ++ends->attempts;
  if (ended.counts && ends->tries < UINT16_MAX) ++ends->tries;
  return true;
}

bool JobReplay::ForgetTries(const std::vector<TaskRange>& tasks) {
  for (TaskRange range : tasks) {
    for (uint32_t i = 0; i < range.count; ++i) {
      TaskEnds* ends = ends_.Edit(range.first + i);
      if (ends == nullptr) return false;
      ends->tries = 0;
    }
  }
  return true;
}

std::optional<uint64_t> JobReplay::EndBefore(uint64_t seq) const {
  uint64_t from = 0;
  for (uint64_t to = earlier_.size(); from < to;) {
    const uint64_t middle = from + (to - from) / 2;
    const EarlierEnd* end = earlier_.Find(middle);
    if (end == nullptr) return std::nullopt;
    if (end->seq == seq) return end->before;
    (end->seq < seq ? from : to) = end->seq < seq ? middle + 1 : middle;
  }
  return 0;
}

// ---- In a file ---------------------------------------------------------------------------------

namespace {

struct Tables {
  uint64_t tasks = 0, earlier = 0;  // entries
  std::vector<BlockPlace> task_blocks, earlier_blocks;
};

}  // namespace

Result<std::string> JobReplay::Save(const PutBlock& put) const {
  Tables tables{.tasks = ends_.size(),
                .earlier = earlier_.size(),
                .task_blocks = TRY(ends_.Save(put)),
                .earlier_blocks = TRY(earlier_.Save(put))};
  std::string image;
  ImageWriter write(image);
  write(job_, position_, recent_, tables, words_, sums_, output_blocks_, marked_rows_, state_);
  return image;
}

bool JobReplay::Open(std::string_view image, std::shared_ptr<const BlockSource> blocks) {
  JobId job;
  Tables tables;
  ImageReader read(image);
  read(job, position_, recent_, tables, words_, sums_, output_blocks_, marked_rows_, state_);
  if (!read.AtEnd() || job != job_ || tables.tasks != this->job().task_count()) return false;
  return ends_.Open(tables.tasks, tables.task_blocks, blocks) &&
         earlier_.Open(tables.earlier, tables.earlier_blocks, blocks);
}

// A block of ends: of each task the number of its newest end, as the difference from that of the
// task before it; then runs of tasks that have equal counts.
void EncodeBlock(std::span<const TaskEnds> entries, std::string& to) {
  ByteWriter out(to);
  uint64_t before = 0;
  for (const TaskEnds& each : entries) {
    out.Zigzag(static_cast<int64_t>(each.last_seq - before));
    before = each.last_seq;
  }
  for (size_t i = 0, end = 0; i < entries.size(); i = end) {
    const auto& [last_seq, attempts, tries, has_parts] = entries[i];
    auto equal = [&](const TaskEnds& other) {
      return other.attempts == attempts && other.tries == tries && other.has_parts == has_parts;
    };
    for (end = i + 1; end < entries.size() && equal(entries[end]);) ++end;
    out.Varint(end - i);
    out.Varint(attempts);
    out.Varint(uint64_t{tries} << 1 | (has_parts ? 1 : 0));
  }
}

bool DecodeBlock(std::string_view from, std::span<TaskEnds> entries) {
  ByteReader in(from);
  uint64_t before = 0;
  for (TaskEnds& each : entries) {
    each.last_seq = before += static_cast<uint64_t>(in.Zigzag());
  }
  for (size_t i = 0; i < entries.size() && in.ok();) {
    const uint64_t count = in.Varint();
    const auto attempts = static_cast<uint16_t>(in.Varint());
    const uint64_t rest = in.Varint();
    if (count == 0 || count > entries.size() - i) return false;
    for (TaskEnds& each : entries.subspan(i, count)) {
      each.attempts = attempts;
      each.tries = static_cast<uint16_t>(rest >> 1);
      each.has_parts = (rest & 1) != 0;
    }
    i += count;
  }
  return in.ok() && in.left() == 0;
}

void EncodeBlock(std::span<const EarlierEnd> entries, std::string& to) {
  ByteWriter out(to);
  EarlierEnd last;
  for (const EarlierEnd& each : entries) {
    out.Zigzag(static_cast<int64_t>(each.seq - last.seq));
    out.Zigzag(static_cast<int64_t>(each.before - last.before));
    last = each;
  }
}

bool DecodeBlock(std::string_view from, std::span<EarlierEnd> entries) {
  ByteReader in(from);
  EarlierEnd last;
  for (EarlierEnd& each : entries) {
    last.seq += static_cast<uint64_t>(in.Zigzag());
    last.before += static_cast<uint64_t>(in.Zigzag());
    each = last;
  }
  return in.ok() && in.left() == 0;
}

}  // namespace spate::store
