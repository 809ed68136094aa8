#include "doors/mw/formats/packet.h"

#include <gtest/gtest.h>

namespace spate::mw {
namespace {

TEST(PacketTest, CallsComeBack) {
  const std::string large(1000, 'x');
  const std::vector<Call> calls = {{1, "square", 1, std::string_view("\0\1", 2)},
                                   {2, "", 7, "", Duration::Seconds(3)},
                                   {uint64_t{1} << 60, "a", 1, large}};
  const std::string packet = WriteCalls(calls);
  auto read = ReadCalls(packet);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, calls);
}

TEST(PacketTest, AnswersComeBack) {
  std::string packet;
  const std::vector<Answer> answers = {{1, CallEnd::kDone, Duration::Micros(5), "value"},
                                       {2, CallEnd::kThrew, Duration(), "no such file"},
                                       {3, CallEnd::kTooLong, Duration::Seconds(1), ""},
                                       {4, CallEnd::kOverdue, Duration::Seconds(2), ""}};
  for (const Answer& each : answers) AddAnswer(packet, each);
  auto read = ReadAnswers(packet);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, answers);
}

TEST(PacketTest, APartOfAPacketIsNone) {
  const std::vector<Call> calls = {{1, "square", 1, "abc"}};
  const std::string packet = WriteCalls(calls);
  for (size_t length = 1; length < packet.size(); ++length) {
    EXPECT_FALSE(ReadCalls(std::string_view(packet).substr(0, length))) << length;
  }
  std::string answers;
  AddAnswer(answers, {1, CallEnd::kDone, Duration(), "abc"});
  for (size_t length = 1; length < answers.size(); ++length) {
    EXPECT_FALSE(ReadAnswers(std::string_view(answers).substr(0, length))) << length;
  }
}

TEST(PacketTest, AnEndThatWeDoNotKnowIsRefused) {
  std::string packet;
  AddAnswer(packet, {1, static_cast<CallEnd>(9), Duration(), ""});
  EXPECT_FALSE(ReadAnswers(packet));
}

}  // namespace
}  // namespace spate::mw
