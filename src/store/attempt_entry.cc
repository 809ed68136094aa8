// The rounding and the checksum of attempt rows.
#include "store/attempt_entry.h"

#include <xxhash.h>

#include <algorithm>
#include <array>

#include "store/bytes.h"

namespace spate::store {
namespace {

constexpr uint64_t kWithLengths = UINT16_MAX + 1;

int64_t WholeMicros(int64_t ns) {
  int64_t us = ns / 1000;
  if (ns % 1000 < 0) --us;
  return us * 1000;
}

}  // namespace

engine::Record MakeEnd() { return engine::AttemptEnded(); }

const engine::Record& JournalEntry::RecordBy(engine::Record& end) const {
  const AttemptEntry* entry = attempt();
  if (entry == nullptr) return std::get<engine::Record>(what);
  std::get<engine::AttemptEnded>(end) = entry->record;
  return end;
}

void RoundToStored(AttemptEnd& end) {
  end.start.ns = WholeMicros(end.start.ns);
  end.wall.ns = WholeMicros(end.wall.ns);
  end.user.ns = WholeMicros(end.user.ns);
  end.system.ns = WholeMicros(end.system.ns);
  end.peak_memory = (end.peak_memory + 1023) / 1024 * 1024;
}

void RoundToStored(engine::AttemptEnded& record) {
  RoundToStored(record.end);
  if (record.verdict != engine::Verdict::kRetry) record.ended = record.end.start + record.end.wall;
}

uint32_t AttemptChecksum(uint64_t seq, const AttemptEntry& entry) {
  const auto& r = entry.record;
  const AttemptEnd& e = r.end;
  auto u = [](auto v) { return static_cast<uint64_t>(v); };
  const std::array<uint64_t, 26> words = {seq,
                                          u(e.ref.job.value),
                                          u(e.ref.index),
                                          u(e.ref.attempt.value),
                                          u(r.node.value),
                                          u(e.slot),
                                          u(e.cause),
                                          u(e.status),
                                          u(r.verdict),
                                          u(r.counts),
                                          u(e.memory_source),
                                          u(e.start.ns),
                                          u(e.wall.ns),
                                          u(e.user.ns),
                                          u(e.system.ns),
                                          e.peak_memory,
                                          u(r.verdict == engine::Verdict::kRetry ? r.ended.ns : 0),
                                          u(e.read_bytes),
                                          u(e.written_bytes),
                                          u(e.left_behind),
                                          e.stdout_total,
                                          e.stderr_total,
                                          entry.kept.position,
                                          entry.kept.stdout_bytes,
                                          entry.kept.stderr_bytes,
                                          u(e.processes.size())};
  uint64_t hash = XXH3_64bits(words.data(), sizeof(words));
  if (!e.note.empty()) hash = XXH3_64bits_withSeed(e.note.data(), e.note.size(), hash);
  if (!e.processes.empty()) {
    std::string processes = EncodeProcesses(e.processes);
    hash = XXH3_64bits_withSeed(processes.data(), processes.size(), hash);
  }
  if (uint64_t files = entry.kept.files_bytes; files > 0) {
    hash = XXH3_64bits_withSeed(&files, sizeof(files), hash);
  }
  if (e.not_kept != NotKept::kNone) {
    hash = XXH3_64bits_withSeed(&e.not_kept, sizeof(e.not_kept), hash);
  }
  if (const std::string& sums = entry.kept.sums; !sums.empty()) {
    hash = XXH3_64bits_withSeed(sums.data(), sums.size(), hash);
  }
  return static_cast<uint32_t>(hash & ((1u << kAttemptChecksumBits) - 1));
}

// One after the other. Those with lengths of output have kWithLengths in front of them all, which
// no step is.
std::string EncodeProcesses(const std::vector<ProcessEnd>& processes) {
  std::string bytes;
  ByteWriter writer(bytes);
  const bool lengths = std::ranges::any_of(
      processes, [](const ProcessEnd& p) { return (p.stdout_bytes | p.stderr_bytes) != 0; });
  if (lengths) writer.Varint(kWithLengths);
  for (const ProcessEnd& p : processes) {
    writer.Varint(p.step);
    writer.Varint(p.command);
    writer.Varint(p.rank);
    writer.Zigzag(p.status);
    if (!lengths) continue;
    writer.Varint(p.stdout_bytes);
    writer.Varint(p.stderr_bytes);
  }
  return bytes;
}

bool DecodeProcesses(std::string_view bytes, std::vector<ProcessEnd>& processes) {
  processes.clear();
  ByteReader reader(bytes);
  bool lengths = false;
  while (reader.ok() && reader.left() > 0) {
    uint64_t step = reader.Varint();
    if (step == kWithLengths && processes.empty() && !lengths) {
      lengths = true;
      continue;
    }
    uint64_t command = reader.Varint();
    uint64_t rank = reader.Varint();
    int64_t status = reader.Zigzag();
    uint64_t out = lengths ? reader.Varint() : 0;
    uint64_t err = lengths ? reader.Varint() : 0;
    if (step > UINT16_MAX || command > UINT16_MAX || rank > UINT32_MAX || status < INT32_MIN ||
        status > INT32_MAX) {
      return false;
    }
    processes.push_back({.step = static_cast<uint16_t>(step),
                         .command = static_cast<uint16_t>(command),
                         .rank = static_cast<uint32_t>(rank),
                         .status = static_cast<int32_t>(status),
                         .stdout_bytes = out,
                         .stderr_bytes = err});
  }
  return reader.ok();
}

}  // namespace spate::store
