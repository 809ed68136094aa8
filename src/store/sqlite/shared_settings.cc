#include "store/sqlite/shared_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/model/field_bytes.h"
#include "store/bytes.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

// For a job that is written again.
constexpr std::string_view kOwn =
    "SELECT shared.id, bytes = ?2 FROM shared_by JOIN shared ON shared.id = shared_by.shared "
    "WHERE job = ?1";
constexpr std::string_view kDrop =
    "DELETE FROM shared WHERE id = ?2 AND NOT EXISTS "
    "(SELECT 1 FROM shared_by WHERE shared = ?2 AND job <> ?1)";
// By its bytes, too: a transaction that failed may have taken its number back.
constexpr std::string_view kUse =
    "INSERT OR REPLACE INTO shared_by(job, shared) "
    "SELECT ?1, id FROM shared WHERE id = ?2 AND bytes = ?3";
constexpr std::string_view kAdd = "INSERT INTO shared(bytes) VALUES(?1)";
constexpr std::string_view kUseLast =
    "INSERT OR REPLACE INTO shared_by(job, shared) VALUES(?1, last_insert_rowid())";

constexpr char kMark = '\0';

// The longest field; empty if they are no settings.
std::string_view LongestField(std::string_view settings) {
  std::string_view longest;
  for (std::string_view rest = settings; !rest.empty();) {
    const char* begin = rest.data();
    internal::RawField field;
    if (!internal::DecodeField(rest, field)) return {};
    const std::string_view all(begin, static_cast<size_t>(rest.data() - begin));
    if (all.size() > longest.size()) longest = all;
  }
  return longest;
}

}  // namespace

std::string AreSharedSound() {
  return fmt::format(
      "(COALESCE(SUBSTR(CAST(settings AS BLOB), 1, 1), x'') <> x'00' OR COALESCE({}, 0))",
      IsSound("shared"));
}

std::optional<std::string> JoinSettings(std::string_view kept, int64_t shared,
                                        std::string_view bytes) {
  if (kept.empty() || kept.front() != kMark) return std::string(kept);
  ByteReader reader(kept.substr(1));
  const uint64_t id = reader.Varint();
  const uint64_t place = reader.Varint();
  if (!reader.ok() || id != static_cast<uint64_t>(shared) || place > reader.left()) {
    return std::nullopt;
  }
  std::string settings(kept.substr(kept.size() - reader.left()));
  settings.insert(place, bytes);
  return settings;
}

Status SharedSettings::Prepare(Database& db) {
  const std::pair<Statement*, std::string_view> all[] = {
      {&own_, kOwn}, {&drop_, kDrop}, {&use_, kUse}, {&add_, kAdd}, {&use_last_, kUseLast}};
  return db.PrepareAll(all);
}

Result<std::string> SharedSettings::Share(Database& db, JobId job, std::string_view settings) {
  const std::string_view field = LongestField(settings);
  if (field.size() < kLeastBytes) return std::string(settings);
  const int64_t id = TRY(IdOf(db, job, field));
  const auto place = static_cast<size_t>(field.data() - settings.data());
  std::string kept(1, kMark);
  ByteWriter writer(kept);
  writer.Varint(static_cast<uint64_t>(id));
  writer.Varint(place);
  kept += settings.substr(0, place);
  kept += settings.substr(place + field.size());
  return kept;
}

// The field that the job had before, if it is the same; else that goes, unless others have it.
Result<std::optional<int64_t>> SharedSettings::OwnOf(JobId job, std::string_view field) {
  own_.Bind(0, job.value);
  own_.BindBlob(1, field);
  const bool found = TRY(own_.Step());
  const int64_t id = found ? own_.Int(0) : 0;
  const bool same = found && own_.Int(1) != 0;
  own_.Reset();
  if (same) return id;
  if (!found) return std::nullopt;
  drop_.Bind(0, job.value);
  drop_.Bind(1, id);
  TRY(drop_.RunOnce());
  return std::nullopt;
}

Result<int64_t> SharedSettings::IdOf(Database& db, JobId job, std::string_view field) {
  if (auto own = TRY(OwnOf(job, field))) return *own;
  auto at = std::ranges::find(known_, field, &Known::bytes);
  if (at != known_.end()) {
    Known known = std::move(*at);
    known_.erase(at);
    use_.Bind(0, job.value);
    use_.Bind(1, known.id);
    use_.BindBlob(2, known.bytes);
    TRY(use_.RunOnce());
    if (db.Changes() > 0) {
      const int64_t id = known.id;
      if (++known.jobs < kMostJobs) Remember(std::move(known));
      return id;
    }
  }
  add_.BindBlob(0, field);
  TRY(add_.RunOnce());
  use_last_.Bind(0, job.value);
  TRY(use_last_.RunOnce());
  const int64_t id = TRY(db.QueryInt("SELECT MAX(id) FROM shared"));
  Remember({id, std::string(field), 1});
  return id;
}

void SharedSettings::Remember(Known known) {
  known_.push_front(std::move(known));
  size_t bytes = 0;
  size_t kept = 0;
  while (kept < std::min(known_.size(), kKnown)) {
    bytes += known_[kept].bytes.size();
    if (bytes > kMostKnownBytes) break;
    ++kept;
  }
  known_.resize(kept);
}

}  // namespace spate::store
