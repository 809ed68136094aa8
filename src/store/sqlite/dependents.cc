#include "store/sqlite/dependents.h"

#include <algorithm>
#include <variant>

#include "store/record_codec.h"
#include "store/sqlite/database.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/journal_place.h"
#include "store/sqlite/schema.h"

namespace spate::store {
namespace {

bool StartsAfter(int kind, std::string_view data, JobId on) {
  if (kind != static_cast<int>(RecordKind::kJobAccepted)) return false;
  auto record = DecodeRecord(kind, data);
  // A damaged record is for `spate state check` to name.
  const auto* accepted = record ? std::get_if<engine::JobAccepted>(&*record) : nullptr;
  return accepted != nullptr && std::ranges::any_of(accepted->plan.after, [on](const After& each) {
           return each.job == on;
         });
}

}  // namespace

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

}  // namespace spate::store
