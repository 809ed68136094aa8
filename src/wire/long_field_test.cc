#include "wire/long_field.h"

#include <gtest/gtest.h>
#include <wire/spate.pb.h>

namespace spate::wire {
namespace {

using namespace std::literals;

constexpr uint32_t kNumber = pb::OutputPiece::kBytesFieldNumber;

pb::OutputPiece Piece(std::string bytes) {
  pb::OutputPiece piece;
  piece.mutable_ref()->set_job(7);
  piece.set_stream(300);
  piece.set_offset(uint64_t{1} << 60);
  piece.set_bytes(std::move(bytes));
  return piece;
}

TEST(LongField, IsCutOutWhereverItIs) {
  for (size_t size : {0u, 1u, 127u, 128u, 100'000u}) {
    const std::string bytes(size, 'x');
    const std::string rest = Piece("").SerializeAsString();
    std::string field;
    if (size > 0) AppendFieldHead(field, kNumber, size);
    field += bytes;
    EXPECT_EQ(rest + field, Piece(bytes).SerializeAsString());
    if (size > 0) EXPECT_EQ(FieldHeadSize(kNumber, size) + size, field.size());
    for (const std::string& message : {rest + field, field + rest}) {
      auto cut = CutLongField(message, kNumber);
      ASSERT_TRUE(cut.has_value());
      EXPECT_EQ(cut->bytes, bytes);
      EXPECT_EQ(cut->rest, rest);
    }
    EXPECT_EQ(OnlyField(rest + field, kNumber), std::nullopt);
    if (size > 0) EXPECT_EQ(OnlyField(field, kNumber), bytes);
    if (size > 0) EXPECT_EQ(OnlyField(field + rest, kNumber), std::nullopt);
  }
}

TEST(LongField, WhatIsNoFieldIsRefused) {
  const std::string good = Piece("abc").SerializeAsString();
  for (size_t size = 1; size < good.size(); ++size) {
    auto cut = CutLongField(std::string_view(good).substr(0, size), kNumber);
    if (cut) EXPECT_EQ(cut->bytes, "") << size;
  }
  for (std::string_view bad :
       {"\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv, "\x23"sv, "\x22\x01"sv, "\x0d\0\0\0"sv,
        "\x09\0"sv, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"sv, "\x22\x01x\x22\x01y"sv}) {
    EXPECT_FALSE(CutLongField(bad, kNumber).has_value());
    EXPECT_EQ(OnlyField(bad, kNumber), std::nullopt);
  }
}

}  // namespace
}  // namespace spate::wire
