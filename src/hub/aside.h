// Aside: what a hub reads for somebody and may take long, beside the loop.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "hub/turns.h"
#include "os/aside.h"
#include "os/loop.h"

namespace spate::hub {

class Aside {
 public:
  virtual ~Aside() = default;
  // `work` runs somewhere, perhaps on another thread; what it returns runs on the loop's, later,
  // unless this is gone by then. `user`: for whom; empty: for the hub itself.
  using Then = std::function<void()>;
  using Work = std::function<Then()>;
  virtual void Do(const std::string& user, Work work) = 0;
};

// A few threads, of which no user has them all.
class AsideThreads final : public Aside {
 public:
  explicit AsideThreads(os::Loop& loop) : loop_(loop) {}
  void Do(const std::string& user, Work work) override;

 private:
  struct Task {
    uint64_t turn = 0;
    Work work;
    std::unique_ptr<os::Aside<Then>> thread;  // null: it waits for its turn
  };
  void Start(std::list<Task>::iterator task);

  os::Loop& loop_;
  Turns turns_{{.all = 4, .of_a_user = 2, .kept = 1}};
  std::list<Task> tasks_;
};

}  // namespace spate::hub
