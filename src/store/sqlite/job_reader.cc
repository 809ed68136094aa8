#include "store/sqlite/job_reader.h"

#include <fmt/format.h>

#include "os/file.h"
#include "store/sqlite/job_row.h"
#include "store/sqlite/row_chunk.h"
#include "store/sqlite/schema.h"

namespace spate::store {

Status ReplayPart(Database& db, const JournalPart& part, const RecordVisit& visit,
                  uint64_t* output) {
  auto reader = TRY(JournalReader::Begin(db, part));
  engine::Record end = MakeEnd();
  for (;;) {
    auto entry = TRY(reader.Next());
    if (entry == nullptr) return {};
    const AttemptEntry* ended = entry->attempt();
    if (output != nullptr && ended != nullptr && ended->kept.bytes() > 0) {
      *output = ended->kept.position + ended->kept.bytes();
    }
    visit(entry->RecordBy(end));
  }
}

Result<uint64_t> ReplayOne(Database& db, JobId job, const RecordVisit& visit) {
  auto row = TRY(ReadJobRow(db, job));
  uint64_t output = 0;
  TRY(ReplayPart(db, PartOf(row), visit, &output));
  return output;
}

Result<uint64_t> SqliteJobReader::ReplayJob(JobId job, const RecordVisit& visit) const {
  auto db = TRY(OpenJournalToRead(place_.DbPath()));
  return ReplayOne(db, job, visit);
}

namespace {

Result<uint64_t> SumOf(Statement& select, int64_t first, int64_t second) {
  select.Reset();
  select.Bind(0, first);
  select.Bind(1, second);
  uint64_t sum = 0;
  for (;;) {
    auto more = TRY(select.Step());
    if (!more || select.Int(1) != 1) return sum;
    sum += static_cast<uint64_t>(select.Int(0));
  }
}

// The first records of a job: its needs, and its graph in pieces. Later records are small.
constexpr const char* kFirstRecords =
    "SELECT LENGTH(data), job = ?2 FROM log WHERE seq >= (SELECT first_seq FROM job WHERE id = ?1) "
    "ORDER BY seq LIMIT 256";
constexpr const char* kRowsOfJob = "SELECT LENGTH(data), 1 FROM rows WHERE id >= ? AND id < ?";
// Settings that the user's jobs share, each counted once.
constexpr const char* kShared =
    "SELECT COALESCE(SUM(LENGTH(bytes)), 0) FROM shared WHERE id IN (SELECT shared FROM shared_by "
    "WHERE job IN (SELECT id FROM job WHERE user = ?))";

}  // namespace

Result<uint64_t> SqliteJobReader::KeptOf(const std::string& user, std::set<JobId> arriving) const {
  auto db = TRY(OpenJournalToRead(place_.DbPath()));
  auto jobs = TRY(JobsOfUser(db, user));
  arriving.insert(jobs.begin(), jobs.end());
  auto records = TRY(db.Prepare(kFirstRecords));
  auto texts = TRY(db.Prepare(
      fmt::format("SELECT {}, 1 FROM job_text WHERE job = ?1 AND job = ?2", kBytesOfTexts)));
  auto rows = TRY(db.Prepare(kRowsOfJob));
  auto shared = TRY(db.Prepare(kShared));
  shared.BindText(0, user);
  (void)TRY(shared.Step());
  auto bytes = static_cast<uint64_t>(shared.Int(0));
  for (JobId job : arriving) {
    if (auto file = os::Stat(place_.OutputPath(job))) bytes += file->size;
    bytes += TRY(SumOf(records, job.value, job.value));
    bytes += TRY(SumOf(texts, job.value, job.value));
    bytes += TRY(SumOf(rows, static_cast<int64_t>(RowKey(job, 0)),
                       static_cast<int64_t>(RowKey(JobId(job.value + 1), 0))));
  }
  return bytes;
}

Result<uint64_t> SqliteJobReader::SizeOfOutput() const {
  uint64_t sum = 0;
  const std::string folder = os::DirName(place_.OutputPath(JobId(1)));
  auto entries = TRY(os::ListDir(folder));
  for (const os::DirEntry& entry : entries) {
    // One may have gone meanwhile.
    if (auto info = os::Stat(os::JoinPath(folder, entry.name))) sum += info->on_disk;
  }
  return sum;
}

Result<uint64_t> SqliteJobReader::SizeOfRows() const {
  auto db = TRY(OpenJournalToRead(place_.DbPath()));
  auto used =
      TRY(db.QueryInt("SELECT (page_count - freelist_count) * page_size "
                      "FROM pragma_page_count, pragma_freelist_count, pragma_page_size"));
  return static_cast<uint64_t>(used);
}

}  // namespace spate::store
