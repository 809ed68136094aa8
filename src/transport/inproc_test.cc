#include "transport/inproc.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "os/fake_loop.h"

namespace spate::transport {
namespace {

TEST(Inproc, DeliversInOrderAndNeverInsideSend) {
  os::FakeLoop loop;
  auto pair = MakeInprocPair<int, std::string>(loop);
  std::vector<int> got;
  pair.second->OnMessage([&](int value) { got.push_back(value); });
  pair.first->Send(1);
  pair.first->Send(2);
  EXPECT_TRUE(got.empty());
  loop.RunUntilIdle();
  EXPECT_EQ(got, (std::vector<int>{1, 2}));
}

TEST(Inproc, AnswersComeBack) {
  os::FakeLoop loop;
  auto pair = MakeInprocPair<int, std::string>(loop);
  std::vector<std::string> answers;
  pair.second->OnMessage([&](int value) { pair.second->Send(std::to_string(value)); });
  pair.first->OnMessage([&](std::string text) { answers.push_back(std::move(text)); });
  pair.first->Send(7);
  loop.RunUntilIdle();
  EXPECT_EQ(answers, (std::vector<std::string>{"7"}));
}

TEST(Inproc, ADestroyedEndReceivesNothing) {
  os::FakeLoop loop;
  auto pair = MakeInprocPair<int, std::string>(loop);
  int calls = 0;
  pair.second->OnMessage([&](int) { ++calls; });
  pair.first->Send(1);
  pair.second.reset();
  loop.RunUntilIdle();
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace spate::transport
