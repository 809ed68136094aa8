// A blob is a byte with the format, and the bytes of the record's fields
// (core/model/field_bytes.h).
#include "store/pool_codec.h"

#include <fmt/format.h>

#include <limits>
#include <type_traits>

#include "base/alternatives.h"
#include "core/model/field_bytes.h"

namespace spate::store {

using provision::Record;

EncodedRecord EncodePoolRecord(const Record& record) {
  EncodedRecord encoded{.kind = static_cast<int>(record.index()) + 1, .data = {}};
  encoded.data.push_back(static_cast<char>(kPoolFormat));
  std::visit([&](const auto& each) { AppendBytes(encoded.data, each); }, record);
  return encoded;
}

Result<Record> DecodePoolRecord(int kind, std::string_view data) {
  if (kind < 1 || kind > kPoolRecordKindLast) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("a pool's record has the unknown kind {}: the journal is damaged, or a "
                            "newer release wrote it",
                            kind));
  }
  auto bytes = TRY(FieldsIn("a pool's record", kPoolFormat, data));
  auto record = MakeAlternative<Record>(static_cast<size_t>(kind) - 1);
  TRY(std::visit(
      [&]<typename T>(T& each) -> Status {
        each = TRY(FromBytes<T>("a record of a pool", bytes, std::numeric_limits<uint32_t>::max(),
                                Duration::Max()));
        return {};
      },
      record));
  return record;
}

provision::PoolId PoolOfRecord::Of(const Record& record) {
  return std::visit(
      [this](const auto& each) -> provision::PoolId {
        using T = std::decay_t<decltype(each)>;
        if constexpr (requires { each.pool; }) {
          if constexpr (requires { each.pilot; }) pools_[each.pilot] = each.pool;
          return each.pool;
        } else if constexpr (requires { each.pilot; }) {
          auto at = pools_.find(each.pilot);
          if (at == pools_.end()) return {};
          provision::PoolId pool = at->second;
          if constexpr (std::is_same_v<T, provision::PilotEnded>) pools_.erase(at);
          return pool;
        } else {
          return {};
        }
      },
      record);
}

}  // namespace spate::store
