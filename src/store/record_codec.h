// Records as bytes: what the `log` table holds of every record but AttemptEnded, which is a row of
// the `attempt` table (store/attempt_entry.h). They follow from the records' lists of fields; the
// bytes are described in docs/formats/journal.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/alternatives.h"
#include "base/result.h"
#include "core/engine/record.h"

namespace spate::store {

// The first byte of every blob. A change of any layout gives it the next number.
inline constexpr uint8_t kRecordFormat = 1;

// A kind of record is the place of its type in engine::Record, from 1: 0 is AttemptEnded.
template <typename T>
inline constexpr int kKindOf = static_cast<int>(kPlaceOf<T, engine::Record>);
inline constexpr int kRecordKindLast = std::variant_size_v<engine::Record> - 1;
// "job accepted", "leased", ...; "?" for a number that is no kind.
std::string RecordKindName(int kind);

struct EncodedRecord {
  int kind = 0;
  std::string data;
};

// CHECKs that the record is not an AttemptEnded.
EncodedRecord EncodeRecord(const engine::Record& record);

// Takes any bytes. kCorrupt when they are no record of this kind; the message says whether they
// are damaged or of a newer version.
Result<engine::Record> DecodeRecord(int kind, std::string_view data);

// The plan of a job that was accepted. nullopt: it is a record of another kind. Not beside the
// encoder, for which g++ then makes slower code (44 ns for a lease, not 40).
inline Result<std::optional<JobPlan>> DecodePlan(int kind, std::string_view data) {
  if (kind != kKindOf<engine::JobAccepted>) return std::nullopt;
  auto record = TRY(DecodeRecord(kind, data));
  return std::move(std::get<engine::JobAccepted>(record).plan);
}

// The bytes of a blob after its first one. kCorrupt when that is not `format`; `name` is for the
// error: "a record".
Result<std::string_view> FieldsIn(std::string_view name, uint8_t format, std::string_view blob);

// The low 32 bits of XXH3-64 over data, seeded with the XXH3-64 of seq (8 bytes, low byte first)
// and kind (1 byte).
uint32_t RecordChecksum(uint64_t seq, int kind, std::string_view data);

}  // namespace spate::store
