// The loop's side of the journal: it hands bundles to the GroupWriter, answers for rows (queued
// ones from memory, durable ones from a connection of its own), and replays.
//
// An existing file is read, and found sound, by connections that cannot write; the writing one is
// opened by the first commit. So a refused journal stays untouched, its log included.
#include "store/sqlite/sqlite_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "os/file.h"
#include "store/sqlite/forget.h"
#include "store/sqlite/job_reader.h"
#include "store/sqlite/log_check.h"
#include "store/sqlite/schema.h"

namespace spate::store {

SqliteStore::SqliteStore(JournalPlace place, std::shared_ptr<KeptSum> kept,
                         std::unique_ptr<ItemWriter<WriteItem>> writer)
    : place_(std::move(place)),
      row_reader_(place_.DbPath()),
      kept_(std::move(kept)),
      writer_(std::move(writer)) {}

// The writer must be the last to close: only it can fold the log into the file and remove it.
SqliteStore::~SqliteStore() {
  row_reader_.Close();
  reader_.reset();
}

namespace {

constexpr int64_t kTellFirstMillis = 2'000;
constexpr int64_t kTellEachMillis = 10'000;

// At two seconds, and then each ten.
void TellOfWaiting(JournalWriter& writer, os::Loop& loop, std::function<void(Duration)> tell) {
  writer.OnWait([&loop, tell = std::move(tell)](int64_t ms) {
    if (ms != kTellFirstMillis && ms % kTellEachMillis != 0) return;
    loop.Post([tell, ms] { tell(Duration::Millis(ms)); });
  });
}

// An existing journal is opened by the first commit.
Status CommitGroup(JournalWriter& writer, std::span<WriteItem> items) {
  if (!writer.is_open()) TRY(writer.Open());
  Status status = writer.Commit(items);
  // Freed here and not on the loop, which has better things to do.
  for (WriteItem& item : items) {
    item.records = {};
    item.outputs = {};
  }
  return status;
}

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::OpenAt(const JournalPlace& place, os::Loop& loop,
                                                         const SqliteOptions& options) {
  auto kept = std::make_shared<KeptSum>();
  auto journal = std::make_shared<JournalWriter>(place, kept, options.page_limit);
  if (options.waiting) TellOfWaiting(*journal, loop, options.waiting);
  if (os::Exists(place.DbPath())) {
    TRY(CheckLog(place.DbPath()));
    TRY(OpenJournalToRead(place.DbPath()));
  } else if (auto made = journal->Create(loop.Now()); !made) {
    return std::unexpected(std::move(made.error()));
  }
  auto writer = std::make_unique<GroupWriter<WriteItem>>(
      loop,
      [journal = std::move(journal)](std::span<WriteItem> items) {
        return CommitGroup(*journal, items);
      },
      GroupRules{.gap = options.commit_gap, .most_bytes = options.commit_bytes});
  TRY(writer->Start());
  return std::unique_ptr<SqliteStore>(new SqliteStore(place, std::move(kept), std::move(writer)));
}

template <typename Read>
auto SqliteStore::WithDatabase(Read read) {
  if (!reads_new_) reader_.reset();
  if (!reader_) {
    auto db = OpenJournalToRead(place_.DbPath());
    // Each commit empties its cache, which costs as much as the largest one that it ever had.
    if (db) (void)db->Run("PRAGMA cache_size = -512");
    if (!db) return decltype(read(*db))(std::unexpected(std::move(db.error())));
    // By its views: the version may have been raised meanwhile.
    reads_new_ = db->QueryInt("SELECT NOT EXISTS(SELECT 1 FROM temp.sqlite_master)").value_or(0);
    reader_.emplace(std::move(*db));
  }
  return read(*reader_);
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::Open(const JobDir& dir, os::Loop& loop,
                                                       SqliteOptions options) {
  const bool is_new = !os::Exists(dir.DbPath());
  auto store = OpenAt(dir.place(), loop, options);
  if (!store || is_new) return store;
  TRY((*store)->LookAtLast());
  return store;
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::Open(const HubDir& dir, os::Loop& loop,
                                                       SqliteOptions options) {
  auto store = OpenAt(dir.place(), loop, options);
  if (!store) return store;
  TRY((*store)->LookAtLast());
  return store;
}

Status SqliteStore::LookAtLast() {
  return WithDatabase([this](Database& db) -> Status {
    TRY(CheckMark(db, place_));
    if (place_.is_hub) return LookAtHub(db);
    last_epoch_ = Epoch(static_cast<uint32_t>(TRY(MetaNumber(db, "epoch"))));
    return {};
  });
}

namespace {

// SQLite's own number has no checksum. One that is lower than it was could name another job's rows,
// one that is far too high leaves no numbers.
uint32_t NextNumber(int64_t sequence, JobId last) {
  constexpr int64_t kMostForgotten = 1 << 30;
  int64_t known = last.value;
  bool fits = sequence >= known && sequence - known < kMostForgotten;
  return static_cast<uint32_t>(fits ? sequence : known) + 1;
}

}  // namespace

Status SqliteStore::LookAtHub(Database& db) {
  auto last = db.QueryInt("SELECT seq FROM sqlite_sequence WHERE name = 'job'");
  auto epoch = MetaNumber(db, "epoch");
  auto forget = JobsToForget(db);
  auto scan = ScanJobs(db);
  for (const Error* e : {last ? nullptr : &last.error(), epoch ? nullptr : &epoch.error(),
                         forget ? nullptr : &forget.error(), scan ? nullptr : &scan.error()}) {
    if (e != nullptr) return std::unexpected(*e);
  }
  scan_ = std::move(*scan);
  next_job_ = NextNumber(*last, scan_.last_job);
  last_epoch_ = Epoch(static_cast<uint32_t>(*epoch));
  leftovers_ = std::move(*forget);
  return {};
}

void SqliteStore::Append(Bundle bundle, Done done) {
  Queue(std::move(bundle), {}, std::move(done));
}

void SqliteStore::Change(RowChange change, Done done) {
  Bundle bundle;
  const auto* progress = std::get_if<JobProgress>(&change);
  bundle.urgent = progress != nullptr && progress->state == JobState::kFinished;
  std::vector<RowChange> changes;
  changes.push_back(std::move(change));
  Queue(std::move(bundle), std::move(changes), std::move(done));
}

void SqliteStore::PutJob(JobRow row, Done done) {
  queued_submissions_.Add(row.submission, row.job);
  auto written = [this, submission = row.submission, job = row.job,
                  done = std::move(done)](Status status) {
    queued_submissions_.Written(submission, job);
    if (done) done(std::move(status));
  };
  Change(std::move(row), std::move(written));
}

Epoch SqliteStore::BeginEpoch(Done done) {
  last_epoch_ = Epoch(last_epoch_.value + 1);
  Change(EpochBegun{last_epoch_}, std::move(done));
  return last_epoch_;
}

void SqliteStore::ForgetJob(JobId job, Done done) {
  auto all = std::make_shared<bool>(false);
  row_reader_.DropFrom(job, 0);
  bool damaged = scan_.damaged.contains(job);
  Change(ForgetPiece{job, all, damaged},
         [this, job, all, done = std::move(done)](Status status) mutable {
           if (status && !*all) return ForgetJob(job, std::move(done));
           scan_.damaged.erase(job);
           if (done) done(std::move(status));
         });
}

uint64_t SqliteStore::Backlog() const { return writer_->backlog(); }
std::optional<Instant> SqliteStore::StuckSince() const { return writer_->stuck_since(); }

void SqliteStore::Queue(Bundle bundle, std::vector<RowChange> changes, Done done) {
  if (!std::exchange(appended_, true)) {
    for (JobId job : leftovers_) ForgetJob(job);
    for (const auto& [job, end] : std::exchange(scan_.output, {}))
      Change(OutputEnd{job, end}, nullptr);
    Change(SpansKnown{std::make_shared<SpansOfJobs>(std::exchange(scan_.spans, {}))}, nullptr);
  }
  uint64_t bytes = BundleBytes(bundle) + changes.size() * sizeof(RowChange);
  WriteItem item;
  for (RowChunk& chunk : bundle.rows) {
    if (chunk.rows.empty()) continue;
    row_reader_.DropFrom(chunk.job, chunk.first);
    auto shared = std::make_shared<const RowChunk>(std::move(chunk));
    queued_rows_[RowKey(shared->job, shared->first)] = shared;
    item.rows.push_back(std::move(shared));
  }
  item.records = std::move(bundle.records);
  item.outputs = std::move(bundle.outputs);
  item.changes = std::move(changes);
  item.now = bundle.now;
  writer_->Add(std::move(item), bytes, bundle.urgent,
               [this, done = std::move(done)](Status status, const WriteItem& written) {
                 ForgetQueued(written.rows);
                 if (done) done(std::move(status));  // last: it may destroy this store
               });
}

void SqliteStore::ForgetQueued(const std::vector<std::shared_ptr<const RowChunk>>& rows) {
  for (const auto& chunk : rows) {
    auto at = queued_rows_.find(RowKey(chunk->job, chunk->first));
    if (at != queued_rows_.end() && at->second == chunk) queued_rows_.erase(at);
  }
}

Status SqliteStore::Replay(const RecordVisit& visit) {
  CHECK(!appended_);
  return WithDatabase([&](Database& db) -> Status {
    if (!place_.is_hub) return ReplayPart(db, {}, visit);
    auto again = TRY(ReplayHub(db, scan_, visit));
    if (!again) return {};
    return Fail(ErrorKind::kCorrupt, scan_.damaged.begin()->second);
  });
}

Status SqliteStore::ReplayJob(JobId job, const RecordVisit& visit) {
  return WithDatabase([&](Database& db) -> Status {
    (void)TRY(ReplayOne(db, job, visit));
    return {};
  });
}

Status SqliteStore::ReplayPools(const std::function<void(const provision::Record&)>& visit) {
  return WithDatabase([&](Database& db) -> Status {
    if (pools_damaged_) {
      auto numbers = TRY(PoolNumbers(db));
      visit(numbers);
      return {};
    }
    auto rows = ReadPools(db);
    if (!rows) {
      pools_damaged_ = rows.error().kind == ErrorKind::kCorrupt;
      return std::unexpected(std::move(rows.error()));
    }
    for (const PoolLogEntry& row : *rows) {
      (void)pool_of_.Of(row.record);
      visit(row.record);
    }
    return {};
  });
}

void SqliteStore::AppendPoolRecords(std::vector<provision::Record> records, Instant now,
                                    Done done) {
  PoolsChanged change{.entries = {}, .now = now};
  change.entries.reserve(records.size());
  for (provision::Record& record : records) {
    provision::PoolId pool = pool_of_.Of(record);
    change.entries.push_back({pool, std::move(record)});
  }
  ChangePools(std::move(change), std::move(done));
}

void SqliteStore::CutPools(std::vector<provision::Record> images, Instant keep_since, Done done) {
  for (const provision::Record& record : images) (void)pool_of_.Of(record);
  ChangePools(PoolsCut{std::move(images), keep_since}, std::move(done));
}

void SqliteStore::ChangePools(RowChange change, Done done) {
  std::vector<RowChange> changes;
  if (std::exchange(pools_damaged_, false)) changes.emplace_back(PoolsSetAside());
  changes.push_back(std::move(change));
  Queue({}, std::move(changes), std::move(done));
}

Result<std::vector<PoolLogRow>> SqliteStore::ReadPoolLog(provision::PoolId pool, size_t most) {
  return WithDatabase([&](Database& db) { return ReadPoolLogOf(db, pool, most); });
}

std::shared_ptr<const JobReader> SqliteStore::Reader() const {
  return std::make_shared<SqliteJobReader>(place_);
}

uint64_t SqliteStore::OutputOf(JobId job) const {
  auto file = os::Stat(place_.OutputPath(job));
  return file ? file->on_disk : 0;
}

int64_t SqliteStore::OutputChange() const { return kept_->change; }
void SqliteStore::KeepOutput(bool keep) { kept_->keep = keep; }

void SqliteStore::SetOutputEnd(JobId job, uint64_t end) { Change(OutputEnd{job, end}, nullptr); }

Result<std::string_view> SqliteStore::Row(JobId job, TaskIndex index) {
  uint64_t key = RowKey(job, index);
  auto at = queued_rows_.upper_bound(key);
  if (at != queued_rows_.begin()) {
    const auto& [first, chunk] = *std::prev(at);
    if (key - first < chunk->rows.size()) return chunk->rows[key - first];
  }
  return row_reader_.Row(job, index);
}

namespace {

// A read that failed with EIO may succeed the next time. SQLite reports most of them as damage, for
// which the job would be held.
template <typename Read>
auto ReadTwice(Read read) {
  auto first = read();
  if (first || (first.error().kind != ErrorKind::kCorrupt && first.error().kind != ErrorKind::kIo))
    return first;
  return read();
}

}  // namespace

Result<std::vector<std::string>> SqliteStore::Rows(JobId job, TaskIndex first, uint32_t count) {
  return ReadTwice([&]() -> Result<std::vector<std::string>> {
    std::vector<std::string> rows;
    rows.reserve(count);
    for (uint32_t i = 0; i < count; ++i) {
      auto row = TRY(Row(job, first + i));
      rows.emplace_back(row);
    }
    return rows;
  });
}

Result<JobRow> SqliteStore::ReadJob(JobId job) {
  return ReadTwice([&] { return WithDatabase([&](Database& db) { return ReadJobRow(db, job); }); });
}

Result<std::vector<JobRow>> SqliteStore::ReadJobs(WhichJobs which) {
  return WithDatabase([&](Database& db) { return ReadJobRows(db, which); });
}

Result<std::vector<JobRow>> SqliteStore::ReadJobsBetween(JobId first, JobId last, size_t most) {
  return WithDatabase([&](Database& db) { return ReadJobRowsBetween(db, first, last, most); });
}

Result<std::vector<JobId>> SqliteStore::JobsBetween(JobId first, JobId last, size_t most) {
  return WithDatabase([&](Database& db) { return JobNumbersBetween(db, first, last, most); });
}

Result<std::optional<JobId>> SqliteStore::NewestOf(std::string_view user) {
  return WithDatabase([&](Database& db) { return NewestJobOfUser(db, user); });
}

Result<std::vector<JobId>> SqliteStore::EndedBefore(Instant when, size_t most,
                                                    std::string_view user) {
  return WithDatabase([&](Database& db) { return JobsEndedBefore(db, when, most, user); });
}

Result<std::vector<NodeRow>> SqliteStore::ReadNodes() { return WithDatabase(ReadNodeRows); }

Result<NodeRow> SqliteStore::ReadNode(const std::string& name) {
  return WithDatabase([&](Database& db) { return ReadNodeRow(db, name); });
}

Result<std::vector<CredentialRow>> SqliteStore::ReadCredentials() {
  return WithDatabase(ReadCredentialRows);
}

Result<std::optional<JobId>> SqliteStore::FindSubmission(const std::string& submission) {
  if (auto queued = queued_submissions_.Find(submission)) return queued;
  return WithDatabase([&](Database& db) -> Result<std::optional<JobId>> {
    auto find = TRY(db.Borrow("SELECT id FROM job WHERE submission = ? AND submission <> ''"));
    find->BindText(0, submission);
    auto found = TRY(find->Step());
    if (!found) return std::nullopt;
    JobId job(static_cast<uint32_t>(find->Int(0)));
    bool is_left = std::ranges::find(leftovers_, job) != leftovers_.end();
    return is_left ? std::nullopt : std::optional(job);
  });
}

}  // namespace spate::store
