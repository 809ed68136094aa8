// Records of provision as bytes: what the `pool_log` table holds. The bytes are described in
// docs/formats/journal.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/provision/record.h"

namespace spate::store {

// The first byte of every blob. Fields may be added without a new one: what is not there has its
// default.
inline constexpr uint8_t kPoolFormat = 1;

// The numbers are stored; new ones go to the end. Each is the place in provision::Record, plus one.
enum class PoolRecordKind : uint8_t {
  kPoolChanged = 1,
  kPoolClosed = 2,
  kPoolForgotten = 3,
  kPoolPaused = 4,
  kPoolResumed = 5,
  kPoolLearned = 6,
  kPilotIntended = 7,
  kPilotSubmitted = 8,
  kPilotJoined = 9,
  kPilotUnwanted = 10,
  kPilotEnded = 11,
  kNumbersKept = 12,
  kPoolKept = 13,
  kPilotKept = 14,
  kPilotQueuedAgain = 15,
};
inline constexpr int kPoolRecordKindLast = 15;

struct EncodedPoolRecord {
  PoolRecordKind kind = PoolRecordKind::kPoolChanged;
  std::string data;
};
EncodedPoolRecord EncodePoolRecord(const provision::Record& record);

// Takes any bytes. kCorrupt when they are no record of this kind; the message says whether they
// are damaged or of a newer version.
Result<provision::Record> DecodePoolRecord(int kind, std::string_view data);

// Finds the pool that a record is about. Most of a pilot's name the pilot alone, so all of a
// journal have to go through here, in order.
class PoolOfRecord {
 public:
  // 0: none, or it is not known.
  provision::PoolId Of(const provision::Record& record);

 private:
  std::map<provision::PilotId, provision::PoolId> pools_;  // of pilots that may exist
};

}  // namespace spate::store
