// A channel inside one process: messages are moved, never encoded, and delivered in order by the
// loop, after the sender has returned.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "os/loop.h"
#include "transport/channel.h"

namespace spate::transport {

namespace internal {

template <typename T>
struct Pipe {
  std::deque<T> queue;
  std::function<void(T)> receiver;
  bool scheduled = false;
};

}  // namespace internal

// One end of a pair. When an end is destroyed, what is under way to it is dropped.
template <typename Out, typename In>
class InprocChannel final : public Channel<Out, In> {
 public:
  InprocChannel(os::Loop& loop, std::shared_ptr<internal::Pipe<Out>> out,
                std::shared_ptr<internal::Pipe<In>> in)
      : loop_(loop), out_(std::move(out)), in_(std::move(in)) {}
  ~InprocChannel() override { in_->receiver = nullptr; }

  void Send(Out message) override {
    out_->queue.push_back(std::move(message));
    if (out_->scheduled) return;
    out_->scheduled = true;
    loop_.Post([pipe = out_] {
      pipe->scheduled = false;
      // Answers of the receiver are delivered by a later turn of the loop.
      std::deque<Out> queue = std::exchange(pipe->queue, {});
      for (Out& each : queue) {
        if (pipe->receiver) pipe->receiver(std::move(each));
      }
    });
  }
  void OnMessage(std::function<void(In)> receiver) override { in_->receiver = std::move(receiver); }

 private:
  os::Loop& loop_;
  std::shared_ptr<internal::Pipe<Out>> out_;
  std::shared_ptr<internal::Pipe<In>> in_;
};

template <typename A, typename B>
struct InprocPair {
  std::unique_ptr<Channel<A, B>> first;   // sends A, receives B
  std::unique_ptr<Channel<B, A>> second;  // sends B, receives A
};

template <typename A, typename B>
InprocPair<A, B> MakeInprocPair(os::Loop& loop) {
  auto forth = std::make_shared<internal::Pipe<A>>();
  auto back = std::make_shared<internal::Pipe<B>>();
  return {std::make_unique<InprocChannel<A, B>>(loop, forth, back),
          std::make_unique<InprocChannel<B, A>>(loop, back, forth)};
}

}  // namespace spate::transport
