#include "store/pool_codec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <concepts>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/prng.h"
#include "core/model/fields.h"

namespace spate::store {
namespace {

using provision::Record;

// Gives each field any value of its type.
class AnyFields {
 public:
  explicit AnyFields(Prng& prng) : prng_(prng) {}

  template <typename T>
  void operator()(unsigned, std::string_view, T& value) {
    Set(value);
  }
  template <HasFields T>
  void Set(T& value) {
    T::Fields(value, *this);
  }

 private:
  template <std::integral T>
  void Set(T& value) {
    value = static_cast<T>(prng_.Next() >> prng_.Below(64));
  }
  void Set(bool& value) { value = prng_.Chance(50); }
  template <typename E>
    requires std::is_enum_v<E>
  void Set(E& value) {
    value = static_cast<E>(prng_.Below(static_cast<uint64_t>(kLastOf<E>) + 1));
  }
  template <typename Tag, typename Rep>
  void Set(Id<Tag, Rep>& value) {
    Set(value.value);
  }
  void Set(Duration& value) { value.ns = static_cast<int64_t>(prng_.Next() >> 1); }
  void Set(Instant& value) { Set(value.ns); }
  void Set(std::string& value) {
    value.resize(prng_.Below(200));
    for (char& c : value) c = static_cast<char>(prng_.Below(256));
  }
  template <typename T>
  void Set(std::optional<T>& value) {
    value.reset();
    if (prng_.Chance(70)) Set(value.emplace());
  }
  template <typename T>
  void Set(std::vector<T>& value) {
    value.resize(prng_.Below(5));
    for (T& each : value) Set(each);
  }

  Prng& prng_;
};

// All values of a record as text, in the order of its fields.
class FieldTexts {
 public:
  template <typename T>
  void operator()(unsigned, std::string_view, const T& value) {
    Add(value);
  }
  std::string Take() { return std::move(text_); }
  template <HasFields T>
  void Add(const T& value) {
    T::Fields(value, *this);
  }

 private:
  template <typename T>
    requires std::integral<T> || std::is_enum_v<T>
  void Add(T value) {
    text_ += fmt::format("{},", static_cast<int64_t>(value));
  }
  template <typename Tag, typename Rep>
  void Add(Id<Tag, Rep> value) {
    Add(value.value);
  }
  void Add(Duration value) { Add(value.ns); }
  void Add(Instant value) { Add(value.ns); }
  void Add(const std::string& value) { text_ += fmt::format("{}:{},", value.size(), value); }
  template <typename T>
  void Add(const std::optional<T>& value) {
    text_ += value ? "some," : "none,";
    if (value) Add(*value);
  }
  template <typename T>
  void Add(const std::vector<T>& value) {
    Add(value.size());
    for (const T& each : value) Add(each);
  }

  std::string text_;
};

std::string TextOf(const Record& record) {
  FieldTexts texts;
  std::visit([&](const auto& each) { texts.Add(each); }, record);
  return texts.Take();
}

template <size_t... places>
std::vector<Record> OneOfEach(std::index_sequence<places...>) {
  return {Record(std::in_place_index<places>)...};
}
std::vector<Record> OneOfEach() {
  return OneOfEach(std::make_index_sequence<std::variant_size_v<Record>>());
}

TEST(PoolCodec, RoundTripOfEveryKind) {
  Prng prng(1);
  for (Record record : OneOfEach()) {
    for (int i = 0; i < 300; ++i) {
      std::visit([&](auto& each) { AnyFields(prng).Set(each); }, record);
      EncodedPoolRecord encoded = EncodePoolRecord(record);
      EXPECT_EQ(static_cast<size_t>(encoded.kind), record.index() + 1);
      auto back = DecodePoolRecord(static_cast<int>(encoded.kind), encoded.data);
      ASSERT_TRUE(back) << back.error().message;
      ASSERT_EQ(TextOf(*back), TextOf(record)) << "kind " << static_cast<int>(encoded.kind);
    }
  }
}

// The example of docs/formats/journal.md.
TEST(PoolCodec, BytesStayWhatTheyWere) {
  EncodedPoolRecord encoded =
      EncodePoolRecord(provision::PilotSubmitted{provision::PilotId(300), "17"});
  EXPECT_EQ(encoded.kind, PoolRecordKind::kPilotSubmitted);
  EXPECT_EQ(encoded.data,
            "\x01\x08\xac\x02\x12\x02"
            "17");
}

TEST(PoolCodec, DamageIsTold) {
  auto error_of = [](int kind, std::string_view data) {
    auto record = DecodePoolRecord(kind, data);
    return record ? std::string() : record.error().message;
  };
  EXPECT_NE(error_of(0, "\x01").find("unknown kind"), std::string::npos);
  EXPECT_NE(error_of(kPoolRecordKindLast + 1, "\x01").find("unknown kind"), std::string::npos);
  EXPECT_NE(error_of(1, "").find("missing"), std::string::npos);
  EXPECT_NE(error_of(2, "\x02\x08\x01").find("format 2"), std::string::npos);
  EXPECT_NE(error_of(2, "\x01\x08").find("cut off"), std::string::npos);
  Prng prng(2);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(1 + prng.Below(60), kPoolFormat);
    for (char& c : bytes) c = &c == bytes.data() ? kPoolFormat : static_cast<char>(prng.Below(256));
    (void)DecodePoolRecord(1 + static_cast<int>(prng.Below(kPoolRecordKindLast)), bytes);
  }
}

TEST(PoolCodec, APilotsRecordIsOfItsPool) {
  using provision::PilotId, provision::PoolId;
  PoolOfRecord pool_of;
  EXPECT_EQ(pool_of.Of(provision::PoolClosed{PoolId(3)}), PoolId(3));
  EXPECT_EQ(pool_of.Of(provision::PilotIntended{PoolId(2), PilotId(7), {}}), PoolId(2));
  EXPECT_EQ(pool_of.Of(provision::PilotSubmitted{PilotId(7), "1"}), PoolId(2));
  EXPECT_EQ(pool_of.Of(provision::PilotEnded{.pilot = PilotId(7)}), PoolId(2));
  EXPECT_EQ(pool_of.Of(provision::PilotSubmitted{PilotId(7), "1"}), PoolId(0)) << "it is gone";
  EXPECT_EQ(pool_of.Of(provision::PilotKept{.pilot = PilotId(9), .pool = PoolId(4)}), PoolId(4));
  EXPECT_EQ(pool_of.Of(provision::PilotJoined{.pilot = PilotId(9)}), PoolId(4));
}

}  // namespace
}  // namespace spate::store
