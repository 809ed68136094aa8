// How it goes: (1) all is read once, to know which jobs are damaged; (2) rows of jobs, nodes,
// credentials and pools are copied; (3) the records of sound jobs are copied in their order, with
// new numbers, while those of damaged ones are only looked at; (4) each damaged job gets a short
// history of what is left of it, which an engine can replay; (5) texts are copied; (6) the files
// change places.
#include "store/sqlite/salvage.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/units.h"
#include "core/engine/record_job.h"
#include "core/engine/remains.h"
#include "store/sqlite/hub_dir.h"
#include "store/sqlite/hub_rows.h"
#include "store/sqlite/journal_reader.h"
#include "store/sqlite/journal_writer.h"
#include "store/sqlite/pool_log.h"
#include "store/sqlite/row_chunk.h"
#include "store/sqlite/row_reader.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

constexpr size_t kRecordsAtOnce = 10'000;

// A damaged job.
struct DamagedJob {
  JobRow row;
  bool records = true;   // all of them are there
  bool settings = true;  // they are sound
  engine::Remains remains;
  std::map<TaskIndex, KeptOutput> kept;  // of the newest end of each task
};

class Salvager {
 public:
  Salvager(Database from, std::string new_dir, SalvageReport& report)
      : from_(std::move(from)), writer_(JournalPlace{std::move(new_dir), true}), report_(report) {}

  Status Run() {
    auto base = TRY(BaseMicros(from_));
    TRY(writer_.Create(Instant{base * 1000}));
    for (auto step : {&Salvager::FindDamage, &Salvager::CopyRowsOfHub, &Salvager::CopyPools,
                      &Salvager::CopyJobs, &Salvager::CopyRecords, &Salvager::WriteRemains,
                      &Salvager::CopyText}) {
      TRY((this->*step)());
    }
    writer_.Close();
    return {};
  }

 private:
  Status FindDamage();
  Status FindDamagedRecords();
  Status CopyRowsOfHub();
  Status CopyPools();
  Status CopyJobs();
  Status CopyRecords();
  Status WriteRemains();
  Status WriteJob(DamagedJob& damaged, SalvageReport::Job& told);
  Status CopyText();
  void MarkText(JobId job, const std::map<uint64_t, uint64_t>& ranges);

  void Add(const engine::Record& record, const AttemptEntry* attempt) {
    if (attempt != nullptr) item_.kept.push_back(attempt->kept);
    if (engine::StepOf(record) == engine::JobStep::kEnd) {
      item_.ends.push_back(ended_[engine::JobOf(record)]);
    }
    item_.records.push_back(record);
  }
  Status Flush(size_t at_least = 0) {
    if (item_.records.size() + item_.changes.size() + item_.rows.size() < at_least) return {};
    auto written = writer_.Commit({&item_, 1});
    item_ = {};
    return written;
  }

  Database from_;
  JournalWriter writer_;
  SalvageReport& report_;
  WriteItem item_;
  std::map<JobId, uint64_t> first_;  // of each job that was accepted
  std::map<JobId, Instant> ended_;   // as their rows say
  std::map<JobId, DamagedJob> damaged_;
  std::map<JobId, std::map<uint64_t, uint64_t>> text_;  // sound chunks: first task, count
};

// Finds damaged jobs: by their rows, their records, their texts.
Status Salvager::FindDamage() {
  auto select = TRY(from_.Prepare(fmt::format("SELECT id FROM job ORDER BY id")));
  for (;;) {
    auto more = TRY(select.Step());
    if (!more) break;
    JobId job(static_cast<uint32_t>(select.Int(0)));
    auto row = ReadJobRowAsItIs(from_, job);
    if (!row) {
      damaged_[job].row.job = job;
      continue;
    }
    if (row->damage.empty() && row->first_seq == 0) continue;  // it came only in part
    first_[job] = row->first_seq;
    if (!row->damage.empty()) damaged_[job];
  }
  VisitRows(from_, [this](JobId job, Result<DecodedChunk> chunk) {
    if (chunk) {
      text_[job][IndexOfKey(chunk->first_key)] = chunk->ends.size();
    } else if (first_.contains(job)) {
      damaged_[job];
    }
  });
  return FindDamagedRecords();
}

Status Salvager::FindDamagedRecords() {
  auto reader = TRY(JournalReader::Begin(from_, {.of = JournalPart::Of::kFrom}));
  for (;;) {
    auto entry = reader.Next();
    if (entry && *entry == nullptr) return {};
    if (entry) continue;
    const auto& damage = reader.damage();
    if (!damage) return std::unexpected(std::move(entry.error()));
    bool known = false;
    for (JobId job : {damage->job.value_or(JobId()), damage->says}) {
      if (!first_.contains(job)) continue;
      damaged_[job].records = false;
      known = true;
    }
    if (known || (damage->is_log && damage->job == JobId())) continue;
    for (const auto& [job, first] : first_) {
      auto row = ReadJobRowAsItIs(from_, job);
      bool over = row && row->damage.empty() && row->last_seq != 0 && row->last_seq < damage->first;
      if (first <= damage->last && !over) damaged_[job].records = false;
    }
  }
}

Status Salvager::CopyRowsOfHub() {
  auto nodes = ReadNodeRows(from_);
  auto credentials = ReadCredentialRows(from_);
  if (!nodes || !credentials) {
    return std::unexpected(nodes ? credentials.error() : nodes.error());
  }
  for (NodeRow& node : *nodes) {
    node.removed |= node.damaged;
    item_.changes.emplace_back(std::move(node));
  }
  for (CredentialRow& row : *credentials) item_.changes.emplace_back(std::move(row));
  auto epoch = TRY(MetaNumber(from_, "epoch"));
  item_.changes.emplace_back(EpochBegun{Epoch(static_cast<uint32_t>(epoch))});
  return Flush();
}

// Rows keep their numbers: without gaps where that matters, or an image of nothing follows.
Status Salvager::CopyPools() {
  report_.pools_lost = !ReadPools(from_);
  PoolsCopied copied;
  uint64_t last = 0;
  Status status;
  auto write = [&] {
    provision::NumbersKept used = copied.used;
    item_.changes.emplace_back(std::exchange(copied, {.entries = {}, .used = used}));
    if (status) status = Flush();
  };
  VisitPoolLog(from_, [&](Result<PoolLogEntry> entry) {
    if (!entry) return;
    last = entry->seq;
    NoteNumbers(entry->record, copied.used);
    if (!report_.pools_lost || entry->image == 0) copied.entries.push_back(std::move(*entry));
    if (copied.entries.size() == kRecordsAtOnce) write();
  });
  if (auto used = PoolNumbers(from_)) NoteNumbers(*used, copied.used);
  if (report_.pools_lost) {
    copied.entries.push_back(
        {.seq = last + 1, .pool = {}, .image = last + 1, .record = copied.used});
  }
  write();
  return status;
}

Status Salvager::CopyJobs() {
  for (const auto& [job, first] : first_) {
    auto row = TRY(ReadJobRowAsItIs(from_, job));
    row.first_seq = row.last_seq = 0;
    ended_[job] = row.ended.value_or(row.started);
    auto at = damaged_.find(job);
    if (at == damaged_.end()) {
      ++report_.sound_jobs;
      item_.changes.emplace_back(std::move(row));
      TRY(Flush(kRecordsAtOnce));
      continue;
    }
    // A submission must be one job's alone.
    if (row.damage.find("table job ") != std::string::npos) row.submission.clear();
    at->second.settings = row.damage.find("table job_text") == std::string::npos;
    if (!at->second.settings) row.settings.clear();
    at->second.row = std::move(row);
  }
  return Flush();
}

Status Salvager::CopyRecords() {
  auto reader = TRY(JournalReader::Begin(from_, {.of = JournalPart::Of::kFrom}));
  engine::Record end = MakeEnd();
  for (;;) {
    auto entry = reader.Next();
    if (!entry) {
      if (!reader.damage()) return std::unexpected(std::move(entry.error()));
      continue;
    }
    if (*entry == nullptr) return Flush();
    const AttemptEntry* attempt = (*entry)->attempt();
    const engine::Record& record = (*entry)->RecordBy(end);
    JobId job = engine::JobOf(record);
    if (job != JobId() && !first_.contains(job)) continue;
    if (auto at = damaged_.find(job); at != damaged_.end()) {
      at->second.remains.Apply(record);
      const bool ends = attempt != nullptr && EndsTask(attempt->record.verdict);
      if (ends) at->second.kept[attempt->record.end.ref.index] = attempt->kept;
      continue;
    }
    Add(record, attempt);
    TRY(Flush(kRecordsAtOnce));
  }
}

// Tasks without text cannot run, nor can any without settings.
void Salvager::MarkText(JobId job, const std::map<uint64_t, uint64_t>& ranges) {
  DamagedJob& damaged = damaged_.at(job);
  auto& tasks = damaged.remains.tasks;
  for (auto& task : tasks) task.no_text = true;
  if (!damaged.settings) return;
  for (const auto& [first, count] : ranges) {
    for (uint64_t i = first; i < std::min<uint64_t>(first + count, tasks.size()); ++i) {
      tasks[i].no_text = false;
    }
  }
}

Status Salvager::WriteRemains() {
  for (auto& [job, damaged] : damaged_) {
    SalvageReport::Job& told = report_.jobs.emplace_back();
    told.number = job.value;
    told.lost = !damaged.remains.plan;
    if (told.lost) continue;
    // Tasks that ran when the hub died run again, as after any death of one.
    if (damaged.records) {
      for (auto& task : damaged.remains.tasks) task.leased = false;
    }
    MarkText(job, text_[job]);
    TRY(WriteJob(damaged, told));
  }
  return {};
}

Status Salvager::WriteJob(DamagedJob& damaged, SalvageReport::Job& told) {
  const JobId job(told.number);
  const engine::Remains& remains = damaged.remains;
  JobRow& row = damaged.row;
  auto history = remains.Rewrite(job, row.started);
  const JobCounts& counts = history.counts;
  row.damage.clear();
  row.user = remains.plan->user;
  row.priority = remains.plan->priority;
  row.counts = counts;
  row.state = history.goes_on ? JobState::kHeld : JobState::kFinished;
  if (history.goes_on) {
    row.ended.reset();
  } else if (!row.ended) {
    row.ended = row.started;
  }
  told.tasks = counts.total;
  told.cancelled = counts.cancelled;
  told.waiting = counts.queued;
  told.ended = counts.succeeded + counts.failed + counts.unknown;
  // The row comes before the records.
  item_.changes.emplace_back(row);
  TRY(Flush());
  item_.records = std::move(history.records);
  for (TaskIndex i = 0; i < counts.total; ++i) {
    if (remains.tasks[i].end) item_.kept.push_back(damaged.kept[i]);
  }
  if (!history.goes_on) item_.ends.push_back(ended_[job]);
  return Flush();
}

Status Salvager::CopyText() {
  Status status;
  VisitRows(from_, [&](JobId job, Result<DecodedChunk> chunk) {
    auto at = damaged_.find(job);
    bool lost = at != damaged_.end() && !at->second.remains.plan;
    if (!status || !chunk || !first_.contains(job) || lost) return;
    auto rows = std::make_shared<RowChunk>();
    rows->job = job;
    rows->first = IndexOfKey(chunk->first_key);
    for (size_t i = 0; i < chunk->ends.size(); ++i) rows->rows.emplace_back(chunk->Row(i));
    item_.rows.push_back(std::move(rows));
    status = Flush(64);
  });
  return status ? Flush() : status;
}

// The journal and what SQLite keeps beside it.
Status Move(const std::string& from, const std::string& to) {
  for (const char* end : {"", "-wal", "-shm"}) {
    if (!os::Exists(from + end)) continue;
    TRY(os::Rename(from + end, to + end));
  }
  return os::FsyncDir(os::DirName(to));
}

}  // namespace

Result<SalvageReport> Salvage(const std::string& hub_dir) {
  if (!os::Exists(JournalPlace{hub_dir, true}.DbPath())) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("there is no hub in '{}'", EscapeForScreen(hub_dir)));
  }
  auto dir = TRY(HubDir::Open(hub_dir));
  auto check = TRY(CheckHub(hub_dir));
  SalvageReport report;
  if (check.journal_sound()) return report;
  std::string path = dir.place().DbPath();
  std::string new_dir = dir.SpoolPath() + "/salvage";
  TRY(os::MakeDir(new_dir, 0700));
  {
    auto from = TRY(OpenJournalToRead(path));
    Salvager salvager(std::move(from), new_dir, report);
    TRY(salvager.Run());
  }
  for (int n = 1; report.kept_as.empty() || os::Exists(report.kept_as); ++n) {
    report.kept_as = fmt::format("{}-damaged-{}", path, n);
  }
  TRY(RemoveReplays(hub_dir));
  TRY(Move(path, report.kept_as));
  TRY(os::WriteFile(dir.place().BeganPath(), "", 0600));  // records have other numbers now
  TRY(Move(new_dir + "/hub.db", path));
  return report;
}

}  // namespace spate::store
