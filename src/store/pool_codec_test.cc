#include "store/pool_codec.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "store/testing_fields.h"

namespace spate::store {
namespace {

using provision::Record;

TEST(PoolCodec, RoundTripOfEveryKind) {
  Prng prng(1);
  for (size_t place = 0; place < std::variant_size_v<Record>; ++place) {
    auto record = MakeAlternative<Record>(place);
    for (int i = 0; i < 300; ++i) {
      std::visit([&](auto& each) { AnyFields(prng).Set(each); }, record);
      EncodedRecord encoded = EncodePoolRecord(record);
      EXPECT_EQ(encoded.kind, static_cast<int>(place) + 1);
      auto back = DecodePoolRecord(encoded.kind, encoded.data);
      ASSERT_TRUE(back) << back.error().message;
      ASSERT_EQ(TextOf(*back), TextOf(record)) << "kind " << encoded.kind;
    }
  }
}

// The example of docs/formats/journal.md.
TEST(PoolCodec, BytesStayWhatTheyWere) {
  EncodedRecord encoded =
      EncodePoolRecord(provision::PilotSubmitted{provision::PilotId(300), "17"});
  EXPECT_EQ(encoded.kind, 8);
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
