#include "store/sqlite/tail.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/sqlite/journal_place.h"
#include "store/sqlite/journal_reader.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

// Numbers of the sequence that one Read looks at.
constexpr uint64_t kWindow = 200'000;

}  // namespace

Result<SqliteTail> SqliteTail::Open(const JournalPlace& place, JobId job) {
  auto db = TRY(OpenJournalToRead(place.DbPath()));
  SqliteTail tail(std::move(db), job, place.OutputPath(job));
  const std::pair<Statement*, std::string_view> all[] = {
      {&tail.range_, "SELECT first_seq, last_seq FROM job WHERE id = ? AND first_seq IS NOT NULL"},
      {&tail.newest_, "SELECT MAX(seq) FROM attempt"}};
  TRY(tail.db_.PrepareAll(all));
  TRY(tail.Read(UINT64_MAX, 0));
  return tail;
}

Result<Tail::News> SqliteTail::Read(uint64_t after, size_t most) {
  // The job's row first: whoever sees its last record there sees all ends before it.
  range_.Bind(0, job_.value);
  auto found = range_.Step();
  auto first = static_cast<uint64_t>(range_.Int(0));
  bool finished = !range_.IsNull(1);
  range_.Reset();
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) {
    return Fail(ErrorKind::kNotFound, fmt::format("the hub has no job {}", job_.value));
  }
  auto any = newest_.Step();
  auto newest = static_cast<uint64_t>(newest_.Int(0));
  newest_.Reset();
  if (!any) return std::unexpected(std::move(any.error()));
  News news;
  news.seq = after;
  if (newest > after) {
    uint64_t from = std::max(after + 1, first);
    uint64_t last = std::min(newest, from + kWindow - 1);
    news.seq = std::max(after, last);
    TRY(ReadEnds(from, last, most, news));
    news.more = news.seq < newest;
  }
  news.finished = finished && !news.more;
  return news;
}

Status SqliteTail::ReadEnds(uint64_t first, uint64_t last, size_t most, News& news) {
  JournalPart part = {.of = JournalPart::Of::kJob, .job = job_, .first = first, .last = last};
  auto reader = TRY(JournalReader::Begin(db_, part));
  for (;;) {
    auto entry = TRY(reader.Next());
    if (entry == nullptr) return {};
    const auto* attempt = std::get_if<AttemptEntry>(&entry->what);
    if (attempt == nullptr) continue;
    if (news.ends.size() == most) {
      news.seq = entry->seq - 1;
      return {};
    }
    news.ends.push_back({entry->seq, *attempt});
  }
}

}  // namespace spate::store
