#include "remote/frames.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <tuple>
#include <vector>

#include "remote/escape_keys.h"

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
      reader.Append(std::string_view(bytes).substr(0, piece));
      bytes.erase(0, piece);
      for (auto frame = reader.Next(); frame && *frame; frame = reader.Next()) {
        RC_ASSERT((*frame)->type == FrameType::kOutput);
        got.emplace_back((*frame)->body);
      }
    }
    RC_ASSERT(got == bodies);
  }));
}

TEST(Frames, WordsAndWindows) {
  const StartWords start{
      .words = {"sh", "", "a b"}, .window = os::WindowSize{33, 101}, .term = "xt"};
  const std::string body = BodyOf(start);
  EXPECT_EQ(body, std::string("\x01\x21\0\x65\0xt\0sh\0\0a b\0", 16));
  EXPECT_EQ(StartWordsOf(body), start);
  const StartWords plain{.words = {"ls"}, .window = std::nullopt, .term = {}};
  EXPECT_EQ(StartWordsOf(BodyOf(plain)), plain);
  EXPECT_EQ(WindowOf(BodyOf(os::WindowSize{500, 1})), (os::WindowSize{500, 1}));
  EXPECT_FALSE(WindowOf("abc"));
  for (size_t i = 0; i < body.size(); ++i) {  // cut anywhere but behind a word
    if (i > 7 && body[i - 1] == '\0') continue;
    EXPECT_FALSE(StartWordsOf(body.substr(0, i))) << i;
  }
  EXPECT_FALSE(StartWordsOf("\x02" + body.substr(1)));
}

TEST(EscapeKeys, LeaveAtTheBeginningOfALine) {
  for (auto [typed, passed, leaves] : std::vector<std::tuple<std::string, std::string, bool>>{
           {"ls\r", "ls\r", false},
           {"~.more", "", true},
           {"ls\r~.", "ls\r", true},
           {"ls\n~~x", "ls\n~x", false},
           {"a~.", "a~.", false},
           {"~a", "~a", false},
           {"~", "", false},
       }) {
    EscapeKeys whole, by_byte;
    EXPECT_EQ(whole.Pass(typed), passed);
    EXPECT_EQ(whole.leaves(), leaves);
    std::string together;
    for (char c : typed) together += by_byte.Pass({&c, 1});
    EXPECT_EQ(together, passed);
    EXPECT_EQ(by_byte.leaves(), leaves);
  }
}

TEST(Frames, WhatCannotBeIsRefusedBeforeItHasCome) {
  for (std::string_view bytes : {
           std::string_view("\0\0\0\0\x02", 5),          // no room for a type
           std::string_view("\x01\0\0\0\0", 5),          // no such type
           std::string_view("\x01\0\0\0\x0d", 5),        // neither
           std::string_view("\x02\0\x01\0\x02", 5),      // too much input at once
           std::string_view("\xff\xff\xff\xff\x01", 5),  // too long a command
       }) {
    FrameReader reader;
    reader.Append(bytes);
    EXPECT_FALSE(reader.Next()) << bytes;
  }
  FrameReader reader;
  reader.Append(std::string_view("\x01\0\x40\0\x01", 5));  // of 4 MiB: awaited
  auto frame = reader.Next();
  EXPECT_TRUE(frame && !*frame);
}

}  // namespace
}  // namespace spate::remote
