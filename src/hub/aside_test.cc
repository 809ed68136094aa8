// AsideThreads: no user has all threads.
#include "hub/aside.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>

#include "os/real_loop.h"

namespace spate::hub {
namespace {

// A gate where work waits until it is let go.
class Gate {
 public:
  void Pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [this] { return open_; });
  }
  void Open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

TEST(AsideThreads, OneUserLeavesRoomForOthers) {
  auto loop = os::RealLoop::Create();
  ASSERT_TRUE(loop);
  AsideThreads aside(**loop);
  auto gate = std::make_shared<Gate>();
  int greedy_done = 0;
  constexpr int kGreedy = 20;
  for (int i = 0; i < kGreedy; ++i) {
    aside.Do("greedy", [gate, &greedy_done]() -> Aside::Then {
      gate->Pass();
      return [&greedy_done] { ++greedy_done; };
    });
  }
  for (const char* user : {"another", ""}) {
    bool served = false;
    aside.Do(user, [&]() -> Aside::Then { return [&] { served = true, (*loop)->Stop(); }; });
    bool late = false;
    auto timer =
        (*loop)->At((*loop)->Now() + Duration::Seconds(30), [&] { late = true, (*loop)->Stop(); });
    (*loop)->Run();
    (*loop)->Cancel(timer);
    EXPECT_TRUE(served && !late) << "'" << user << "' waits behind the greedy user";
  }
  EXPECT_EQ(greedy_done, 0);
  gate->Open();
  aside.Do("", [&]() -> Aside::Then { return [] {}; });
  (*loop)->At((*loop)->Now() + Duration::Seconds(30), [&] { (*loop)->Stop(); });
  std::function<void()> look = [&] {
    if (greedy_done == kGreedy) return (*loop)->Stop();
    (*loop)->At((*loop)->Now() + Duration::Millis(1), look);
  };
  look();
  (*loop)->Run();
  EXPECT_EQ(greedy_done, kGreedy);
}

}  // namespace
}  // namespace spate::hub
