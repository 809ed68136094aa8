#include "apps/hub_aside.h"

#include <utility>

namespace spate::apps {
namespace {

constexpr size_t kAtOnce = 4;

}  // namespace

void HubAside::Do(Work work) {
  waiting_.push_back(std::move(work));
  Next();
}

void HubAside::Next() {
  while (!waiting_.empty() && running_.size() < kAtOnce) {
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    auto at = running_.emplace(running_.end());
    auto done = [this, at, work](Result<Then> then) {
      running_.erase(at);
      Next();
      then ? (*then)() : work()();  // without a thread it takes its time here
    };
    std::function<Result<Then>()> aside = [work] { return work(); };
    *at = std::make_unique<os::Aside<Then>>(loop_, std::move(aside), std::move(done));
  }
}

}  // namespace spate::apps
