#include "store/sqlite/kept_replay.h"

#include <xxhash.h>

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "os/file.h"
#include "store/bytes.h"
#include "store/replay_file.h"
#include "store/sqlite/replay_job.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

// Only one of them has a row of this number.
constexpr std::string_view kRows[] = {
    "SELECT job, idx, attempt, node, cause, status, verdict, flags, start_us, wall_us, user_us, "
    "system_us, peak_kb, '' FROM attempt WHERE seq = ?",
    "SELECT job, kind, checksum, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, data FROM log WHERE seq = ?"};
constexpr int kNumbers = 13;
// A disk that is nearly full is left to the journal.
constexpr uint64_t kLeastFree = 256 << 20;

// Adds the row of a record. False: there is none.
Result<bool> AddRow(std::span<Statement> rows, uint64_t seq, ByteWriter& out) {
  for (Statement& row : rows) {
    row.Bind(0, static_cast<int64_t>(seq));
    const bool found = TRY(row.Step());
    if (found) {
      out.Varint(seq);
      for (int i = 0; i < kNumbers; ++i) out.Zigzag(row.Int(i));
      out.Text(row.Bytes(kNumbers));
    }
    row.Reset();
    if (found) return true;
  }
  return false;
}

// Mark of the newest records: an older journal that was put back lacks some of them, or has others
// under their numbers. nullopt: one is missing.
Result<std::optional<uint64_t>> MarkOf(Database& db, const JobReplay& replay) {
  std::vector<Statement> rows;
  for (std::string_view sql : kRows) rows.push_back(TRY(db.Prepare(sql)));
  std::string bytes;
  ByteWriter out(bytes);
  for (uint64_t seq : replay.recent()) {
    if (!TRY(AddRow(rows, seq, out))) return std::nullopt;
  }
  return XXH3_64bits(bytes.data(), bytes.size());
}

// Null: there is no file, or it is not one of this journal as it is now.
std::unique_ptr<JobReplay> Open(Database& db, const JournalPart& part, const KeptReplay& kept) {
  auto saved = OpenReplay(kept.path, part.job);
  if (!saved || saved->origin.created != kept.created) return nullptr;
  auto journal = BaseMicros(db);
  if (!journal || *journal != saved->origin.journal) return nullptr;
  auto mark = MarkOf(db, *saved->replay);
  if (!mark || *mark != saved->origin.mark) return nullptr;
  return std::move(saved->replay);
}

Result<bool> HasJob(Database& db, JobId job) {
  auto find = TRY(db.Prepare("SELECT 1 FROM job WHERE id = ?"));
  find.Bind(0, job.value);
  return find.Step();
}

}  // namespace

void KeepReplay(Database& db, const JournalPart& part, const KeptReplay& kept,
                const JobReplay& replay) {
  const std::string folder = os::DirName(kept.path);
  auto info = os::Stat(folder);
  auto self = os::Stat("/proc/self");
  if (!info || !self || info->user != self->user || !os::MayAccess(folder, "wx")) return;
  auto space = os::SpaceOf(folder);
  if (space && space->free < kLeastFree) return;
  auto journal = BaseMicros(db);
  auto mark = MarkOf(db, replay);
  if (!journal || !mark || !*mark) return;
  if (!SaveReplay(kept.path, replay, {*journal, kept.created, **mark})) return;
  // Somebody may have removed the job, and its file before it was there.
  auto there = HasJob(db, part.job);
  if (there && !*there) (void)os::RemoveFile(kept.path);
}

Result<std::shared_ptr<JobReplay>> ReplayJob(Database& db, const JournalPart& part,
                                             const KeptReplay& kept, bool from_start) {
  std::shared_ptr<JobReplay> replay = from_start ? nullptr : Open(db, part, kept);
  if (replay != nullptr) {
    JournalPart rest = part;
    rest.first = replay->position() + 1;
    if (!ReplayJob(db, rest, *replay)) replay = nullptr;
  }
  if (replay == nullptr) {
    replay = std::make_shared<JobReplay>(part.job);
    TRY(ReplayJob(db, part, *replay));
  }
  if (replay->applied() >= kept.keep_after) KeepReplay(db, part, kept, *replay);
  return replay;
}

}  // namespace spate::store
