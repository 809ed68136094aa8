// Aside: work that may block, on a thread of its own; the loop's thread is given the answer.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/result.h"
#include "os/loop.h"

namespace spate::os {

template <typename T>
class Aside {
 public:
  // Called once by the loop, never before the constructor has returned; may destroy the Aside.
  using Done = std::function<void(Result<T>)>;
  // `work` must not throw. kExhausted when no thread can be started.
  Aside(Loop& loop, std::function<Result<T>()> work, Done done) : Aside(loop, std::move(done)) {
    try {
      std::thread([state = state_, work = std::move(work)] { Post(state, work()); }).detach();
    } catch (const std::exception& e) {
      Post(state_, Fail(ErrorKind::kExhausted, std::string("cannot start a thread: ") + e.what() +
                                                   "; raise the limits of processes and memory "
                                                   "(ulimit -u, -v)"));
    }
  }
  // With an answer that is known already.
  Aside(Loop& loop, Result<T> answer, Done done) : Aside(loop, std::move(done)) {
    Post(state_, std::move(answer));
  }
  // Afterwards `done` is not called; the thread ends by itself, when the work is done.
  ~Aside() {
    std::lock_guard lock(state_->mutex);
    state_->loop = nullptr;
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  struct State {
    std::mutex mutex;
    Loop* loop;  // null when nobody wants the answer; under `mutex`, as is posting to it
    Done done;   // the loop's thread only
  };
  Aside(Loop& loop, Done done) : state_(std::make_shared<State>()) {
    state_->loop = &loop;
    state_->done = std::move(done);
  }
  static void Post(const std::shared_ptr<State>& state, Result<T> answer) {
    std::lock_guard lock(state->mutex);
    if (state->loop == nullptr) return;
    state->loop->Post([state, answer = std::move(answer)] {
      // On the loop's thread, which is the one that destroys Asides.
      if (std::exchange(state->loop, nullptr) != nullptr) state->done(answer);
    });
  }

  std::shared_ptr<State> state_;
};

}  // namespace spate::os
