#include "store/sqlite/output_files.h"

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
  if (open_.size() >= kOpenFiles) {
    TRY(CloseOldest());
  }
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
    OutputFile file(std::move(path), limit.value_or(kKeepOutput));
    at = entries_.emplace(KeyOf(job), Entry{std::move(file), {}}).first;
  }
  TRY(at->second.file.Open(end));
  open_.push_front(KeyOf(job));
  at->second.used = open_.begin();
  return &at->second.file;
}

Status OutputFiles::CloseOldest() {
  OutputFile& file = entries_.at(open_.back()).file;
  TRY(file.Sync());
  file.Close();
  open_.pop_back();
  return {};
}

Result<KeptOutput> OutputFiles::Add(Database& db, JobId job, const TaskOutput& output) {
  if (output.bytes() == 0) return KeptOutput{};
  auto file = TRY(Open(db, job));
  return file->Add(output);
}

Status OutputFiles::Sync() {
  for (JobId job : open_) {
    TRY(entries_.at(job).file.Sync());
  }
  return {};
}

void OutputFiles::SetLimit(JobId job, uint64_t limit) {
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
