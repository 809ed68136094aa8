// The fake store: a queue, a timer, and a disk that outlives both.
#include "store/testing_memory_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "base/check.h"
#include "core/engine/record_job.h"

namespace spate::store {

MemoryStore::MemoryStore(os::Loop& loop, std::shared_ptr<MemoryDisk> disk,
                         MemoryStoreOptions options)
    : loop_(loop), disk_(std::move(disk)), options_(options), prng_(options.seed) {
  CHECK(disk_ != nullptr);
  CHECK(options_.delay_min <= options_.delay_max);
  // Uploads that the last life was given only in part.
  std::set<JobId> leftovers;
  for (const auto& [id, row] : disk_->jobs) {
    if (row.first_seq == 0) leftovers.insert(id);
  }
  for (JobId job : leftovers) disk_->Forget(job);
}

MemoryStore::~MemoryStore() { loop_.Cancel(timer_); }

void MemoryStore::Append(Bundle bundle, std::function<void(Status)> done) {
  uint64_t bytes = BundleBytes(bundle);
  Queue({std::move(bundle), nullptr, std::move(done), bytes});
}

void MemoryStore::Change(RowChange change, Done done) {
  Queue({{}, std::move(change), std::move(done), sizeof(Queued)});
}

void MemoryStore::Queue(Queued queued) {
  if (dead_) return;
  appended_ = true;
  backlog_ += queued.bytes;
  queue_.push_back(std::move(queued));
  if (queue_.size() > 1) return;
  moved_ = loop_.Now();
  Arm();
}

void MemoryStore::Arm() {
  Duration delay;
  if (grouped_ == 0) {
    auto span = static_cast<uint64_t>((options_.delay_max - options_.delay_min).ns);
    delay = options_.delay_min + Duration{static_cast<int64_t>(prng_.Below(span + 1))};
    grouped_ = queue_.size();
  }
  --grouped_;
  timer_ = loop_.At(loop_.Now() + delay, [this] { CommitFirst(); });
}

void MemoryStore::CommitFirst() {
  Queued first = std::move(queue_.front());
  queue_.pop_front();
  timer_ = 0;
  backlog_ -= first.bytes;
  moved_ = loop_.Now();
  Status status;
  if (commits_until_failure_ == 0) {
    status = std::unexpected(failure_);
  } else {
    --commits_until_failure_;
    Write(first);
  }
  if (!queue_.empty()) Arm();
  if (first.done) first.done(std::move(status));  // last: it may destroy this store
}

void MemoryStore::Write(Queued& queued) {
  ++disk_->commits;
  if (queued.change) return queued.change(*disk_);
  Bundle& bundle = queued.bundle;
  for (RowChunk& chunk : bundle.rows) {
    TaskIndex index = chunk.first;
    for (std::string& row : chunk.rows) disk_->rows[{chunk.job, index++}] = std::move(row);
  }
  size_t attempt = 0;
  for (engine::Record& record : bundle.records) {
    if (options_.is_hub) Note(record, bundle.now);
    if (auto* ended = std::get_if<engine::AttemptEnded>(&record)) {
      RoundToStored(*ended);
      if (attempt < bundle.outputs.size() && bundle.outputs[attempt] != nullptr) {
        disk_->outputs[ended->end.ref] = bundle.outputs[attempt];
      }
      ++attempt;
      disk_->records.emplace_back(std::move(*ended));
    } else {
      disk_->records.emplace_back(EncodeRecord(record));
    }
  }
}

// Updates the job's row for the record that is about to be written, as JobTable does.
void MemoryStore::Note(const engine::Record& record, Instant now) {
  auto at = disk_->jobs.find(JobOf(record));
  if (at == disk_->jobs.end()) return;
  JobRow& row = at->second;
  uint64_t seq = disk_->records.size() + 1;
  if (std::holds_alternative<engine::JobAccepted>(record)) {
    row.first_seq = seq;
    row.last_seq = 0;
  } else if (const auto* finished = std::get_if<engine::JobFinished>(&record)) {
    row.last_seq = seq;
    row.state = JobState::kFinished;
    row.ended = now;
    row.counts = finished->counts;
  } else if (engine::StepOf(record) == engine::JobStep::kReopen) {
    row.last_seq = 0;
    row.ended.reset();
    if (row.state == JobState::kFinished) row.state = JobState::kRunning;
  } else if (row.last_seq != 0) {
    row.last_seq = seq;
  }
}

Status MemoryStore::Replay(const std::function<void(const engine::Record&)>& visit) {
  CHECK(!appended_);
  if (!options_.is_hub) return disk_->Visit(visit);
  std::set<JobId> finished;
  auto looked = disk_->Visit([&](const engine::Record& record) {
    if (std::holds_alternative<engine::JobFinished>(record)) finished.insert(JobOf(record));
    if (engine::StepOf(record) == engine::JobStep::kReopen) finished.erase(JobOf(record));
  });
  if (!looked) return looked;
  return disk_->Visit([&](const engine::Record& record) {
    if (!finished.contains(JobOf(record))) visit(record);
  });
}

Status MemoryStore::ReplayJob(JobId job, const std::function<void(const engine::Record&)>& visit) {
  return disk_->VisitJob(job, visit);
}

Status MemoryDisk::VisitJob(JobId job,
                            const std::function<void(const engine::Record&)>& visit) const {
  bool found = false;
  auto visited = Visit([&](const engine::Record& record) {
    if (JobOf(record) != job) return;
    found = true;
    visit(record);
  });
  if (visited && !found) {
    return Fail(ErrorKind::kNotFound, fmt::format("no job {}", job.value));
  }
  return visited;
}

Result<engine::Record> MemoryDisk::Decode(const Stored& stored) {
  if (const auto* ended = std::get_if<engine::AttemptEnded>(&stored)) return engine::Record(*ended);
  const auto& encoded = std::get<EncodedRecord>(stored);
  return DecodeRecord(encoded.kind, encoded.data);
}

Status MemoryDisk::Visit(const std::function<void(const engine::Record&)>& visit) const {
  for (const Stored& stored : records) {
    auto record = TRY(Decode(stored));
    visit(record);
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
      for (const RowChunk& chunk : queued.bundle.rows) {
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

// ---- Rows of a hub -----------------------------------------------------------------------------

void MemoryStore::PutJob(JobRow row, Done done) {
  queued_submissions_.Add(row.submission, row.job);
  auto written = [this, submission = row.submission, job = row.job,
                  done = std::move(done)](Status status) {
    queued_submissions_.Written(submission, job);
    if (done) done(std::move(status));
  };
  auto change = [row = std::move(row)](MemoryDisk& disk) {
    for (const auto& [id, other] : disk.jobs) {  // as SQLite's index does
      CHECK(id == row.job || row.submission.empty() || other.submission != row.submission);
    }
    JobRow& kept = disk.jobs[row.job];
    uint64_t first = kept.first_seq, last = kept.last_seq;
    kept = row;
    kept.first_seq = first;
    kept.last_seq = last;
  };
  Change(std::move(change), std::move(written));
}

void MemoryStore::PutProgress(JobProgress progress, Done done) {
  auto change = [progress](MemoryDisk& disk) {
    auto at = disk.jobs.find(progress.job);
    if (at == disk.jobs.end()) return;
    JobRow& row = at->second;
    if (row.last_seq != 0 && progress.state != JobState::kFinished) return;
    row.state = progress.state;
    row.counts = progress.counts;
    row.ended = progress.ended;
    if (progress.started) row.started = *progress.started;
  };
  Change(std::move(change), std::move(done));
}

void MemoryStore::ForgetJob(JobId job, Done done) {
  auto change = [job](MemoryDisk& disk) {
    auto row = disk.jobs.find(job);
    bool goes_on =
        row != disk.jobs.end() && row->second.first_seq != 0 && row->second.last_seq == 0;
    if (!goes_on) disk.Forget(job);
  };
  Change(std::move(change), std::move(done));
}

void MemoryDisk::Forget(JobId job) {
  jobs.erase(job);
  std::erase_if(rows, [job](const auto& each) { return each.first.first == job; });
  std::erase_if(outputs, [job](const auto& each) { return each.first.job == job; });
  std::erase_if(records, [job](const Stored& each) {
    auto record = Decode(each);
    return record && JobOf(*record) == job;
  });
}

Result<JobRow> MemoryStore::ReadJob(JobId job) {
  auto at = disk_->jobs.find(job);
  if (at != disk_->jobs.end()) return at->second;
  return Fail(ErrorKind::kNotFound, fmt::format("no job {}", job.value));
}

Result<std::vector<JobRow>> MemoryStore::ReadJobs(WhichJobs which) {
  std::vector<JobRow> rows;
  for (const auto& [id, row] : disk_->jobs) {
    bool finished = row.last_seq != 0;
    bool wanted = which == WhichJobs::kAll || (which == WhichJobs::kUnfinished && !finished);
    if (row.first_seq != 0 && wanted) rows.push_back(row);
  }
  return rows;
}

Result<std::vector<JobId>> MemoryStore::JobsBetween(JobId first, JobId last, size_t most) {
  std::vector<JobId> jobs;
  for (auto at = disk_->jobs.lower_bound(first); at != disk_->jobs.end(); ++at) {
    if (at->first > last || jobs.size() == most) break;
    if (at->second.first_seq != 0) jobs.push_back(at->first);
  }
  return jobs;
}

Result<std::optional<JobId>> MemoryStore::NewestOf(std::string_view user) {
  std::optional<JobId> newest;
  for (const auto& [id, row] : disk_->jobs) {
    if (row.first_seq != 0 && (user.empty() || row.user == user)) newest = id;
  }
  return newest;
}

Result<std::vector<JobRow>> MemoryStore::ReadJobsBetween(JobId first, JobId last, size_t most) {
  std::vector<JobRow> rows;
  for (auto at = disk_->jobs.lower_bound(first); at != disk_->jobs.end(); ++at) {
    if (at->first > last || rows.size() == most) break;
    if (at->second.first_seq != 0) rows.push_back(at->second);
  }
  return rows;
}

Result<std::vector<JobId>> MemoryStore::EndedBefore(Instant when, size_t most,
                                                    std::string_view user) {
  std::vector<std::pair<Instant, JobId>> ended;
  for (const auto& [id, row] : disk_->jobs) {
    bool theirs = user.empty() || row.user == user;
    if (theirs && row.last_seq != 0 && row.ended && *row.ended < when)
      ended.emplace_back(*row.ended, id);
  }
  std::ranges::sort(ended);
  std::vector<JobId> jobs;
  for (const auto& [time, id] : ended) {
    if (jobs.size() < most) jobs.push_back(id);
  }
  return jobs;
}

Result<std::optional<JobId>> MemoryStore::FindSubmission(const std::string& submission) {
  if (auto queued = queued_submissions_.Find(submission)) return queued;
  for (const auto& [id, row] : disk_->jobs) {
    if (row.submission == submission && !submission.empty()) return id;
  }
  return std::nullopt;
}

Result<std::vector<NodeRow>> MemoryStore::ReadNodes() {
  std::vector<NodeRow> rows;
  for (const auto& [id, row] : disk_->nodes) rows.push_back(row);
  return rows;
}

Result<NodeRow> MemoryStore::ReadNode(const std::string& name) {
  for (const auto& [id, row] : disk_->nodes) {
    if (row.name == name) return row;
  }
  return Fail(ErrorKind::kNotFound, "there is no node " + name);
}

void MemoryStore::PutNode(NodeRow row, Done done) {
  auto change = [row = std::move(row)](MemoryDisk& disk) { disk.nodes[row.id] = row; };
  Change(std::move(change), std::move(done));
}

void MemoryStore::RemoveNodes(Instant before) {
  auto change = [before](MemoryDisk& disk) {
    for (auto at = disk.nodes.begin();
         at != disk.nodes.end() && std::next(at) != disk.nodes.end();) {
      bool old = at->second.forgotten && *at->second.forgotten < before;
      at = old ? disk.nodes.erase(at) : std::next(at);
    }
  };
  Change(std::move(change), nullptr);
}

Result<std::vector<CredentialRow>> MemoryStore::ReadCredentials() {
  std::vector<CredentialRow> rows;
  for (const auto& [serial, row] : disk_->credentials) rows.push_back(row);
  return rows;
}

void MemoryStore::PutCredential(CredentialRow row, Done done) {
  auto change = [row = std::move(row)](MemoryDisk& disk) { disk.credentials[row.serial] = row; };
  Change(std::move(change), std::move(done));
}

Status MemoryStore::ReplayPools(const std::function<void(const provision::Record&)>& visit) {
  const auto& log = disk_->pool_log;
  auto at = std::ranges::find(log, true, &MemoryDisk::PoolEntry::in_image);
  if (at == log.end()) at = log.begin();
  for (; at != log.end(); ++at) {
    auto record = TRY(DecodePoolRecord(at->record.kind, at->record.data));
    (void)pool_of_.Of(record);
    visit(record);
  }
  return {};
}

void MemoryStore::AppendPoolRecords(std::vector<provision::Record> records, Instant now,
                                    Done done) {
  std::vector<MemoryDisk::PoolEntry> entries;
  for (const provision::Record& record : records) {
    entries.push_back({.pool = pool_of_.Of(record),
                       .at = {now.ns / 1000 * 1000},
                       .record = EncodePoolRecord(record)});
  }
  auto change = [entries = std::move(entries)](MemoryDisk& disk) {
    disk.pool_log.insert(disk.pool_log.end(), entries.begin(), entries.end());
  };
  Change(std::move(change), std::move(done));
}

void MemoryStore::CutPools(std::vector<provision::Record> images, Instant keep_since, Done done) {
  std::vector<MemoryDisk::PoolEntry> entries;
  std::set<provision::PoolId> there;
  for (const provision::Record& record : images) {
    (void)pool_of_.Of(record);
    if (const auto* kept = std::get_if<provision::PoolKept>(&record)) there.insert(kept->pool);
    entries.push_back({.in_image = true, .record = EncodePoolRecord(record)});
  }
  auto change = [entries = std::move(entries), there = std::move(there),
                 keep_since](MemoryDisk& disk) {
    std::map<provision::PoolId, size_t> after;  // rows of the pool
    auto is_unread = [&](const MemoryDisk::PoolEntry& each) {
      return each.in_image || each.at < keep_since || !there.contains(each.pool) ||
             after[each.pool]++ >= kRowsOfPool;
    };
    const auto [unread, end] =
        std::ranges::remove_if(std::views::reverse(disk.pool_log), is_unread);
    disk.pool_log.erase(disk.pool_log.begin(), unread.base());
    disk.pool_log.insert(disk.pool_log.end(), entries.begin(), entries.end());
  };
  Change(std::move(change), std::move(done));
}

Result<std::vector<PoolLogRow>> MemoryStore::ReadPoolLog(provision::PoolId pool, size_t most) {
  std::vector<PoolLogRow> rows;
  const auto& log = disk_->pool_log;
  for (auto at = log.rbegin(); at != log.rend() && rows.size() < most; ++at) {
    if (at->in_image || at->pool != pool) continue;
    auto record = TRY(DecodePoolRecord(at->record.kind, at->record.data));
    rows.push_back({at->at, std::move(record)});
  }
  std::ranges::reverse(rows);
  return rows;
}

namespace {

uint64_t BytesOf(const TaskOutputPtr& output) {
  return output->out.bytes.size() + output->err.bytes.size();
}

class MemoryReader final : public JobReader {
 public:
  explicit MemoryReader(std::shared_ptr<const MemoryDisk> disk) : disk_(std::move(disk)) {}

  Result<uint64_t> ReplayJob(
      JobId job, const std::function<void(const engine::Record&)>& visit) const override {
    TRY(disk_->VisitJob(job, visit));
    return 0;
  }
  Result<uint64_t> KeptOf(const std::string& user, std::set<JobId> arriving) const override {
    auto counts = [&](JobId job) {
      auto row = disk_->jobs.find(job);
      return arriving.contains(job) || (row != disk_->jobs.end() && row->second.user == user);
    };
    uint64_t bytes = Sum(counts);
    for (const auto& [key, row] : disk_->rows) bytes += counts(key.first) ? row.size() : 0;
    return bytes;
  }
  Result<uint64_t> SizeOfOutput() const override { return disk_->SizeOfOutput(); }
  Result<uint64_t> SizeOfRows() const override { return uint64_t{0}; }

 private:
  uint64_t Sum(const std::function<bool(JobId)>& counts) const {
    uint64_t bytes = 0;
    for (const auto& [ref, output] : disk_->outputs) {
      if (counts(ref.job)) bytes += BytesOf(output);
    }
    return bytes;
  }

  const std::shared_ptr<const MemoryDisk> disk_;
};

}  // namespace

std::shared_ptr<const JobReader> MemoryStore::Reader() const {
  return std::make_shared<MemoryReader>(disk_);
}

uint64_t MemoryDisk::SizeOfOutput() const {
  uint64_t bytes = 0;
  for (const auto& [ref, output] : outputs) bytes += BytesOf(output);
  return bytes;
}

uint64_t MemoryStore::OutputOf(JobId job) const {
  uint64_t bytes = 0;
  for (const auto& [ref, output] : disk_->outputs) {
    if (ref.job == job) bytes += BytesOf(output);
  }
  return bytes;
}

Epoch MemoryStore::BeginEpoch(Done done) {
  Epoch epoch(disk_->epoch.value + 1);
  Change([epoch](MemoryDisk& disk) { disk.epoch = epoch; }, std::move(done));
  return epoch;
}

size_t MemoryStore::Crash(size_t also_durable) {
  size_t durable = 0;
  while (durable < also_durable && durable < queue_.size() && commits_until_failure_ > 0) {
    --commits_until_failure_;
    Write(queue_[durable++]);
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
