#include "store/sqlite/attempt_columns.h"

namespace spate::store {
std::optional<uint32_t> AttemptFromColumns(const Statement& s, int64_t base_us,
                                           AttemptEntry& entry) {
  auto& r = entry.record;
  AttemptEnd& e = r.end;
  auto flags = static_cast<uint16_t>(s.Int(9));
  const auto not_kept = FromNumber<NotKept>((s.Int(9) + (1 << 15)) >> 16);
  const auto cause = FromNumber<Cause>(s.Int(6));
  const auto verdict = FromNumber<Verdict>(s.Int(8));
  if (!cause || !verdict || !not_kept) return std::nullopt;
  r.node = NodeId(static_cast<uint32_t>(s.Int(4)));
  r.verdict = *verdict;
  r.counts = (flags & 1) != 0;
  e.ref = {JobId(static_cast<uint32_t>(s.Int(1))), static_cast<TaskIndex>(s.Int(2)),
           Attempt(static_cast<uint16_t>(s.Int(3)))};
  e.cause = *cause;
  e.memory_source = static_cast<MemorySource>((flags >> 1) & 3);
  e.slot = static_cast<uint16_t>(s.Int(5));
  e.status = static_cast<int32_t>(s.Int(7));
  e.start = s.IsNull(10) ? Instant() : Instant{s.Nanos(10, base_us)};
  e.wall = Duration{s.Nanos(11)};
  e.user = Duration{s.Nanos(12)};
  e.system = Duration{s.Nanos(13)};
  e.peak_memory = static_cast<uint64_t>(s.Int(14)) * 1024;
  entry.kept = {.position = static_cast<uint64_t>(s.Int(15)),
                .stdout_bytes = static_cast<uint64_t>(s.Int(16)),
                .stderr_bytes = static_cast<uint64_t>(s.Int(17)),
                .files_bytes = 0,
                .sums = std::string(s.Bytes(18))};
  r.ended = Instant{
      static_cast<int64_t>(static_cast<uint64_t>(e.start.ns) + static_cast<uint64_t>(e.wall.ns))};
  e.read_bytes = e.written_bytes = -1;
  e.left_behind = 0;
  e.stdout_total = entry.kept.stdout_bytes;
  e.stderr_total = entry.kept.stderr_bytes;
  e.note.clear();
  e.processes.clear();
  e.not_kept = *not_kept;
  return flags >> 3;
}

bool RareFromColumns(const Statement& s, AttemptEntry& entry) {
  AttemptEnd& e = entry.record.end;
  if (!s.IsNull(1)) entry.record.ended = Instant{s.Int(1)};
  if (!s.IsNull(2)) e.read_bytes = s.Int(2);
  if (!s.IsNull(3)) e.written_bytes = s.Int(3);
  e.left_behind = static_cast<uint32_t>(s.Int(4));
  if (!s.IsNull(5)) e.stdout_total = static_cast<uint64_t>(s.Int(5));
  if (!s.IsNull(6)) e.stderr_total = static_cast<uint64_t>(s.Int(6));
  e.note = s.Bytes(7);
  entry.kept.files_bytes = static_cast<uint64_t>(s.Int(9));
  return DecodeProcesses(s.Bytes(8), e.processes);
}

}  // namespace spate::store
