#include "shepherd/resident_frame.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace spate::shepherd {
namespace {

constexpr AttemptRef kRef{JobId(7), 11, Attempt(2)};

// The reader and its result, fed byte by byte or in pieces of `step`.
struct Taken {
  AnswerReader reader;
  std::string result;
};
Taken Take(std::string_view bytes, size_t step) {
  Taken taken;
  taken.reader.Begin(TaskId(kRef));
  for (size_t at = 0; at < bytes.size(); at += step) {
    taken.reader.Parse(bytes.substr(at, step),
                       [&](std::string_view some) { taken.result += some; });
  }
  return taken;
}

TEST(ResidentFrame, ATaskIsAHeadAndItsBytes) {
  EXPECT_EQ(TaskFrame(kRef, "a\nb"), "task 7.12 12 2 3\na\nb");
  EXPECT_EQ(TaskFrame(kRef, std::string_view("\0\t", 2)),
            std::string_view("task 7.12 12 2 2\n\0\t", 19));
  EXPECT_EQ(TaskFrame(kRef, ""), "task 7.12 12 2 0\n");
}

TEST(ResidentFrame, AnAnswerMayComeInAnyPieces) {
  std::string result("line\n\0end", 9);
  std::string bytes = "done 7.12 3 9\n" + result;
  for (size_t step = 1; step <= bytes.size(); ++step) {
    Taken taken = Take(bytes, step);
    EXPECT_TRUE(taken.reader.is_whole()) << step;
    EXPECT_EQ(taken.reader.status(), 3);
    EXPECT_EQ(taken.result, result) << step;
    EXPECT_FALSE(taken.reader.has_more());
  }
  for (size_t size = 0; size < bytes.size(); ++size) {
    Taken taken = Take(std::string_view(bytes).substr(0, size), 5);
    EXPECT_FALSE(taken.reader.is_whole()) << size;
    EXPECT_EQ(taken.reader.wrong(), "") << size;
    EXPECT_EQ(taken.reader.is_empty(), size == 0);
  }
}

TEST(ResidentFrame, WhatComesBehindIsTold) {
  for (size_t step : {1, 5, 100}) {
    Taken taken = Take("done 7.12 0 2\nokx", step);
    EXPECT_TRUE(taken.reader.is_whole());
    EXPECT_TRUE(taken.reader.has_more()) << step;
    EXPECT_EQ(taken.result, "ok");
  }
}

TEST(ResidentFrame, WhatIsNoAnswerDoesNotBecomeOne) {
  const std::string_view bytes = "done 7.12 0 \n5\nhello";
  for (size_t step = 1; step <= bytes.size(); ++step) {
    Taken taken = Take(bytes, step);
    EXPECT_FALSE(taken.reader.is_whole()) << step;
    EXPECT_EQ(taken.reader.wrong(), "'done 7.12 0 ' is not 'done 7.12 STATUS LENGTH'") << step;
    EXPECT_EQ(taken.result, "") << step;
  }
}

TEST(ResidentFrame, WhatIsNoAnswerIsTold) {
  const std::string long_line(300, 'x');
  const std::string no_head = "' is not 'done 7.12 STATUS LENGTH'";
  struct Case {
    std::string bytes;
    std::string why;
  };
  for (const Case& c : {
           Case{"\n", "'" + no_head},
           Case{"hello\n", "'hello" + no_head},
           Case{"done 7.12 0\n", "'done 7.12 0" + no_head},
           Case{"done 7.12 0 0 \n", "'done 7.12 0 0 " + no_head},
           Case{"done 7.12 0 0 x\n", "'done 7.12 0 0 x" + no_head},
           Case{"done  7.12 0 0\n", "'done  7.12 0 0" + no_head},
           Case{"done 7.11 0 0\n", "it is for task '7.11', and the process was given 7.12"},
           Case{"done 7.12 256 0\n", "the status '256' is not a number from 0 to 255"},
           Case{"done 7.12 -1 0\n", "the status '-1' is not a number from 0 to 255"},
           Case{"done 7.12 0 -1\n", "the length '-1' is not a number from 0 to 1073741824"},
           Case{"done 7.12 0 1073741825\n",
                "the length '1073741825' is not a number from 0 to 1073741824"},
           Case{"done 7.12 0 99999999999999999999999\n",
                "the length '99999999999999999999999' is not a number from 0 to 1073741824"},
           Case{long_line,
                "its first line has more than 256 bytes: '" + long_line.substr(0, 60) + "...'"},
           Case{long_line + "\n",
                "its first line has more than 256 bytes: '" + long_line.substr(0, 60) + "...'"},
       }) {
    for (size_t step : {1, 1000}) {
      Taken taken = Take(c.bytes, step);
      EXPECT_EQ(taken.reader.wrong(), c.why) << step;
      EXPECT_FALSE(taken.reader.is_whole());
      EXPECT_EQ(taken.result, "");
    }
  }
}

}  // namespace
}  // namespace spate::shepherd
