#include "store/sqlite/job_use.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/engine/record.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/schema.h"

namespace spate::store {

using engine::Verdict;

Result<std::map<uint32_t, Use>> ReadUse(const JournalPlace& place, Instant since,
                                        const std::optional<JournalPart>& part) {
  auto db = TRY(OpenJournalToRead(place.DbPath(), IsFrozen(place)));
  auto base = TRY(BaseMicros(db));
  auto s = TRY(db.Prepare(fmt::format(
      "SELECT job, verdict, start_us, wall_us, user_us, system_us, peak_kb FROM attempt "
      "{}ORDER BY seq",
      part ? "WHERE seq BETWEEN ? AND ? AND job = ? " : "")));
  if (part) BindPart(s, *part);
  std::map<uint32_t, Use> uses;
  Instant ended;
  for (;;) {
    auto more = TRY(s.Step());
    if (!more) return uses;
    Duration wall{s.Nanos(3)};
    // An attempt that never started ended at about the time of its neighbour.
    if (!s.IsNull(2)) ended = Instant{s.Nanos(2, base)} + wall;
    if (ended < since) continue;
    auto verdict = static_cast<Verdict>(s.Int(1));
    bool failed = verdict == Verdict::kFailed || verdict == Verdict::kUnknown;
    Use use{.tasks = EndsTask(verdict) ? 1u : 0u,
            .failed = failed ? 1u : 0u,
            .ends = 1,
            .cpu = Duration{s.Nanos(4) + s.Nanos(5)},
            .wall = wall,
            .peak_memory = static_cast<uint64_t>(s.Int(6)) * 1024};
    if (verdict == Verdict::kSucceeded) {
      use.longest = wall;
      if (wall >= kLongEnough) {
        // A row of a journal may say anything.
        double milli_cpus = std::clamp(1000 * use.cpu.seconds() / wall.seconds(), 0.0, 1e9);
        use.most_milli_cpus = static_cast<uint32_t>(milli_cpus);
      }
    }
    uses[static_cast<uint32_t>(s.Int(0))].Add(use);
  }
}

}  // namespace spate::store
