#include "base/enum_list.h"

#include <gtest/gtest.h>

namespace spate {
namespace {

SPATE_ENUM(Way,
    kPlain, "plain",  // first
    kOther, "another way");
struct Shape {
  SPATE_INNER_ENUM(Start, kNone, "", kEach, "each", kFirst, "first");
  Start start = Start::kEach;
};

TEST(EnumList, HasAWordForEachValue) {
  static_assert(static_cast<int>(Way::kOther) == 1 && kCountOf<Way> == 2);
  EXPECT_STREQ(WordOf(Way::kOther), "another way");
  EXPECT_STREQ(WordOf(Shape::Start::kNone), "");
  EXPECT_STREQ(WordOf(static_cast<Way>(2)), "?");
}

TEST(EnumList, HasAValueForEachWord) {
  EXPECT_EQ(FromWord<Way>("plain"), Way::kPlain);
  EXPECT_EQ(FromWord<Shape::Start>("first"), Shape::Start::kFirst);
  EXPECT_EQ(FromWord<Way>("firs"), std::nullopt);
}

enum class Code : uint8_t { kOne = 1, kTwo = 2 };  // without words
constexpr Code LastInBytes(Code) { return Code::kTwo; }
SPATE_ENUM(Stage, kQueued, "queued", kDone, "done", kShownOnly, "shown only");
constexpr Stage LastInBytes(Stage) { return Stage::kDone; }

TEST(EnumList, HasAValueForEachNumberOfOthers) {
  EXPECT_EQ(FromNumber<Way>(0u), Way::kPlain);
  EXPECT_EQ(FromNumber<Way>(uint8_t{1}), Way::kOther);
  EXPECT_EQ(FromNumber<Way>(2), std::nullopt);
  EXPECT_EQ(FromNumber<Way>(-1), std::nullopt);
  EXPECT_EQ(FromNumber<Way>(int64_t{-256}), std::nullopt);
  EXPECT_EQ(FromNumber<Way>(uint64_t{1} << 32), std::nullopt);
  EXPECT_EQ(FromNumber<Code>(2), Code::kTwo);
  EXPECT_EQ(FromNumber<Code>(3), std::nullopt);
  EXPECT_EQ(FromNumber<Stage>(1), Stage::kDone);
  EXPECT_EQ(FromNumber<Stage>(2), std::nullopt);
}

}  // namespace
}  // namespace spate
