#include "store/sqlite/sqlite_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "core/engine/record.h"
#include "store/record_codec.h"
#include "store/sqlite/database.h"
#include "store/sqlite/job_journal.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/job_pairs.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/journal_reader.h"
#include "store/sqlite/row_reader.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/state_folder.h"
#include "store/sqlite/tail.h"

namespace spate::store {
namespace {

using engine::Verdict;

bool StartsAfter(int kind, std::string_view data, JobId on) {
  // A damaged record is for `spate state check` to name.
  auto plan = DecodePlan(kind, data);
  return plan && *plan &&
         std::ranges::any_of((*plan)->after, [on](const After& each) { return each.job == on; });
}

// The jobs of a hub that were submitted to start after `on` and have ended, with cancelled tasks:
// `most` of them, and how many there are. Of one user, or of all. Looks at no more than a million
// of the jobs that came after `on`, about 5 us for each that has cancelled tasks. kCorrupt.
Result<Dependents> CancelledDependents(const JobPlace& place, JobId on, std::string_view user,
                                       size_t most) {
  Dependents found;
  if (!place.is_hub) return found;
  JournalPlace journal = JournalOf(place, 0);
  auto db = TRY(OpenJournalToRead(journal.DbPath(), IsFrozen(journal)));
  auto select = TRY(
      db.Prepare("SELECT job.id, log.kind, log.data FROM job JOIN log ON log.seq = job.first_seq "
                 "WHERE job.id IN (SELECT id FROM job WHERE id > ?1 ORDER BY id LIMIT 1000000) "
                 "AND job.last_seq IS NOT NULL AND job.cancelled > 0 AND ?2 IN ('', job.user) "
                 "ORDER BY job.id"));
  select.Bind(0, on.value);
  select.BindText(1, user);
  for (;;) {
    auto more = TRY(select.Step());
    if (!more) return found;
    if (!StartsAfter(static_cast<int>(select.Int(1)), select.Bytes(2), on)) continue;
    if (found.first.size() < most) found.first.emplace_back(static_cast<uint32_t>(select.Int(0)));
    ++found.count;
  }
}

// Resources that jobs have used: by job, those without an end left out, of what ended since then.
// One pass over all attempts of the journal, or of this part of it, 0.2 us each; other processes
// may write meanwhile. kCorrupt.
Result<std::map<uint32_t, Use>> ReadUse(const JournalPlace& place, Instant since,
                                        const std::optional<JournalPart>& part = {}) {
  auto db = TRY(OpenJournalToRead(place.DbPath(), IsFrozen(place)));
  auto base = TRY(BaseMicros(db));
  auto s = TRY(db.Prepare(fmt::format(
      "SELECT job, verdict, start_us, wall_us, user_us, system_us, peak_kb FROM attempt "
      "{}ORDER BY seq",
      part ? "WHERE seq BETWEEN ? AND ? AND job = ? " : "")));
  if (part) BindPart(s, *part);
  std::map<uint32_t, Use> uses;
  Instant ended;
  for (;;) {
    auto more = TRY(s.Step());
    if (!more) return uses;
    Duration wall{s.Nanos(3)};
    // An attempt that never started ended at about the time of its neighbour.
    if (!s.IsNull(2)) ended = Instant{s.Nanos(2, base)} + wall;
    if (ended < since) continue;
    auto verdict = static_cast<Verdict>(s.Int(1));
    bool failed = verdict == Verdict::kFailed || verdict == Verdict::kUnknown;
    Use use{.tasks = EndsTask(verdict) ? 1u : 0u,
            .failed = failed ? 1u : 0u,
            .ends = 1,
            .cpu = Duration{s.Nanos(4) + s.Nanos(5)},
            .wall = wall,
            .peak_memory = static_cast<uint64_t>(s.Int(6)) * 1024};
    if (verdict == Verdict::kSucceeded) {
      use.longest = wall;
      if (wall >= kLongEnough) {
        // A row of a journal may say anything.
        double milli_cpus = std::clamp(1000 * use.cpu.seconds() / wall.seconds(), 0.0, 1e9);
        use.most_milli_cpus = static_cast<uint32_t>(milli_cpus);
      }
    }
    uses[static_cast<uint32_t>(s.Int(0))].Add(use);
  }
}

class SqliteIndex final : public HistoryIndex {
 public:
  explicit SqliteIndex(const JobPlace& place)
      : place_(place), rows_(JournalOf(place, 0).DbPath()) {}

  Result<std::string_view> Row(JobId job, TaskIndex index) override {
    return rows_.Row(job, index);
  }

  Result<std::string> NodeName(NodeId node) override {
    if (!names_) {
      auto names = TRY(OpenJournalToRead(JournalOf(place_, 0).DbPath()));
      names_ = std::move(names);
    }
    auto find = TRY(names_->Prepare("SELECT name FROM node WHERE id = ?"));
    find.Bind(0, node.value);
    auto found = TRY(find.Step());
    return found ? find.Text(0) : std::string();
  }

  uint64_t StoredBytes(const JobSummary& job) override {
    if (!job.of_hub) return FolderBytes(job.folder);
    const JournalPlace journal = JournalOf(place_, job.number);
    uint64_t bytes = 0;
    for (const std::string& path :
         {journal.OutputPath(job.row.job), journal.ReplayPath(job.row.job)}) {
      if (auto file = os::Stat(path)) bytes += file->size;
    }
    return bytes;
  }

  Result<std::map<uint32_t, Use>> UseSince(Instant since, const JobSummary* job) override {
    if (job == nullptr) return ReadUse(JournalOf(place_, 0), since);
    return ReadUse(JournalOf(place_, job->number), since, PartOf(job->row));
  }

  Result<Pairs> PairsOf(const JobSummary& job) override {
    return ReadPairs(JournalOf(place_, job.number), PartOf(job.row));
  }

  Result<Dependents> CancelledDependents(JobId on, std::string_view user, size_t most) override {
    return store::CancelledDependents(place_, on, user, most);
  }

 private:
  const JobPlace place_;
  RowReader rows_;
  std::optional<Database> names_;
};

class SqliteStream final : public HistoryStream {
 public:
  explicit SqliteStream(const JobPlace& place) : place_(place) {}

  Result<std::unique_ptr<Tail>> Follow(uint32_t number) override {
    auto tail = TRY(SqliteTail::Open(JournalOf(place_, number), JobId(number)));
    return std::make_unique<SqliteTail>(std::move(tail));
  }
  Result<LogPart> ReadLog(uint64_t after,
                          const std::function<bool(const JournalEntry&)>& visit) override {
    constexpr uint64_t kWindow = 50'000;  // numbers that one call looks at
    auto db = TRY(OpenJournalToRead(JournalOf(place_, 0).DbPath()));
    LogPart part{.position = after,
                 .newest = static_cast<uint64_t>(TRY(MetaNumber(db, "last_seq")))};
    if (part.newest <= after) return part;
    const uint64_t last = std::min(part.newest, after + kWindow);
    auto reader = TRY(JournalReader::Begin(
        db, {.of = JournalPart::Of::kSome, .job = {}, .first = after + 1, .last = last}));
    for (;;) {
      auto entry = TRY(reader.Next());
      if (entry == nullptr) break;
      part.position = entry->seq;
      if (!visit(*entry)) return part;
    }
    part.position = last;
    return part;
  }

 private:
  const JobPlace place_;
};

class SqliteHistory final : public History {
 public:
  explicit SqliteHistory(const JobPlace& place) : History(place), index_(place), stream_(place) {}

  Result<NewestJobs> Newest(std::string_view user, size_t most) const override {
    return NewestNumbers(place(), user, most);
  }
  Result<JobSummary> Summarize(uint32_t number) const override {
    return SummarizeJob(place(), number);
  }
  Status Visit(std::span<const uint32_t> numbers,
               const std::function<bool(const JobSummary&)>& visit) const override {
    return VisitJobs(place(), numbers, visit);
  }
  Result<std::unique_ptr<JobJournal>> Open(uint32_t number) const override {
    auto journal = TRY(SqliteJobJournal::Open(place(), number));
    return std::make_unique<SqliteJobJournal>(std::move(journal));
  }
  HistoryIndex& index() const override { return index_; }
  HistoryStream& stream() const override { return stream_; }

 private:
  mutable SqliteIndex index_;
  mutable SqliteStream stream_;
};

}  // namespace

std::shared_ptr<const History> OpenHistory(JobPlace place) {
  return std::make_shared<SqliteHistory>(place);
}

}  // namespace spate::store
