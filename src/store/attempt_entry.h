// AttemptEntry: an attempt's end as one row of the journal, with the place of its kept output.
//
// A row is rounded: times to microseconds, peak memory up to KB. So that live and replayed state
// are equal, the owner rounds (RoundToStored) before the engine sees an end; stores round again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/engine/record.h"

namespace spate::store {

// Place of an attempt's output in the job's stream file: stdout's bytes, then stderr's, then its
// files (--get), which are always whole.
struct KeptOutput {
  uint64_t position = 0;
  uint64_t stdout_bytes = 0;  // kept; a stream that was longer kept its first and last 64 KB
  uint64_t stderr_bytes = 0;
  uint64_t files_bytes = 0;
  // Checksums of these that have bytes: 32 bits of XXH3-64, low byte first. Empty: not known.
  std::string sums = {};
  uint64_t bytes() const { return stdout_bytes + stderr_bytes + files_bytes; }
  friend bool operator==(const KeptOutput&, const KeptOutput&) = default;
};

struct AttemptEntry {
  engine::AttemptEnded record;
  KeptOutput kept;
  // Bytes of its output that were not kept.
  uint64_t missing() const {
    return record.end.stdout_total + record.end.stderr_total - kept.stdout_bytes -
           kept.stderr_bytes;
  }
};

// One record of a journal: an attempt with the place of its output, or another record.
struct JournalEntry {
  uint64_t seq = 0;
  std::variant<AttemptEntry, engine::Record> what;
  const AttemptEntry* attempt() const { return std::get_if<AttemptEntry>(&what); }
  // An end is copied to `end`, which is to be one, and used again.
  const engine::Record& RecordBy(engine::Record& end) const;
};
engine::Record MakeEnd();  // for RecordBy

// Gives an end, or a record, the precision that a row has. A record's `ended` is kept exactly for
// a retry, whose delay counts from it, and is start + wall for all others. Idempotent.
void RoundToStored(AttemptEnd& end);
void RoundToStored(engine::AttemptEnded& record);

// 13 bits over all that the row and its rare part say. Expects a rounded record.
inline constexpr int kAttemptChecksumBits = 13;
uint32_t AttemptChecksum(uint64_t seq, const AttemptEntry& entry);

// ProcessEnd as bytes, for the rare attempts of several processes.
std::string EncodeProcesses(const std::vector<ProcessEnd>& processes);
// False when the bytes are damaged.
bool DecodeProcesses(std::string_view bytes, std::vector<ProcessEnd>& processes);

}  // namespace spate::store
