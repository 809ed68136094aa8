// The job's row moves to the table `forgotten`, which keeps the range of its records; these go,
// from the oldest on, then the rows of text. When that is durable its output goes, and with a later
// commit the row itself. Submission names
// are free again at once; job numbers are never used again.
#include "store/sqlite/forget.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "store/sqlite/row_chunk.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

// Numbers of the sequence that one piece looks at: some 20 ms.
constexpr int64_t kPiece = 20'000;
constexpr int64_t kBytesOfNumber = 64;  // an attempt without rare columns

constexpr std::string_view kMove =
    "INSERT OR IGNORE INTO forgotten(job, first_seq, last_seq) SELECT id, COALESCE(first_seq, 1), "
    "COALESCE(last_seq, 0) "
    "FROM job WHERE id = ?1 AND (first_seq IS NULL OR last_seq IS NOT NULL)";
// The journal may have gaps below it. The sequence goes on above it, whatever else is there.
// Nothing is sure about a damaged job, not even the place of its records. The range is that of what
// is left of them.
constexpr std::string_view kMoveDamaged =
    "INSERT OR IGNORE INTO forgotten(job, first_seq, last_seq) SELECT id, COALESCE("
    "(SELECT MIN(seq) FROM log WHERE job = ?1), 1), MAX((SELECT COALESCE(MAX(seq), 0) FROM log), "
    "(SELECT COALESCE(MAX(seq), 0) FROM attempt)) FROM job WHERE id = ?1";
constexpr std::string_view kMark =
    "INSERT INTO meta(key, value) SELECT 'forgotten_seq', last_seq FROM forgotten WHERE job = ?1 "
    "ON CONFLICT(key) DO UPDATE SET value = MAX(value, excluded.value)";
constexpr std::string_view kDropRow =
    "DELETE FROM job WHERE id = ?1 AND id IN (SELECT job FROM forgotten)";
constexpr std::string_view kDropText =
    "DELETE FROM job_text WHERE job = ?1 AND job IN (SELECT job FROM forgotten)";
// The part of its settings that no other job has, and then that it had that.
constexpr std::string_view kDropShared =
    "DELETE FROM shared WHERE id = (SELECT shared FROM shared_by WHERE job = ?1) AND NOT EXISTS "
    "(SELECT 1 FROM shared_by WHERE shared_by.shared = shared.id AND job <> ?1) "
    "AND EXISTS (SELECT 1 FROM forgotten WHERE job = ?1)";
constexpr std::string_view kDropSharedBy =
    "DELETE FROM shared_by WHERE job = ?1 AND job IN (SELECT job FROM forgotten)";
constexpr std::string_view kDropRare =
    "DELETE FROM attempt_rare WHERE seq IN "
    "(SELECT seq FROM attempt WHERE seq BETWEEN ?2 AND ?3 AND job = ?1)";
constexpr std::string_view kDropAttempts =
    "DELETE FROM attempt WHERE seq BETWEEN ?2 AND ?3 AND job = ?1";
constexpr std::string_view kDropLog = "DELETE FROM log WHERE seq BETWEEN ?2 AND ?3 AND job = ?1";
constexpr std::string_view kSpans =
    "SELECT first_seq, last_seq FROM span WHERE job = ?1 AND last_seq >= ?2 ORDER BY first_seq";
constexpr std::string_view kDropSpans = "DELETE FROM span WHERE job = ?1";
constexpr std::string_view kAdvance = "UPDATE forgotten SET first_seq = ?2 WHERE job = ?1";
// An unfinished upload has no row of the job yet.
constexpr std::string_view kDropRows =
    "DELETE FROM rows WHERE id BETWEEN ?1 AND ?2 AND NOT EXISTS (SELECT 1 FROM job WHERE id = ?3)";
constexpr std::string_view kBytesOfRecords =
    "SELECT seq, LENGTH(data) FROM log WHERE seq BETWEEN ?2 AND ?3 AND job = ?1 UNION ALL "
    "SELECT seq, COALESCE(LENGTH(note), 0) + COALESCE(LENGTH(processes), 0) FROM attempt_rare JOIN "
    "attempt USING (seq) WHERE seq BETWEEN ?2 AND ?3 AND job = ?1 ORDER BY seq";
constexpr std::string_view kBytesOfRows =
    "SELECT id, LENGTH(data) FROM rows WHERE id BETWEEN ?1 AND ?2 AND NOT EXISTS (SELECT 1 FROM "
    "job WHERE job.id = ?3) ORDER BY id";
constexpr std::string_view kForgetEnd = "DELETE FROM forgotten WHERE job = ?1";
constexpr std::string_view kDropNotKept =
    "DELETE FROM meta WHERE key BETWEEN 'not_kept ' || ?1 || ' 0' AND 'not_kept ' || ?1 || ' 9'";

}  // namespace

Result<Statement*> Forgetter::Bound(Database& db, std::string_view sql,
                                    std::initializer_list<int64_t> values) {
  auto known = statements_.find(sql);
  if (known == statements_.end()) {
    auto made = TRY(db.Prepare(sql));
    known = statements_.emplace(sql, std::move(made)).first;
  }
  int at = 0;
  for (int64_t value : values) known->second.Bind(at++, value);
  return &known->second;
}

Status Forgetter::Do(Database& db, std::string_view sql, std::initializer_list<int64_t> values) {
  auto statement = TRY(Bound(db, sql, values));
  return statement->RunOnce();
}

Result<bool> Forgetter::Forget(Database& db, JobId job, bool damaged) {
  static const std::string kRange = fmt::format(
      "SELECT first_seq, last_seq, {} FROM forgotten WHERE job = ?1", IsSound("forgotten"));
  static const std::string kBytesOfJob = fmt::format(
      "SELECT job, {} + COALESCE((SELECT LENGTH(bytes) FROM shared JOIN shared_by ON shared = id "
      "WHERE shared_by.job = ?1), 0) FROM job_text WHERE job = ?1",
      kBytesOfTexts);
  // Done even in a full commit, because another job may take its submission's name.
  for (std::string_view sql : {damaged ? kMoveDamaged : kMove, kMark, kDropRow}) {
    TRY(Do(db, sql, {job.value}));
  }
  if (IsFull()) return false;
  (void)TRY(Weigh(db, kBytesOfJob, {job.value}));
  for (std::string_view sql : {kDropText, kDropShared, kDropSharedBy, kDropNotKept}) {
    TRY(Do(db, sql, {job.value}));
  }
  auto range = TRY(Bound(db, kRange, {job.value}));
  const bool found = TRY(range->Step());
  const int64_t first = found ? range->Int(0) : 0;
  const int64_t last = found ? range->Int(1) : -1;
  const bool sound = found && range->Int(2) != 0;
  range->Reset();
  if (!found) return DropRows(db, job);
  // A damaged range may be another job's. What is left is not seen by anybody, and stays.
  if (!sound) return true;
  int64_t next = first;
  int64_t left = kPiece;
  for (auto [start, end] : TRY(Ranges(db, job, first, last, damaged))) {
    end = std::min(end, start + left - 1);
    end = TRY(Weigh(db, kBytesOfRecords, {job.value, start, end})).value_or(end);
    for (std::string_view sql : {kDropRare, kDropAttempts, kDropLog}) {
      TRY(Do(db, sql, {job.value, start, end}));
    }
    next = end + 1;
    left -= next - start;
    bytes_ += (next - start) * kBytesOfNumber;
    if (left == 0 || IsFull()) break;
  }
  if (next <= last || IsFull()) {
    TRY(Do(db, kAdvance, {job.value, next}));
    return false;
  }
  TRY(Do(db, kDropSpans, {job.value}));
  return DropRows(db, job);
}

// True: no row is left.
Result<bool> Forgetter::DropRows(Database& db, JobId job) {
  const auto from = static_cast<int64_t>(RowKey(job, 0));
  const auto end = TRY(Weigh(db, kBytesOfRows, {from, from + UINT32_MAX, job.value}));
  TRY(Do(db, kDropRows, {from, end.value_or(from + UINT32_MAX), job.value}));
  return !end;
}

Result<std::optional<int64_t>> Forgetter::Weigh(Database& db, std::string_view sql,
                                                std::initializer_list<int64_t> values) {
  auto select = TRY(Bound(db, sql, values));
  std::optional<int64_t> last;
  while (!last && TRY(select->Step())) {
    bytes_ += select->Int(1);
    if (IsFull()) last = select->Int(0);
  }
  select->Reset();
  return last;
}

// Places of its records, from `first` on.
Result<std::vector<std::pair<int64_t, int64_t>>> Forgetter::Ranges(Database& db, JobId job,
                                                                   int64_t first, int64_t last,
                                                                   bool damaged) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  if (first > last) return ranges;
  if (!damaged) {
    auto spans = TRY(Bound(db, kSpans, {job.value, first}));
    for (;;) {
      auto more = TRY(spans->Step());
      if (!more) break;
      const int64_t start = std::max(spans->Int(0), first);
      const int64_t end = std::min(spans->Int(1), last);
      if (start <= end) ranges.emplace_back(start, end);
    }
    spans->Reset();
  }
  if (ranges.empty()) ranges.emplace_back(first, last);
  return ranges;
}

Status Forgetter::End(Database& db, JobId job) { return Do(db, kForgetEnd, {job.value}); }

Result<std::vector<JobId>> JobsToForget(Database& db) {
  auto statement = TRY(db.Prepare(
      fmt::format("SELECT job FROM forgotten WHERE {} UNION SELECT id FROM job WHERE first_seq IS "
                  "NULL AND {}",
                  IsSound("forgotten"), IsSound("job"))));
  std::vector<JobId> jobs;
  for (;;) {
    auto more = TRY(statement.Step());
    if (!more) return jobs;
    jobs.push_back(JobId(static_cast<uint32_t>(statement.Int(0))));
  }
}

}  // namespace spate::store
