#include "wire/field_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "base/enum_list.h"

namespace spate::wire {
namespace {

SPATE_ENUM(Colour, kRed, "red", kGreen, "green");

struct Inner {
  uint32_t number = 7;
  std::vector<std::string> texts;
  SPATE_FIELDS(1, number, 2, texts);
  friend bool operator==(const Inner&, const Inner&) = default;
};

struct All {
  bool flag = false;
  uint8_t small = 0;
  int32_t sign = 0;
  uint64_t large = 0;
  double part = 0;
  Colour colour = Colour::kRed;
  std::string text;
  JobId job;
  Duration time;
  Instant when;
  Inner inner;
  std::optional<uint32_t> maybe;
  std::vector<Inner> list;
  std::optional<std::vector<std::string>> maybe_list;
  SPATE_FIELDS(1, flag, 2, small, 3, sign, 4, large, 5, part, 6, colour, 7, text, 8, job, 9, time,
               10, when, 11, inner, 12, maybe, 13, list, 300, maybe_list);
  friend bool operator==(const All&, const All&) = default;
};

All Some() {
  All all{.flag = true,
          .small = 255,
          .sign = std::numeric_limits<int32_t>::min(),
          .large = UINT64_MAX,
          .part = -0.1,
          .colour = Colour::kGreen,
          .text = std::string("a\0\xff", 3),
          .job = JobId(12),
          .time = Duration{1},
          .when = Instant::Never()};
  all.inner = {0, {"", "x"}};
  all.maybe = 0;
  all.list = {Inner(), {1, {}}};
  all.maybe_list.emplace();
  return all;
}

TEST(FieldBytes, ComeBackTheSame) {
  for (const All& all : {Some(), All()}) {
    auto back = FromBytes<All>("all", BytesOf(all));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, all);
  }
}

// The bytes are protobuf's: field 1 as a varint is 08, field 2 as a length 12.
TEST(FieldBytes, AreThoseOfProtobuf) {
  EXPECT_EQ(BytesOf(Inner{150, {"testing"}}), "\x08\x96\x01\x12\x0c\x0a\x01\x07\x12\x07testing");
}

struct Pair {
  uint32_t first = 0;
  int32_t second = 0;
  SPATE_FIELDS(1, first, 2, second);
  friend bool operator==(const Pair&, const Pair&) = default;
};
struct Shapes {
  std::vector<int32_t> numbers;
  std::vector<Pair> pairs;
  std::vector<Pair> columns;
  std::shared_ptr<const Inner> inner;
  Pair last;
  bool flag = true;
  SPATE_MESSAGE(1, numbers, 2, Packed(pairs), 3, Columns(columns),  // and 4
                5, inner, 6, Embed(last),  // and 7
                8, flag);
};

TEST(FieldBytes, ListsOfNumbersArePacked) {
  const Shapes shapes{.numbers = {-1, 300},
                      .pairs = {{1, -1}, {2, 0}},
                      .columns = {{5, 0}, {6, -2}},
                      .inner = std::make_shared<const Inner>(Inner{0, {}}),
                      .last = {9, 0},
                      .flag = false};
  const std::string bytes(
      "\x0a\x03\x01\xd8\x04\x12\x04\x01\x01\x02\x00\x1a\x02\x05\x06\x22\x02\x00\x03"
      "\x2a\x02\x08\x00\x30\x09",
      25);
  EXPECT_EQ(BytesOf(shapes), bytes);
  auto back = FromBytes<Shapes>("shapes", bytes);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->numbers, shapes.numbers);
  EXPECT_EQ(back->pairs, shapes.pairs);
  EXPECT_EQ(back->columns, shapes.columns);
  EXPECT_EQ(*back->inner, *shapes.inner);
  EXPECT_EQ(back->last, shapes.last);
  EXPECT_FALSE(back->flag) << "a message means zero by what it leaves out";
  // Other programs may write them so.
  EXPECT_EQ(FromBytes<Shapes>("shapes", "\x08\x01\x0a\x01\x03")->numbers,
            (std::vector<int32_t>{-1, -2}));
}

TEST(FieldBytes, WhatIsNoListComesOnce) {
  auto error_of = [](std::string_view bytes) {
    return FromBytes<Shapes>("shapes", bytes).error().message;
  };
  EXPECT_EQ(error_of("\x12\x01\x05"), "shapes: pairs has half a pair");
  EXPECT_EQ(error_of("\x12\x02\x05\x05\x12\x02\x05\x05"), "shapes: pairs occurs twice");
  EXPECT_EQ(error_of("\x30\x09\x30\x09"), "shapes: first occurs twice");
  EXPECT_EQ(error_of("\x1a\x01\x05"), "shapes: columns is not one for each");
  EXPECT_EQ(error_of("\x0a\x01\xff"), "shapes: numbers is cut off");
}

// Fields of a newer program are skipped, and what an older one does not send stays as it is.
TEST(FieldBytes, OtherVersionsAreUnderstood) {
  std::string newer = BytesOf(Inner{1, {"x"}}) +
                      "\xf8\x01\x05"
                      "\xfa\x01\x02hi"
                      "\xf9\x01"
                      "12345678";
  auto back = FromBytes<Inner>("inner", newer);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, (Inner{1, {"x"}}));
  EXPECT_EQ(*FromBytes<Inner>("inner", ""), Inner());
}

TEST(FieldBytes, DamageIsTold) {
  std::string good = BytesOf(Some());
  for (size_t size = 0; size < good.size(); ++size) {
    (void)FromBytes<All>("all", good.substr(0, size));  // none is read beyond its end
  }
  auto error_of = [](std::string_view bytes) {
    return FromBytes<All>("all", bytes).error().message;
  };
  EXPECT_EQ(error_of("\x08"), "all: the message is cut off");
  EXPECT_EQ(error_of("\x10\x80\x02"), "all: small is out of range");
  EXPECT_EQ(error_of("\x30\x02"), "all: colour is out of range");
  EXPECT_EQ(error_of("\x3a\x05hi"), "all: the message is cut off");
  EXPECT_EQ(error_of("\x38\x01"), "all: text is of another type");
  EXPECT_EQ(error_of("\x48" + std::string(8, '\xff') + "\x7f"), "all: time is out of range");
  EXPECT_EQ(error_of("\x5a\x01\x08"), "all: the message is cut off");
  EXPECT_EQ(error_of(std::string("\x00\x00", 2)), "all: the message is cut off");
  EXPECT_EQ(error_of(std::string(10, '\xff') + '\x01'), "all: the message is cut off");
}

// An empty element takes two bytes here and some hundred in memory.
TEST(FieldBytes, AMessageHasAnEndInMemory) {
  std::string bytes;
  for (uint32_t i = 0; i <= kMostElements; ++i) bytes += std::string_view("\x6a\0", 2);
  EXPECT_EQ(FromBytes<All>("all", bytes).error().message, "all: list makes the message too long");
  bytes.resize(bytes.size() - 2);
  EXPECT_TRUE(FromBytes<All>("all", bytes));
}

// A list that comes in many parts is not copied for each.
TEST(FieldBytes, AListInManyPartsGrowsByMoreThanOne) {
  constexpr size_t kParts = 1'000;
  std::string bytes;
  for (size_t i = 0; i < kParts; ++i) bytes += "\x0a\x01\x02";
  auto shapes = FromBytes<Shapes>("shapes", bytes);
  ASSERT_TRUE(shapes) << shapes.error().message;
  EXPECT_EQ(shapes->numbers, std::vector<int32_t>(kParts, 1));
  EXPECT_GT(shapes->numbers.capacity(), kParts);
}

}  // namespace
}  // namespace spate::wire
