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
  static_assert(kLastOf<Shape::Start> == Shape::Start::kFirst);
  EXPECT_STREQ(WordOf(Way::kOther), "another way");
  EXPECT_STREQ(WordOf(Shape::Start::kNone), "");
  EXPECT_STREQ(WordOf(static_cast<Way>(2)), "?");
}

TEST(EnumList, HasAValueForEachWord) {
  EXPECT_EQ(FromWord<Way>("plain"), Way::kPlain);
  EXPECT_EQ(FromWord<Shape::Start>("first"), Shape::Start::kFirst);
  EXPECT_EQ(FromWord<Way>("firs"), std::nullopt);
}

}  // namespace
}  // namespace spate
