#include "store/sqlite/output_files.h"

#include <algorithm>

#include "store/sqlite/job_row.h"

namespace spate::store {
namespace {

constexpr size_t kOpenFiles = 64;

// The end of the newest kept output: positions only grow.
constexpr std::string_view kEnd =
    "SELECT output_pos + COALESCE(stdout_len, 0) + COALESCE(stderr_len, 0) + "
    "COALESCE(files_len, 0) FROM attempt LEFT JOIN attempt_rare USING (seq) WHERE output_pos IS "
    "NOT NULL AND job = ?1 AND seq >= "
    "COALESCE((SELECT first_seq FROM job WHERE id = ?1), 0) ORDER BY seq DESC LIMIT 1";
constexpr std::string_view kLimit = "SELECT keep_output FROM job WHERE id = ?";

Result<std::optional<uint64_t>> Query(Database& db, std::string_view sql, JobId job) {
  auto statement = TRY(db.Prepare(sql));
  statement.Bind(0, job.value);
  auto row = TRY(statement.Step());
  if (!row) return std::nullopt;
  return static_cast<uint64_t>(statement.Int(0));
}

}  // namespace

Result<OutputFile*> OutputFiles::Open(Database& db, JobId job) {
  auto at = entries_.find(KeyOf(job));
  if (at != entries_.end() && at->second.file.is_open()) {
    open_.splice(open_.begin(), open_, at->second.used);
    return &at->second.file;
  }
  // The files of jobs at rest stay open too, and others need descriptors.
  const size_t most = std::clamp<size_t>(os::MostDescriptors() / 8, 1, kOpenFiles);
  while (open_.size() >= most) TRY(CloseOldest());
  uint64_t end = 0;
  if (at != entries_.end()) {
    end = at->second.file.end();
  } else {
    std::string path = place_.OutputPath(job);
    auto limit = TRY(Query(db, kLimit, job));
    if (auto known = known_ends_.find(job); known != known_ends_.end()) {
      end = known->second;
      known_ends_.erase(known);
    } else {
      auto durable = TRY(os::Exists(path) ? Query(db, kEnd, job) : std::optional<uint64_t>());
      end = durable.value_or(0);
    }
    OutputFile file(std::move(path), static_cast<int64_t>(limit.value_or(kKeepOutput)));
    at = entries_.emplace(KeyOf(job), Entry{std::move(file), {}}).first;
  }
  TRY(OpenFile(at->second.file, end));
  at->second.on_disk = TRY(at->second.file.OnDisk());
  open_.push_front(KeyOf(job));
  at->second.used = open_.begin();
  return &at->second.file;
}

// Other parts of the process may have taken all descriptors.
Status OutputFiles::OpenFile(OutputFile& file, uint64_t end) {
  auto opened = file.Open(end);
  if (!opened && opened.error().kind == ErrorKind::kExhausted) {
    while (!open_.empty()) TRY(CloseOldest());
    spare_.Reset();
    opened = file.Open(end);
  }
  if (!spare_) {
    if (auto spare = os::OpenRead("/dev/null")) spare_ = std::move(*spare);
  }
  return opened;
}

Status OutputFiles::SyncOne(Entry& entry) {
  if (entry.file.is_synced()) return {};
  TRY(entry.file.Sync());
  const uint64_t now = TRY(entry.file.OnDisk());
  sum_->change += static_cast<int64_t>(now) - static_cast<int64_t>(entry.on_disk);
  entry.on_disk = now;
  return {};
}

Status OutputFiles::CloseOldest() {
  Entry& entry = entries_.at(open_.back());
  TRY(SyncOne(entry));
  entry.file.Close();
  open_.pop_back();
  return {};
}

Result<KeptOutput> OutputFiles::Add(Database& db, JobId job, const TaskOutput& output) {
  why_ = NotKept::kNone;
  if (output.bytes() == 0) return KeptOutput{};
  const bool may_lose = output.files.total == 0;
  if (may_lose) why_ = NotKept::kDisk;
  if (may_lose && !sum_->keep) return KeptOutput{};
  auto file = Open(db, job);
  if (may_lose && !file && file.error().kind == ErrorKind::kExhausted) return KeptOutput{};
  if (!file) return std::unexpected(std::move(file.error()));
  auto kept = (*file)->Add(output);
  why_ = (*file)->why();
  return kept;
}

Status OutputFiles::Sync() {
  for (JobId job : open_) TRY(SyncOne(entries_.at(job)));
  return {};
}

Status OutputFiles::DropUnsynced() {
  for (JobId job : open_) TRY(entries_.at(job).file.DropUnsynced());
  return {};
}

Status OutputFiles::Remove(JobId job) {
  const std::string path = place_.OutputPath(job);
  auto file = os::Stat(path);
  if (!file) return {};
  TRY(os::RemoveFile(path));
  sum_->change -= static_cast<int64_t>(file->on_disk);
  return {};
}

void OutputFiles::SetLimit(JobId job, int64_t limit) {
  auto at = entries_.find(KeyOf(job));
  if (at != entries_.end()) at->second.file.SetLimit(limit);
}

void OutputFiles::Leave(JobId job) {
  auto at = entries_.find(KeyOf(job));
  if (place_.is_hub) known_ends_.erase(job);
  if (!place_.is_hub || at == entries_.end()) return;
  if (at->second.file.is_open()) open_.erase(at->second.used);
  entries_.erase(at);
}

}  // namespace spate::store
