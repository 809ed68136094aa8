#include "remote/frames.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace spate::remote {
namespace {

TEST(Frames, BytesOfOne) {
  std::string bytes;
  AppendFrame(bytes, FrameType::kSignal, "\x0f");
  EXPECT_EQ(bytes, std::string("\x02\0\0\0\x04\x0f", 6));
  EXPECT_EQ(NumberBody(0x01020304), "\x04\x03\x02\x01");
  EXPECT_EQ(NumberOf("\x04\x03\x02\x01"), 0x01020304u);
  EXPECT_FALSE(NumberOf("abc"));
}

TEST(Frames, ComeWholeHoweverTheyAreCut) {
  EXPECT_TRUE(rc::check([](const std::vector<std::string>& bodies) {
    std::string bytes;
    for (const std::string& body : bodies) AppendFrame(bytes, FrameType::kOutput, body);
    FrameReader reader;
    std::vector<std::string> got;
    while (!bytes.empty()) {
      size_t piece = *rc::gen::inRange<size_t>(1, bytes.size() + 1);
      reader.Take(std::string_view(bytes).substr(0, piece));
      bytes.erase(0, piece);
      for (auto frame = reader.Next(); frame && *frame; frame = reader.Next()) {
        RC_ASSERT((*frame)->type == FrameType::kOutput);
        got.emplace_back((*frame)->body);
      }
    }
    RC_ASSERT(got == bodies);
  }));
}

TEST(Frames, WhatCannotBeIsRefusedBeforeItHasCome) {
  for (std::string_view bytes : {
           std::string_view("\0\0\0\0\x02", 5),          // no room for a type
           std::string_view("\x01\0\0\0\0", 5),          // no such type
           std::string_view("\x01\0\0\0\x05", 5),        // neither
           std::string_view("\x02\0\x01\0\x02", 5),      // too much input at once
           std::string_view("\xff\xff\xff\xff\x01", 5),  // too long a command
       }) {
    FrameReader reader;
    reader.Take(bytes);
    EXPECT_FALSE(reader.Next()) << bytes;
  }
  FrameReader reader;
  reader.Take(std::string_view("\x01\0\x40\0\x01", 5));  // of 4 MiB: awaited
  auto frame = reader.Next();
  EXPECT_TRUE(frame && !*frame);
}

}  // namespace
}  // namespace spate::remote
