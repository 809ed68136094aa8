#include "store/sqlite/sqlite_history.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "store/sqlite/dependents.h"
#include "store/sqlite/job_journal.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/job_pairs.h"
#include "store/sqlite/job_use.h"
#include "store/sqlite/journal_reader.h"
#include "store/sqlite/row_reader.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/state_folder.h"
#include "store/sqlite/tail.h"

namespace spate::store {
namespace {

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
