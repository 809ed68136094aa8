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
#include "core/model/limits.h"
#include "core/model/ranges.h"
#include "store/record_job.h"
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

// The sound part of a damaged job.
struct Remains {
  struct Task {
    bool leased = false;
    bool withdrawn = false;
    bool no_text = false;
    uint16_t attempt = 0;  // the newest that it may have had
    std::optional<AttemptEntry> end;
  };
  JobRow row;
  bool records = true;   // all of them are there
  bool settings = true;  // they are sound
  bool open = false;
  std::optional<JobPlan> plan;
  std::vector<Task> tasks;
  std::vector<Edge> edges;

  void Apply(const engine::Record& record) {
    std::visit([this](const auto& r) { On(r); }, record);
  }
  void Apply(const AttemptEntry& entry) {
    const AttemptEnd& e = entry.record.end;
    if (e.ref.index >= tasks.size()) return;
    Task& task = tasks[e.ref.index];
    task.leased = false;
    task.attempt = std::max(task.attempt, e.ref.attempt.value);
    if (EndsTask(entry.record.verdict)) task.end = entry;
  }

 private:
  void On(const engine::JobAccepted& r) {
    plan = r.plan;
    open = r.plan.open;
    tasks.resize(std::min(r.plan.task_count, kLimits.tasks_per_job));
  }
  void On(const engine::JobGrown& r) {
    if (!plan || r.count > kLimits.tasks_per_job - tasks.size()) return;
    plan->requests.insert(plan->requests.end(), r.new_requests.begin(), r.new_requests.end());
    plan->runs.insert(plan->runs.end(), r.runs.begin(), r.runs.end());
    tasks.resize(tasks.size() + r.count);
  }
  void On(const engine::TasksLinked& r) {
    for (const Edge& edge : r.edges) {
      bool known = edge.parent < tasks.size() && edge.child < tasks.size();
      if (known && edges.size() < kLimits.edges_per_job) edges.push_back(edge);
    }
  }
  void On(const engine::JobSealed&) { open = false; }
  void On(const engine::PolicyChanged& r) {
    if (plan) plan->policy = r.policy;
  }
  void On(const engine::DependencyMet& r) {
    if (plan) std::erase_if(plan->after, [&](const After& after) { return after.job == r.on; });
  }
  void On(const engine::Leased& r) {
    ForEach(r.tasks, [&](Task& task) {
      task.leased = true;
      task.attempt = std::max(task.attempt, r.attempt.value);
    });
  }
  void On(const engine::Returned& r) {
    ForEach(r.tasks, [](Task& task) { task.leased = false; });
  }
  void On(const engine::TasksWithdrawn& r) {
    ForEach(r.tasks, [](Task& task) { task.withdrawn = !task.end && !task.leased; });
  }
  void On(const engine::TasksCancelled& r) {
    ForEach(r.tasks, [](Task& task) { task.withdrawn = !task.end; });
  }
  void On(const engine::JobCancelled&) {
    open = false;
    for (Task& task : tasks) task.withdrawn = !task.end;
  }
  void On(const engine::TasksReopened& r) {
    ForEach(r.tasks, [&](Task& task) {
      if (!r.succeeded && task.end && task.end->record.verdict == engine::Verdict::kSucceeded)
        return;
      task.end.reset();
      task.withdrawn = false;
    });
  }
  template <typename Other>
  void On(const Other&) {}

  template <typename Change>
  void ForEach(const std::vector<TaskRange>& ranges, Change change) {
    for (const TaskRange& range : ranges) {
      uint64_t end = std::min<uint64_t>(uint64_t{range.first} + range.count, tasks.size());
      for (uint64_t i = range.first; i < end; ++i) change(tasks[i]);
    }
  }
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
  struct Left {
    JobCounts counts;
    std::vector<TaskRange> cancelled, unsure, no_text;
    bool begun = false;
  };
  void WriteTask(JobId job, TaskIndex i, Remains::Task& task, Left& left);
  Status WriteJob(Remains& remains, SalvageReport::Job& told);
  Status CopyText();
  void MarkText(JobId job, const std::map<uint64_t, uint64_t>& ranges);

  void Add(engine::Record record) {
    const auto* finished = std::get_if<engine::JobFinished>(&record);
    if (finished != nullptr) item_.ends.push_back(ended_[finished->job]);
    item_.records.push_back(std::move(record));
  }
  void Add(const AttemptEntry& entry) {
    item_.records.push_back(entry.record);
    item_.kept.push_back(entry.kept);
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
  std::map<JobId, Remains> damaged_;
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
  for (;;) {
    auto entry = reader.Next();
    if (!entry) {
      if (!reader.damage()) return std::unexpected(std::move(entry.error()));
      continue;
    }
    if (*entry == nullptr) return Flush();
    const auto* attempt = std::get_if<AttemptEntry>(&(*entry)->what);
    const auto* record = std::get_if<engine::Record>(&(*entry)->what);
    JobId job = attempt != nullptr ? attempt->record.end.ref.job : JobOf(*record);
    if (job != JobId() && !first_.contains(job)) continue;
    if (auto at = damaged_.find(job); at != damaged_.end()) {
      if (attempt != nullptr) {
        at->second.Apply(*attempt);
      } else {
        at->second.Apply(*record);
      }
      continue;
    }
    if (attempt != nullptr) {
      Add(*attempt);
    } else {
      Add(*record);
    }
    TRY(Flush(kRecordsAtOnce));
  }
}

// Tasks without text cannot run, nor can any without settings.
void Salvager::MarkText(JobId job, const std::map<uint64_t, uint64_t>& ranges) {
  Remains& remains = damaged_.at(job);
  for (auto& task : remains.tasks) task.no_text = true;
  if (!remains.settings) return;
  for (const auto& [first, count] : ranges) {
    for (uint64_t i = first; i < std::min<uint64_t>(first + count, remains.tasks.size()); ++i) {
      remains.tasks[i].no_text = false;
    }
  }
}

Status Salvager::WriteRemains() {
  for (auto& [job, remains] : damaged_) {
    SalvageReport::Job& told = report_.jobs.emplace_back();
    told.number = job.value;
    told.lost = !remains.plan;
    if (told.lost) continue;
    // Tasks that ran when the hub died run again, as after any death of one.
    if (remains.records) {
      for (auto& task : remains.tasks) task.leased = false;
    }
    MarkText(job, text_[job]);
    TRY(WriteJob(remains, told));
  }
  return {};
}

// An end is kept with its lease; numbers of attempts are used up, also of those that nothing is
// known of.
void Salvager::WriteTask(JobId job, TaskIndex i, Remains::Task& task, Left& left) {
  NodeId node = task.end ? task.end->record.node : NodeId(1);
  if (task.attempt > 0) Add(engine::Leased{node, job, Attempt(task.attempt), {{i, 1}}});
  left.begun |= task.attempt > 0;
  if (task.end) {
    using engine::Verdict;
    Verdict verdict = task.end->record.verdict;
    task.end->record.end.ref.attempt = Attempt(task.attempt);
    Add(*task.end);
    ++(verdict == Verdict::kSucceeded ? left.counts.succeeded
       : verdict == Verdict::kFailed  ? left.counts.failed
       : verdict == Verdict::kUnknown ? left.counts.unknown
                                      : left.counts.cancelled);
    return;
  }
  if (task.attempt > 0) Add(engine::Returned{node, job, Attempt(task.attempt), {{i, 1}}});
  if (!task.withdrawn && !task.leased && !task.no_text) {
    ++left.counts.queued;
    return;
  }
  ++left.counts.cancelled;
  AppendIndex(task.withdrawn ? left.cancelled : task.leased ? left.unsure : left.no_text, i);
}

Status Salvager::WriteJob(Remains& remains, SalvageReport::Job& told) {
  JobId job(told.number);
  auto total = static_cast<uint32_t>(remains.tasks.size());
  Left left;
  left.counts.total = total;
  for (TaskIndex i = 0; i < total; ++i) WriteTask(job, i, remains.tasks[i], left);
  auto withdraw = [&](std::vector<TaskRange>& tasks, const char* why) {
    if (!tasks.empty()) Add(engine::TasksWithdrawn{job, std::move(tasks), why});
  };
  withdraw(left.cancelled, "");
  withdraw(left.unsure, "the journal was damaged, and what became of it is not known");
  withdraw(left.no_text, "the journal was damaged, and the task's text with it");
  const JobCounts& counts = left.counts;
  bool goes_on = counts.queued > 0 || remains.open;
  if (goes_on) {
    Add(engine::JobHeld{job, engine::HoldReason::kDamaged, remains.row.started});
  } else {
    Add(engine::JobFinished{job, counts});
  }
  JobPlan plan = *remains.plan;
  plan.task_count = total;
  plan.open = remains.open;
  plan.order.clear();
  if (left.begun) plan.after.clear();
  std::vector<engine::Record> begin = {engine::JobAccepted{job, std::move(plan)}};
  if (!remains.edges.empty()) begin.push_back(engine::TasksLinked{job, std::move(remains.edges)});
  item_.records.insert(item_.records.begin(), begin.begin(), begin.end());
  JobRow& row = remains.row;
  row.damage.clear();
  row.user = remains.plan->user;
  row.priority = remains.plan->priority;
  row.counts = counts;
  row.state = goes_on ? JobState::kHeld : JobState::kFinished;
  if (goes_on) {
    row.ended.reset();
  } else if (!row.ended) {
    row.ended = row.started;
  }
  told.tasks = total;
  told.cancelled = counts.cancelled;
  told.waiting = counts.queued;
  told.ended = counts.succeeded + counts.failed + counts.unknown;
  // The row comes before the records.
  WriteItem history = std::exchange(item_, {});
  item_.changes.emplace_back(row);
  TRY(Flush());
  item_ = std::move(history);
  return Flush();
}

Status Salvager::CopyText() {
  Status status;
  VisitRows(from_, [&](JobId job, Result<DecodedChunk> chunk) {
    auto at = damaged_.find(job);
    bool lost = at != damaged_.end() && !at->second.plan;
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
