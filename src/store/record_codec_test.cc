#include "store/record_codec.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/prng.h"
#include "store/bytes.h"
#include "store/testing_fields.h"

namespace spate::store {
namespace {

engine::Record AnyRecord(Prng& prng, int kind) {
  auto record = MakeAlternative<engine::Record>(static_cast<size_t>(kind));
  std::visit([&](auto& each) { AnyFields(prng).Set(each); }, record);
  if (auto* held = std::get_if<engine::JobHeld>(&record)) {
    if (held->reason == HoldReason::kResults) held->reason = HoldReason::kNone;  // in no journal
  }
  return record;
}

TEST(RecordCodec, RoundTripOfEveryKind) {
  Prng prng(1);
  for (int kind = 1; kind <= kRecordKindLast; ++kind) {
    for (int i = 0; i < 300; ++i) {
      const engine::Record record = AnyRecord(prng, kind);
      EncodedRecord encoded = EncodeRecord(record);
      EXPECT_EQ(encoded.kind, kind);
      auto back = DecodeRecord(kind, encoded.data);
      ASSERT_TRUE(back) << RecordKindName(kind);
      ASSERT_EQ(TextOf(*back), TextOf(record)) << RecordKindName(kind);
    }
  }
}

TEST(RecordCodec, EveryPrefixAndEveryLongerBlobIsDamage) {
  EncodedRecord encoded = EncodeRecord(
      engine::Leased{NodeId(7), JobId(300), Attempt(2), {{.first = 1000, .count = 20}}});
  for (size_t n = 0; n < encoded.data.size(); ++n) {
    auto back = DecodeRecord(encoded.kind, encoded.data.substr(0, n));
    ASSERT_FALSE(back.has_value()) << n;
    EXPECT_EQ(back.error().kind, ErrorKind::kCorrupt);
  }
  EXPECT_FALSE(DecodeRecord(encoded.kind, encoded.data + '\0').has_value());
}

TEST(RecordCodec, GarbageNeverGetsThrough) {
  EXPECT_TRUE(rc::check("garbage", [] {
    auto kind = *rc::gen::inRange<int>(-1, kRecordKindLast + 3);
    auto bytes = *rc::gen::container<std::string>(rc::gen::weightedOneOf<char>(
        {{3, rc::gen::arbitrary<char>()}, {2, rc::gen::inRange<char>(0, 4)}}));
    if (*rc::gen::inRange(0, 4) > 0) {
      bytes.insert(0, 1, static_cast<char>(kRecordFormat));
    }
    auto record = DecodeRecord(kind, bytes);
    if (!record) {
      RC_ASSERT(record.error().kind == ErrorKind::kCorrupt);
      return;
    }
    // A decoded record decodes again in the same way.
    auto again = DecodeRecord(kind, EncodeRecord(*record).data);
    RC_ASSERT(again.has_value());
    RC_ASSERT(TextOf(*again) == TextOf(*record));
  }));
}

TEST(RecordCodec, HugeCountsDoNotAllocate) {
  std::string data(1, static_cast<char>(kRecordFormat));
  ByteWriter writer(data);
  for (int i = 0; i < 3; ++i) writer.Varint(1);
  writer.Varint(UINT64_MAX);  // ranges
  EXPECT_FALSE(DecodeRecord(kKindOf<engine::Leased>, data).has_value());
}

TEST(RecordCodec, ErrorsSayWhatIsWrong) {
  auto message = [](int kind, std::string data) {
    auto record = DecodeRecord(kind, data);
    return record ? "fine" : record.error().message;
  };
  EXPECT_NE(message(99, "\1").find("record kind 99"), std::string::npos);
  EXPECT_NE(message(3, "\2\1").find("format 2"), std::string::npos);
  EXPECT_NE(message(3, "\1\1\1").find("'job sealed'"), std::string::npos);
  EXPECT_EQ(message(3, "\1\1"), "fine");
}

TEST(RecordCodec, BytesAreFixed) {
  engine::Leased leased{NodeId(1), JobId(300), Attempt(2), {{.first = 5, .count = 128}}};
  EXPECT_EQ(EncodeRecord(leased).data, std::string("\1\1\xac\2\2\1\5\x80\1", 9));
  JobPlan plan = {.task_count = 3,
                  .requests = {Needs{.named = {{"gpus", 1}}, .labels = {"a"}}},
                  .runs = {{0, 3, 0}},
                  .order = {2, 1, 0},
                  .policy = {},
                  .user = "bob",
                  .priority = -1,
                  .after = {{JobId(7), AfterKind::kEach}}};
  const std::string needs = std::string(
      "\1\1\3\0\1\xe8\7\0\1\4gpus\1"
      "\0\1\1"
      "a\0\0",
      21);
  const std::string rest = std::string(
      "\1\0\3\0\3\2\1\0"                            // runs, order
      "\0\xfe\5\0\0\0\0\0\0\0\0\0\x64\0\0\0\0\0\3"  // policy
      "bob\1\1\7\3",
      34);
  auto read = [](const std::string& data) {
    auto record = DecodeRecord(kKindOf<engine::JobAccepted>, data);
    EXPECT_TRUE(record.has_value()) << record.error().message;
    return std::get<engine::JobAccepted>(*record);
  };
  std::string now = needs + std::string(8, '\0') + rest;  // a class that has needs alone
  EXPECT_EQ(EncodeRecord(engine::JobAccepted{JobId(1), plan}).data, now);
  EXPECT_EQ(FieldText(read(now)), FieldText(engine::JobAccepted{JobId(1), plan}));
  plan.requests[0].priority = -2;
  plan.requests[0].retries = 2;
  plan.requests[0].gang = {
      .procs = 8, .nodes = 4, .whole = true, .start = GangShape::Start::kFirst};
  plan.requests[0].deadline = Instant{1};
  plan.requests[0].bound = BoundBy::kNetwork;
  now = needs + "\3\3" + "\x8\4\1\2\1\2\3" + rest;
  EXPECT_EQ(EncodeRecord(engine::JobAccepted{JobId(1), plan}).data, now);
  EXPECT_EQ(FieldText(read(now)), FieldText(engine::JobAccepted{JobId(1), plan}));
  engine::NodeBlamed blamed{NodeId(2), {{JobId(300), "bob"}, {JobId(7), ""}}};
  engine::UserChanged user{"bob", {.weight = 3, .group = "@lab"}};
  EXPECT_EQ(EncodeRecord(user).data, std::string("\1\3bob\3\0\0\0\4@lab\0", 15));
  EXPECT_EQ(EncodeRecord(blamed).data, std::string("\1\2\2\xac\2\3bob\7\0", 11));
}

// Journals have these numbers and names.
TEST(RecordCodec, KindsAreThePlacesOfTheirTypes) {
  EXPECT_EQ(kKindOf<engine::JobAccepted>, 1);
  EXPECT_EQ(kKindOf<engine::Leased>, 9);
  EXPECT_EQ(kKindOf<engine::JobFinished>, 11);
  EXPECT_EQ(kKindOf<engine::ClockStepped>, 30);
  EXPECT_EQ(RecordKindName(1), "job accepted");
  EXPECT_EQ(RecordKindName(5), "withdrawn");
  EXPECT_EQ(RecordKindName(0), "?");
  EXPECT_EQ(RecordKindName(kRecordKindLast + 1), "?");
}

// Fields that came later end a record, and are left out from the end while they say nothing.
TEST(RecordCodec, LaterFieldsAreLeftOut) {
  auto bytes_of = [](const engine::Record& record) {
    EncodedRecord encoded = EncodeRecord(record);
    auto back = DecodeRecord(encoded.kind, encoded.data);
    EXPECT_TRUE(back && TextOf(*back) == TextOf(record)) << TextOf(record);
    return encoded.data;
  };
  const std::vector<TaskRange> tasks = {{4, 2}};
  engine::TasksWithdrawn withdrawn{JobId(1), tasks, "r"};
  const std::string first("\1\1\1\4\2\1r", 7);
  EXPECT_EQ(bytes_of(withdrawn), first);
  withdrawn.left_list = true;
  EXPECT_EQ(bytes_of(withdrawn), first + std::string("\0\1", 2));
  withdrawn.parent = 0;
  EXPECT_EQ(bytes_of(withdrawn), first + "\1\1");
  withdrawn.left_list = false;
  EXPECT_EQ(bytes_of(withdrawn), first + "\1");
  engine::TasksReopened reopened{JobId(1), tasks};
  EXPECT_EQ(bytes_of(reopened), "\1\1\1\4\2");
  reopened.succeeded = true;
  EXPECT_EQ(bytes_of(reopened), std::string("\1\1\1\4\2\0\1", 7));
  reopened.after = {{JobId(7), AfterKind::kEach}};
  EXPECT_EQ(bytes_of(reopened), "\1\1\1\4\2\1\7\3\1");
  EXPECT_EQ(bytes_of(engine::NodeDrained{NodeId(2)}), "\1\2");
  EXPECT_EQ(bytes_of(engine::NodeDrained{NodeId(2), "x"}), "\1\2\1x");
  EXPECT_FALSE(DecodeRecord(kKindOf<engine::TasksReopened>, "\1\1").has_value());
}

// A value that no journal has is damage.
TEST(RecordCodec, JobsHeldForTheirResultsAreInNoJournal) {
  const int kind = kKindOf<engine::JobHeld>;
  EXPECT_TRUE(DecodeRecord(kind, std::string("\1\1\5\0", 4)).has_value());
  EXPECT_FALSE(DecodeRecord(kind, std::string("\1\1\6\0", 4)).has_value());
}

TEST(RecordCodec, ChecksumCoversAllOfIt) {
  uint32_t sum = RecordChecksum(5, 9, "abc");
  EXPECT_EQ(sum, RecordChecksum(5, 9, "abc"));
  EXPECT_NE(sum, RecordChecksum(6, 9, "abc"));
  EXPECT_NE(sum, RecordChecksum(5, 8, "abc"));
  EXPECT_NE(sum, RecordChecksum(5, 9, "abd"));
}

TEST(Bytes, SignedNumbers) {
  for (int64_t v : {int64_t{0}, int64_t{-1}, int64_t{1}, INT64_MIN, INT64_MAX, int64_t{-64}}) {
    std::string bytes;
    ByteWriter(bytes).Zigzag(v);
    ByteReader reader(bytes);
    EXPECT_EQ(reader.Zigzag(), v);
    EXPECT_TRUE(reader.ok());
  }
  ByteReader overlong("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
  EXPECT_EQ(overlong.Varint(), 0u);
  EXPECT_FALSE(overlong.ok());
}

}  // namespace
}  // namespace spate::store
