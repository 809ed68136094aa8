// Records as bytes: what the `log` table holds of every record but AttemptEnded, which is a row of
// the `attempt` table (store/attempt_entry.h). The bytes are described in docs/formats/journal.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/engine/record.h"

namespace spate::store {

// The first byte of every blob. A change of any layout gives it the next number.
inline constexpr uint8_t kRecordFormat = 10;

// The numbers are stored; new ones go to the end.
enum class RecordKind : uint8_t {
  kJobAccepted = 1,
  kJobGrown = 2,
  kJobSealed = 3,
  kPolicyChanged = 4,
  kTasksWithdrawn = 5,
  kTasksReopened = 6,
  kJobHeld = 7,
  kJobReleased = 8,
  kLeased = 9,
  kReturned = 10,
  kJobFinished = 11,
  kJobCancelled = 12,
  kDependencyMet = 13,
  kUserChanged = 14,
  kNodeDrained = 15,
  kNodeUndrained = 16,
  kNodeRemoved = 17,
  kNodeSick = 18,
  kNodeCleared = 19,
  kNeedsChanged = 20,
  kTasksCancelled = 21,
  kTasksLinked = 22,
  kGangLeased = 23,
  kGangReserved = 24,
  kGangPolicyChanged = 25,
  kNodeBlamed = 26,
  kHalfLifeChanged = 27,
  kUseCounted = 28,
  kPriorityChanged = 29,
  kClockStepped = 30,
};
inline constexpr int kRecordKindLast = 30;
// "job accepted", "leased", ...; "?" for a number that is no kind.
const char* RecordKindName(int kind);

struct EncodedRecord {
  RecordKind kind = RecordKind::kJobSealed;
  std::string data;
};

// CHECKs that the record is not an AttemptEnded.
EncodedRecord EncodeRecord(const engine::Record& record);

// Takes any bytes. kCorrupt when they are no record of this kind; the message says whether they
// are damaged or of a newer version.
Result<engine::Record> DecodeRecord(int kind, std::string_view data);

// The low 32 bits of XXH3-64 over data, seeded with the XXH3-64 of seq (8 bytes, low byte first)
// and kind (1 byte).
uint32_t RecordChecksum(uint64_t seq, int kind, std::string_view data);

}  // namespace spate::store
