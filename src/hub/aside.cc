#include "hub/aside.h"

#include <utility>

namespace spate::hub {

void AsideThreads::Do(const std::string& user, Work work) {
  auto task = tasks_.emplace(tasks_.end());
  task->work = std::move(work);
  turns_.Enter(user, /*is_admin=*/user.empty(), task->turn, [this, task] { Start(task); });
}

void AsideThreads::Start(std::list<Task>::iterator task) {
  auto done = [this, task](Result<Then> then) {
    Task ended = std::move(*task);
    tasks_.erase(task);
    turns_.Leave(ended.turn);
    then ? (*then)() : ended.work()();  // without a thread it takes its time here
  };
  std::function<Result<Then>()> aside = [work = task->work] { return work(); };
  task->thread = std::make_unique<os::Aside<Then>>(loop_, std::move(aside), std::move(done));
}

}  // namespace spate::hub
