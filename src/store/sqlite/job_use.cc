#include "store/sqlite/job_use.h"

#include <algorithm>

#include "core/engine/record.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/schema.h"

namespace spate::store {

using engine::Verdict;

void Use::Add(const Use& other) {
  tasks += other.tasks;
  failed += other.failed;
  ends += other.ends;
  cpu = cpu + other.cpu;
  wall = wall + other.wall;
  peak_memory = std::max(peak_memory, other.peak_memory);
}

Result<std::map<uint32_t, Use>> ReadUse(const JournalPlace& place, Instant since) {
  auto db = OpenJournalToRead(place.DbPath(), IsFrozen(place));
  if (!db) return std::unexpected(std::move(db.error()));
  auto base = BaseMicros(*db);
  if (!base) return std::unexpected(std::move(base.error()));
  auto s = db->Prepare(
      "SELECT job, verdict, start_us, wall_us, user_us, system_us, peak_kb FROM attempt "
      "ORDER BY seq");
  if (!s) return std::unexpected(std::move(s.error()));
  std::map<uint32_t, Use> uses;
  Instant ended;
  for (;;) {
    auto more = s->Step();
    if (!more) return std::unexpected(std::move(more.error()));
    if (!*more) return uses;
    Duration wall{s->Nanos(3)};
    // An attempt that never started ended at about the time of its neighbour.
    if (!s->IsNull(2)) ended = Instant{s->Nanos(2, *base)} + wall;
    if (ended < since) continue;
    auto verdict = static_cast<Verdict>(s->Int(1));
    bool failed = verdict == Verdict::kFailed || verdict == Verdict::kUnknown;
    Use use{.tasks = EndsTask(verdict) ? 1u : 0u,
            .failed = failed ? 1u : 0u,
            .ends = 1,
            .cpu = Duration{s->Nanos(4) + s->Nanos(5)},
            .wall = wall,
            .peak_memory = static_cast<uint64_t>(s->Int(6)) * 1024};
    uses[static_cast<uint32_t>(s->Int(0))].Add(use);
  }
}

}  // namespace spate::store
