// HubAside: what a hub reads for somebody and may take long, on threads, a few at a time.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "core/model/ranges.h"
#include "os/aside.h"
#include "os/loop.h"

namespace spate::apps {

// What must be read before a job is accepted.
struct Readings {
  std::map<JobId, std::vector<TaskRange>> succeeded;  // of jobs that it waits for, task by task
  std::optional<uint64_t> output;                     // bytes that the hub keeps of the user's jobs
};

class HubAside {
 public:
  // `work` runs on a thread; what it returns runs on the loop's, later, unless this is gone by
  // then.
  using Then = std::function<void()>;
  using Work = std::function<Then()>;

  explicit HubAside(os::Loop& loop) : loop_(loop) {}
  void Do(Work work);

 private:
  void Next();

  os::Loop& loop_;
  std::deque<Work> waiting_;
  std::list<std::unique_ptr<os::Aside<Then>>> running_;
};

}  // namespace spate::apps
