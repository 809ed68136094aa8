#include "core/model/change.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/model/field_bytes.h"

namespace spate {
namespace {

struct Item {
  std::string name;
  uint32_t count = 0;
  SPATE_FIELDS(1, name, 2, count);
  friend bool operator==(const Item&, const Item&) = default;
};
struct Inner {
  uint32_t first = 1;
  std::string second = "second";
  std::vector<uint32_t> third = {1, 2};
  SPATE_FIELDS(1, first, 2, second, 3, third);
  friend bool operator==(const Inner&, const Inner&) = default;
};
struct Outer {
  uint32_t number = 7;
  std::string text = "text";
  std::optional<int32_t> maybe = 3;
  std::vector<std::string> texts = {"a", "b"};
  std::vector<Item> rows = {{"row", 1}};
  Duration time = Duration::Seconds(5);
  int umask = 18;
  Inner inner = {};
  Inner embedded = {};
  SPATE_FIELDS(1, number, 2, text, 3, maybe, 4, texts, 5, Columns(rows),  // and 6
               7, OrNever(time), 8, OneMore(umask), 9, inner, 10, embedded);
  Status CheckSound() const {
    return number < 100 ? Status() : Fail(ErrorKind::kInvalid, "the number is from 0 to 99");
  }
  friend bool operator==(const Outer&, const Outer&) = default;
};
using Change = ChangeOf<Outer>;

// The change as somebody else receives it.
Change Sent(const Change& change) {
  auto read = FromBytes<Change>("change", BytesOf(change), 100, Duration::Seconds(10));
  EXPECT_TRUE(read) << read.error().message;
  return read.value_or(Change());
}

TEST(Change, SetsZeroEmptyAndNone) {
  Change change;
  EXPECT_TRUE(change.empty());
  change.Set(change.values.number, 0);
  change.Set(change.values.text, "");
  change.Set(change.values.maybe, std::nullopt);
  change.Set(change.values.texts, {});
  change.Set(change.values.rows, {});
  change.Set(change.values.time, Duration());
  change.Set(change.values.umask, -1);
  change.Set(change.values.inner.second, "");
  change.Set(change.values.inner.third, {});
  auto changed = Sent(change).AppliedTo(Outer());
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(*changed, (Outer{.number = 0,
                             .text = "",
                             .maybe = std::nullopt,
                             .texts = {},
                             .rows = {},
                             .time = {},
                             .umask = -1,
                             .inner = {.first = 1, .second = "", .third = {}}}));
}

TEST(Change, WhatItDoesNotSetStays) {
  const Outer before{.number = 9, .text = "here", .rows = {{"x", 4}}, .inner = {5, "there", {}}};
  EXPECT_EQ(Sent(Change()).AppliedTo(before), before);
  Change change;
  change.Set(change.values.inner.first, 6);
  change.values.text = "a value alone sets nothing";
  Outer after = before;
  after.inner.first = 6;
  EXPECT_EQ(Sent(change).AppliedTo(before), after);
  EXPECT_EQ(change.fields, (std::vector<uint32_t>{9 + 256 * 1}));
  EXPECT_TRUE(change.Sets(change.values.inner));
  EXPECT_FALSE(change.Sets(change.values.embedded));
  EXPECT_EQ(change.Get(change.values.inner.first), 6u);
  EXPECT_EQ(change.Get(change.values.inner.second), std::nullopt);
}

TEST(Change, AFieldWithFieldsIsSetWhole) {
  auto change = Change().With<&Outer::inner>(Inner{8, "8", {}}).With<&Outer::number>(0u);
  EXPECT_EQ(Sent(change).AppliedTo(Outer()), (Outer{.number = 0, .inner = {8, "8", {}}}));
  EXPECT_EQ(change.fields.size(), 4u);
  change.Set(change.values.number, 1);
  EXPECT_EQ(change.fields.size(), 4u) << "each once";
}

TEST(Change, NeverIsFurtherThanOtherTimes) {
  auto change = Change().With<&Outer::time>(Duration::Max());
  EXPECT_EQ(Sent(change).AppliedTo(Outer()), (Outer{.time = Duration::Max()}));
  change.values.time = Duration::Max() - Duration{1};
  EXPECT_FALSE(FromBytes<Change>("change", BytesOf(change), 100, Duration::Seconds(10)));
}

TEST(Change, AFieldThatIsNotKnownIsRefused) {
  for (uint32_t number : {0u, 11u, 9u, 9u + 256 * 4, 1u + 256 * 1, 1u << 24}) {
    auto change = Change().With<&Outer::number>(3u);
    change.fields.push_back(number);
    auto changed = Sent(change).AppliedTo(Outer());
    ASSERT_FALSE(changed) << number;
    EXPECT_EQ(changed.error().kind, ErrorKind::kInvalid);
    EXPECT_TRUE(changed.error().message.contains("not known here"));
  }
}

TEST(Change, MoreFieldsThanThereAreAreNotLookedAt) {
  auto change = Change().With<&Outer::number>(3u);
  change.fields.resize(50, 1);
  Outer to;
  EXPECT_EQ(change.AssignTo(to), 0u);
  EXPECT_EQ(to, Outer());
  EXPECT_FALSE(change.AppliedTo(Outer()));
}

TEST(Change, OneThatIsNotSoundIsRefused) {
  auto change = Change().With<&Outer::number>(100u).With<&Outer::text>(std::string("new"));
  EXPECT_EQ(change.AppliedTo(Outer()).error().message, "the number is from 0 to 99");
}

}  // namespace
}  // namespace spate
