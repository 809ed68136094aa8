// The fake store: a queue, a timer, and a disk that outlives both.
#include "store/memory_store.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/check.h"
#include "store/batch.h"
#include "store/record_job.h"

namespace spate::store {

MemoryStore::MemoryStore(os::Loop& loop, std::shared_ptr<MemoryDisk> disk,
                         MemoryStoreOptions options)
    : loop_(loop), disk_(std::move(disk)), options_(options), prng_(options.seed) {
  CHECK(disk_ != nullptr);
  CHECK(options_.delay_min <= options_.delay_max);
}

MemoryStore::~MemoryStore() { loop_.Cancel(timer_); }

void MemoryStore::Append(Batch batch, std::function<void(Status)> done) {
  if (dead_) return;
  appended_ = true;
  uint64_t bytes = BatchBytes(batch);
  backlog_ += bytes;
  queue_.push_back({std::move(batch), std::move(done), bytes});
  if (queue_.size() == 1) Arm();
}

void MemoryStore::Arm() {
  auto span = static_cast<uint64_t>((options_.delay_max - options_.delay_min).ns);
  Duration delay = options_.delay_min + Duration{static_cast<int64_t>(prng_.Below(span + 1))};
  timer_ = loop_.At(loop_.Now() + delay, [this] { CommitFirst(); });
}

void MemoryStore::CommitFirst() {
  Queued first = std::move(queue_.front());
  queue_.pop_front();
  timer_ = 0;
  backlog_ -= first.bytes;
  Status status;
  if (commits_until_failure_ == 0) {
    status = std::unexpected(failure_);
  } else {
    --commits_until_failure_;
    Write(first.batch);
  }
  if (!queue_.empty()) Arm();
  first.done(std::move(status));  // last: it may destroy this store
}

void MemoryStore::Write(Batch& batch) {
  for (RowChunk& chunk : batch.rows) {
    TaskIndex index = chunk.first;
    for (std::string& row : chunk.rows) disk_->rows[{chunk.job, index++}] = std::move(row);
  }
  size_t attempt = 0;
  for (engine::Record& record : batch.records) {
    if (auto* ended = std::get_if<engine::AttemptEnded>(&record)) {
      RoundToStored(*ended);
      if (attempt < batch.outputs.size() && batch.outputs[attempt] != nullptr) {
        disk_->outputs[ended->end.ref] = batch.outputs[attempt];
      }
      ++attempt;
      disk_->records.emplace_back(std::move(*ended));
    } else {
      disk_->records.emplace_back(EncodeRecord(record));
    }
  }
  ++disk_->commits;
}

Status MemoryStore::Replay(const std::function<void(const engine::Record&)>& visit) {
  CHECK(!appended_);
  if (!options_.is_hub) return Visit(visit);
  std::set<JobId> finished;
  auto looked = Visit([&](const engine::Record& record) {
    if (std::holds_alternative<engine::JobFinished>(record)) finished.insert(JobOf(record));
    if (Reopens(record)) finished.erase(JobOf(record));
  });
  if (!looked) return looked;
  return Visit([&](const engine::Record& record) {
    if (!finished.contains(JobOf(record))) visit(record);
  });
}

Status MemoryStore::ReplayJob(JobId job, const std::function<void(const engine::Record&)>& visit) {
  bool found = false;
  auto visited = Visit([&](const engine::Record& record) {
    if (JobOf(record) != job) return;
    found = true;
    visit(record);
  });
  if (visited && !found) {
    return Fail(ErrorKind::kNotFound, fmt::format("there is no job {}", job.value));
  }
  return visited;
}

Status MemoryStore::Visit(const std::function<void(const engine::Record&)>& visit) const {
  for (const auto& stored : disk_->records) {
    if (const auto* ended = std::get_if<engine::AttemptEnded>(&stored)) {
      visit(engine::Record(*ended));
      continue;
    }
    const auto& encoded = std::get<EncodedRecord>(stored);
    auto record = DecodeRecord(static_cast<int>(encoded.kind), encoded.data);
    if (!record) return std::unexpected(record.error());
    visit(*record);
  }
  return {};
}

Result<std::vector<std::string>> MemoryStore::Rows(JobId job, TaskIndex first, uint32_t count) {
  std::vector<std::string> rows;
  rows.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    const std::string* row = nullptr;
    if (auto it = disk_->rows.find({job, first + i}); it != disk_->rows.end()) row = &it->second;
    for (const Queued& queued : queue_) {
      for (const RowChunk& chunk : queued.batch.rows) {
        if (chunk.job != job || first + i < chunk.first) continue;
        if (uint32_t at = first + i - chunk.first; at < chunk.rows.size()) row = &chunk.rows[at];
      }
    }
    if (row == nullptr) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("job {} has no row for task {}", job.value, first + i + 1));
    }
    rows.push_back(*row);
  }
  return rows;
}

size_t MemoryStore::Crash(size_t also_durable) {
  size_t durable = 0;
  while (durable < also_durable && durable < queue_.size() && commits_until_failure_ > 0) {
    --commits_until_failure_;
    Write(queue_[durable++].batch);
  }
  queue_.clear();
  backlog_ = 0;
  dead_ = true;
  loop_.Cancel(timer_);
  timer_ = 0;
  return durable;
}

void MemoryStore::FailAfter(uint64_t commits, Error error) {
  commits_until_failure_ = commits;
  failure_ = std::move(error);
}

}  // namespace spate::store
