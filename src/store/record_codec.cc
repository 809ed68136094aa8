#include "store/record_codec.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "base/check.h"
#include "base/type_name.h"
#include "store/bare_fields.h"

namespace spate::store {

std::string RecordKindName(int kind) {
  constexpr std::string_view kTasks = "tasks ";
  if (kind < 1 || kind > kRecordKindLast) return "?";
  std::string words = std::visit(
      []<typename T>(const T&) -> std::string {
        if constexpr (requires { T::kName; }) return T::kName;
        return TypeWords<T>();
      },
      MakeAlternative<engine::Record>(static_cast<size_t>(kind)));
  return words.starts_with(kTasks) ? words.substr(kTasks.size()) : words;
}

EncodedRecord EncodeRecord(const engine::Record& record) {
  CHECK(!std::holds_alternative<engine::AttemptEnded>(record));  // a row of the attempt table
  EncodedRecord encoded{.kind = static_cast<int>(record.index()), .data = {}};
  encoded.data.push_back(static_cast<char>(kRecordFormat));
  std::visit([&](const auto& each) { BareWriter(encoded.data).Record(each); }, record);
  return encoded;
}

Result<std::string_view> FieldsIn(std::string_view name, uint8_t format, std::string_view blob) {
  if (blob.empty()) {
    return Fail(ErrorKind::kCorrupt, fmt::format("the bytes of {} are missing", name));
  }
  if (auto first = static_cast<uint8_t>(blob.front()); first != format) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("{} has format {}, and this release reads {}: the journal is damaged, "
                            "or a newer release wrote it",
                            name, first, format));
  }
  return blob.substr(1);
}

Result<engine::Record> DecodeRecord(int kind, std::string_view data) {
  if (kind < 1 || kind > kRecordKindLast) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("record kind {} is unknown: the journal is damaged, or a newer release "
                            "wrote it",
                            kind));
  }
  BareReader reader(TRY(FieldsIn("a record", kRecordFormat, data)));
  auto record = MakeAlternative<engine::Record>(static_cast<size_t>(kind));
  if (std::visit([&](auto& each) { return reader.Record(each); }, record)) return record;
  return Fail(ErrorKind::kCorrupt,
              fmt::format("the bytes of a '{}' record are damaged", RecordKindName(kind)));
}

uint32_t RecordChecksum(uint64_t seq, int kind, std::string_view data) {
  std::string head;
  ByteWriter(head).Fixed64(seq);
  ByteWriter(head).Byte(static_cast<uint8_t>(kind));
  uint64_t head_hash = XXH3_64bits(head.data(), head.size());
  return static_cast<uint32_t>(XXH3_64bits_withSeed(data.data(), data.size(), head_hash));
}

}  // namespace spate::store
