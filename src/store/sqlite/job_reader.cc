#include "store/sqlite/job_reader.h"

#include "core/model/task_files.h"
#include "os/file.h"
#include "store/sqlite/job_row.h"
#include "store/sqlite/row_chunk.h"
#include "store/sqlite/schema.h"

namespace spate::store {

Status ReplayPart(Database& db, const JournalPart& part, const RecordVisit& visit,
                  uint64_t* output) {
  auto reader = TRY(JournalReader::Begin(db, part));
  engine::Record attempt = engine::AttemptEnded();
  for (;;) {
    auto entry = TRY(reader.Next());
    if (entry == nullptr) return {};
    if (const auto* ended = std::get_if<AttemptEntry>(&entry->what)) {
      std::get<engine::AttemptEnded>(attempt) = ended->record;
      const KeptOutput& kept = ended->kept;
      if (output != nullptr && kept.bytes() > 0) *output = kept.position + kept.bytes();
      visit(attempt);
    } else {
      visit(std::get<engine::Record>(entry->what));
    }
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

Result<uint64_t> SqliteJobReader::OutputOf(const std::string& user) const {
  auto db = TRY(OpenJournalToRead(place_.DbPath()));
  auto jobs = TRY(JobsOfUser(db, user));
  // Contents of files that jobs brought along are rows behind those of tasks.
  auto pieces =
      TRY(db.Prepare("SELECT COALESCE(SUM(LENGTH(data)), 0) FROM rows WHERE id >= ? AND id < ?"));
  uint64_t bytes = 0;
  for (JobId job : jobs) {
    auto file = os::Stat(place_.OutputPath(job));
    if (file) bytes += file->size;
    pieces.Bind(0, static_cast<int64_t>(RowKey(job, kFirstPieceRow)));
    pieces.Bind(1, static_cast<int64_t>(RowKey(JobId(job.value + 1), 0)));
    (void)TRY(pieces.Step());
    bytes += static_cast<uint64_t>(pieces.Int(0));
    pieces.Reset();
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
