#include "os/aside.h"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>

#include "os/real_loop.h"

namespace spate::os {
namespace {

class AsideTest : public ::testing::Test {
 protected:
  std::unique_ptr<RealLoop> loop_ = std::move(RealLoop::Create().value());
};

TEST_F(AsideTest, WorksOnAThreadAndAnswersOnTheLoops) {
  const auto own = std::this_thread::get_id();
  std::optional<Aside<int>> aside;
  int answer = 0;
  aside.emplace(
      *loop_, [&] { return Result<int>(std::this_thread::get_id() != own ? 7 : 0); },
      [&](Result<int> result) {
        EXPECT_EQ(std::this_thread::get_id(), own);
        answer = *result;
        aside.reset();
        loop_->Stop();
      });
  EXPECT_EQ(answer, 0);
  loop_->Run();
  EXPECT_EQ(answer, 7);
}

TEST_F(AsideTest, AKnownAnswerComesLaterToo) {
  std::string text;
  Aside<int> aside(*loop_, Fail(ErrorKind::kNotFound, "no"), [&](Result<int> result) {
    text = result.error().message;
    loop_->Stop();
  });
  EXPECT_EQ(text, "");
  loop_->Run();
  EXPECT_EQ(text, "no");
}

TEST_F(AsideTest, NobodyIsToldAfterItsEnd) {
  std::promise<int> later;
  auto never = [](const Result<int>&) { ADD_FAILURE(); };
  {
    Aside<int> slow(
        *loop_, [answer = later.get_future().share()] { return Result<int>(answer.get()); }, never);
    Aside<int> known(*loop_, 1, never);
  }
  later.set_value(1);
  loop_->Post([&] { loop_->Stop(); });
  loop_->Run();
}

}  // namespace
}  // namespace spate::os
