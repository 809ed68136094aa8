// A blob is a byte with the format, and the bytes of the record's fields
// (core/model/field_bytes.h).
#include "store/pool_codec.h"

#include <fmt/format.h>

#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/model/field_bytes.h"

namespace spate::store {
namespace {

using provision::Record;

template <typename T, PoolRecordKind kind>
constexpr bool kIs =
    std::is_same_v<std::variant_alternative_t<static_cast<size_t>(kind) - 1, Record>, T>;

static_assert(kIs<provision::PoolChanged, PoolRecordKind::kPoolChanged>);
static_assert(kIs<provision::PoolClosed, PoolRecordKind::kPoolClosed>);
static_assert(kIs<provision::PoolForgotten, PoolRecordKind::kPoolForgotten>);
static_assert(kIs<provision::PoolPaused, PoolRecordKind::kPoolPaused>);
static_assert(kIs<provision::PoolResumed, PoolRecordKind::kPoolResumed>);
static_assert(kIs<provision::PoolLearned, PoolRecordKind::kPoolLearned>);
static_assert(kIs<provision::PilotIntended, PoolRecordKind::kPilotIntended>);
static_assert(kIs<provision::PilotSubmitted, PoolRecordKind::kPilotSubmitted>);
static_assert(kIs<provision::PilotJoined, PoolRecordKind::kPilotJoined>);
static_assert(kIs<provision::PilotUnwanted, PoolRecordKind::kPilotUnwanted>);
static_assert(kIs<provision::PilotEnded, PoolRecordKind::kPilotEnded>);
static_assert(kIs<provision::NumbersKept, PoolRecordKind::kNumbersKept>);
static_assert(kIs<provision::PoolKept, PoolRecordKind::kPoolKept>);
static_assert(kIs<provision::PilotKept, PoolRecordKind::kPilotKept>);
static_assert(kIs<provision::PilotQueuedAgain, PoolRecordKind::kPilotQueuedAgain>);
static_assert(std::variant_size_v<Record> == kPoolRecordKindLast);

template <typename T>
Result<Record> DecodeAs(std::string_view bytes) {
  auto record = TRY(FromBytes<T>("a record of a pool", bytes, std::numeric_limits<uint32_t>::max(),
                                 Duration::Max()));
  return Record(std::move(record));
}

template <size_t... places>
Result<Record> DecodeAt(size_t place, std::string_view bytes, std::index_sequence<places...>) {
  using Decode = Result<Record> (*)(std::string_view);
  constexpr Decode kDecoders[] = {DecodeAs<std::variant_alternative_t<places, Record>>...};
  return kDecoders[place](bytes);
}

}  // namespace

EncodedPoolRecord EncodePoolRecord(const Record& record) {
  EncodedPoolRecord encoded;
  encoded.kind = static_cast<PoolRecordKind>(record.index() + 1);
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
  if (data.empty()) return Fail(ErrorKind::kCorrupt, "the bytes of a pool's record are missing");
  auto format = static_cast<uint8_t>(data.front());
  if (format != kPoolFormat) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("a pool's record has format {}, and this release reads {}: the journal "
                            "is damaged, or a newer release wrote it",
                            format, kPoolFormat));
  }
  return DecodeAt(static_cast<size_t>(kind) - 1, data.substr(1),
                  std::make_index_sequence<std::variant_size_v<Record>>());
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
