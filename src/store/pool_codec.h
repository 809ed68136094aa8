// Records of provision as bytes: what the `pool_log` table holds. The bytes are described in
// docs/formats/journal.md.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "core/provision/record.h"
#include "store/record_codec.h"

namespace spate::store {

// The first byte of every blob. Fields may be added without a new one: what is not there has its
// default.
inline constexpr uint8_t kPoolFormat = 1;

// A kind of record is the place of its type in provision::Record, from 1.
inline constexpr int kPoolRecordKindLast = std::variant_size_v<provision::Record>;
EncodedRecord EncodePoolRecord(const provision::Record& record);

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
