#include "doors/mw/formats/packet.h"

#include <gtest/gtest.h>

namespace spate::mw {
namespace {

TEST(PacketTest, CallsComeBack) {
  const std::string large(1000, 'x');
  const std::vector<Call> calls = {{1, "square", 1, std::string_view("\0\1", 2)},
                                   {2, "", 7, "", Duration::Seconds(3)},
                                   {uint64_t{1} << 60, "a", 1, large},
                                   {3, "b", 1, "", {}, {{0xa8000'0001, 5}, {0x8000'0002, 0}}},
                                   {4, "c", 1, "", {}, {}, true}};
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
  const std::vector<Call> calls = {{1, "square", 1, "abc", {}, {{0x8000'0002, 7}}}};
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

TEST(PacketTest, ConstantsThatCannotBeAreRefused) {
  auto reads = [](std::vector<NamedConstant> constants) {
    const std::vector<Call> calls = {{1, "square", 1, "abc", {}, std::move(constants)}};
    return ReadCalls(WriteCalls(calls)).has_value();
  };
  EXPECT_TRUE(reads({{0x8000'0001, kConstantBytes}}));
  EXPECT_FALSE(reads({{0x8000'0001, kConstantBytes + 1}}));
  EXPECT_FALSE(reads({{0xffff'ffff'0000'0001, 1}})) << "a job may have this number";
  EXPECT_TRUE(reads(std::vector<NamedConstant>(kConstantsOfTask, {0x8000'0001, 1})));
  EXPECT_FALSE(reads(std::vector<NamedConstant>(kConstantsOfTask + 1, {0x8000'0001, 1})));
}

TEST(PacketTest, AnEndThatWeDoNotKnowIsRefused) {
  std::string packet;
  AddAnswer(packet, {1, static_cast<CallEnd>(9), Duration(), ""});
  EXPECT_FALSE(ReadAnswers(packet));
}

}  // namespace
}  // namespace spate::mw
