#include "wire/frame.h"

#include <gtest/gtest.h>

#include <vector>

namespace spate::wire {
namespace {

using namespace std::literals;

std::string FrameOf(FrameType type, std::string_view message) {
  std::string out;
  EXPECT_TRUE(AppendFrame(out, type, [&](std::string& to) { to += message; }));
  return out;
}

struct Got {
  FrameType type;
  std::string message;
  friend bool operator==(const Got&, const Got&) = default;
};

// All frames that are there now; an error ends the test.
void TakeAll(FrameReader& reader, std::vector<Got>& got) {
  while (true) {
    auto frame = reader.Next();
    ASSERT_TRUE(frame.has_value()) << frame.error().message;
    if (!*frame) return;
    got.push_back({(*frame)->type, std::string((*frame)->message)});
  }
}

TEST(Frame, BytesAreFixed) {
  EXPECT_EQ(FrameOf(FrameType::kToHub, "hi"), "\3\0\0\0\6hi"s);
  EXPECT_EQ(FrameOf(FrameType::kHeartbeat, ""), "\1\0\0\0\4"s);
}

TEST(Frame, CutAtEveryByte) {
  const std::vector<Got> sent = {{FrameType::kGreeting, "hello"},
                                 {FrameType::kHeartbeat, ""},
                                 {FrameType::kToHub, std::string(300, 'x')},
                                 {FrameType::kOutputPiece, "\0\1\2"s}};
  std::string stream;
  for (const Got& each : sent) stream += FrameOf(each.type, each.message);
  for (size_t first = 0; first <= stream.size(); ++first) {
    for (size_t second : {first, first + 1, first + 5, stream.size()}) {
      if (second > stream.size()) continue;
      FrameReader reader;
      std::vector<Got> got;
      for (auto [from, to] :
           {std::pair(size_t{0}, first), {first, second}, {second, stream.size()}}) {
        reader.Feed(std::string_view(stream).substr(from, to - from));
        TakeAll(reader, got);
      }
      ASSERT_EQ(got, sent) << first << " " << second;
      ASSERT_EQ(reader.pending(), 0u);
    }
  }
  FrameReader reader;
  std::vector<Got> got;
  for (char byte : stream) {
    reader.Feed({&byte, 1});
    TakeAll(reader, got);
  }
  EXPECT_EQ(got, sent);
}

TEST(Frame, WhatMayNotBeIsAnErrorForGood) {
  struct Case {
    std::string bytes;
    const char* error;
  };
  const Case cases[] = {
      {"\0\0\0\0"s, "a frame of 0 bytes, where 1 to 16384 may come"},
      {"\1\x40\0\0"s, "a frame of 16385 bytes, where 1 to 16384 may come"},
      {"\xff\xff\xff\xff"s, "a frame of 4294967295 bytes, where 1 to 16384 may come"},
      {"GET / HTTP/1.1\r\n"s, "a frame of 542393671 bytes, where 1 to 16384 may come"},
      {"\1\0\0\0\0"s, "a frame of the unknown type 0"},
      {"\1\0\0\0\x0a"s, "a frame of the unknown type 10"},
  };
  for (const Case& each : cases) {
    FrameReader reader;
    // The good frame before it is still given out.
    reader.Feed(FrameOf(FrameType::kHeartbeat, "") + each.bytes);
    EXPECT_TRUE(reader.Next().value().has_value());
    for (int i = 0; i < 2; ++i) {
      auto frame = reader.Next();
      ASSERT_FALSE(frame.has_value()) << each.error;
      EXPECT_EQ(frame.error().message, each.error);
      reader.Feed(FrameOf(FrameType::kHeartbeat, ""));
    }
  }
}

TEST(Frame, AnAcceptedPeerMaySendMore) {
  std::string long_frame = FrameOf(FrameType::kToHub, std::string(kMaxFrame - 1, 'x'));
  FrameReader reader;
  reader.Feed(std::string_view(long_frame).substr(0, 100));
  EXPECT_FALSE(reader.Next().has_value());
  reader.Accept();
  EXPECT_EQ(reader.Next().value(), std::nullopt);
  reader.Feed(std::string_view(long_frame).substr(100));
  EXPECT_EQ(reader.Next().value()->message.size(), kMaxFrame - 1);

  FrameReader other;
  other.Accept();
  other.Feed("\1\0\0\1\6"s);  // one byte more
  EXPECT_FALSE(other.Next().has_value());
}

TEST(Frame, OneThatIsTooLongIsNotWritten) {
  std::string out = "before";
  EXPECT_FALSE(
      AppendFrame(out, FrameType::kToNode, [](std::string& to) { to.append(kMaxFrame, 'x'); }));
  EXPECT_EQ(out, "before");
}

TEST(Frame, NothingIsAllocatedForWhatIsOnlyAnnounced) {
  FrameReader reader;
  reader.Accept();
  reader.Feed("\0\0\0\1\6"s);  // 16 MB
  EXPECT_EQ(reader.Next().value(), std::nullopt);
  EXPECT_LT(reader.capacity(), 100u);
}

TEST(Frame, MemoryIsGivenBackAfterALongFrame) {
  FrameReader reader;
  reader.Accept();
  std::string long_frame = FrameOf(FrameType::kToHub, std::string(1'000'000, 'x'));
  reader.Feed(long_frame);
  EXPECT_TRUE(reader.Next().value().has_value());
  EXPECT_FALSE(reader.Next().value().has_value());
  EXPECT_LT(reader.capacity(), 20'000u);
}

}  // namespace
}  // namespace spate::wire
