#include "forward/deliverer.h"

#include <utility>

#include "base/units.h"
#include "core/model/task_files.h"

namespace spate::forward {
namespace {

// Something came that the task forwards, or brings home.
bool HasPack(const AttemptEnd& end, const TaskOutputPtr& output) {
  return end.cause == Cause::kSuccess && output && output->files.total > 0;
}

bool HasPack(const wire::ToHub& message) {
  const auto* ends = std::get_if<wire::Ends>(&message);
  if (ends == nullptr) return false;
  for (size_t i = 0; i < ends->ends.size(); ++i) {
    if (HasPack(ends->ends[i], ends->outputs[i])) return true;
  }
  return false;
}

// Keeps the task's own output, without the pack, which has been delivered.
TaskOutputPtr WithoutPack(const TaskOutputPtr& output) {
  auto rest = std::make_shared<TaskOutput>(*output);
  rest->files = {};
  // Its spool files are those of the whole.
  return TaskOutputPtr(rest.get(), [rest, whole = output](const TaskOutput*) {});
}

}  // namespace

class Deliverer::Channel final : public hub::NodeChannel {
 public:
  Channel(Deliverer& deliverer, std::unique_ptr<hub::NodeChannel> channel, See see)
      : deliverer_(deliverer), channel_(std::move(channel)), see_(std::move(see)) {}
  void Send(wire::ToNode message) override { channel_->Send(std::move(message)); }
  void OnMessage(std::function<void(wire::ToHub)> receiver) override {
    receiver_ = std::move(receiver);
    channel_->OnMessage([this](wire::ToHub message) {
      if (see_) see_(message);
      deliverer_.Accept(*this, std::move(message));
    });
  }
  void Pass(wire::ToHub message) const { receiver_(std::move(message)); }

  const std::shared_ptr<Channel*>& self() const { return self_; }
  size_t held = 0;  // messages of it

 private:
  Deliverer& deliverer_;
  const std::unique_ptr<hub::NodeChannel> channel_;
  const See see_;
  std::function<void(wire::ToHub)> receiver_;
  const std::shared_ptr<Channel*> self_ = std::make_shared<Channel*>(this);
};

Deliverer::Deliverer(os::Loop& loop, Work work) : loop_(loop), work_(std::move(work)) {}
Deliverer::~Deliverer() = default;

std::unique_ptr<hub::NodeChannel> Deliverer::Over(std::unique_ptr<hub::NodeChannel> channel,
                                                  See see) {
  return std::make_unique<Channel>(*this, std::move(channel), std::move(see));
}

void Deliverer::Accept(Channel& from, wire::ToHub message) {
  if (from.held == 0 && !HasPack(message)) return from.Pass(std::move(message));
  ++from.held;
  held_.push_back({from.self(), std::make_shared<wire::ToHub>(std::move(message))});
  DeliverNext();
}

void Deliverer::DeliverNext() {
  while (!working_ && !held_.empty()) {
    const Held& first = held_.front();
    if (first.from.expired() || !HasPack(*first.message)) {
      PassFirst();
      continue;
    }
    working_ = std::make_unique<os::Aside<Troubles>>(
        loop_,
        [work = work_, message = first.message]() -> Result<Troubles> {
          return WorkOff(work, std::get<wire::Ends>(*message));
        },
        [this](Result<Troubles> troubles) {
          size_t ends = std::get<wire::Ends>(*held_.front().message).ends.size();
          Delivered(troubles ? *troubles : Troubles(ends, troubles.error().message));
        });
  }
}

Deliverer::Troubles Deliverer::WorkOff(const Work& work, const wire::Ends& ends) {
  Troubles troubles(ends.ends.size());
  for (size_t i = 0; i < ends.ends.size(); ++i) {
    if (!HasPack(ends.ends[i], ends.outputs[i])) continue;
    auto done = work(ends.ends[i], ends.outputs[i]->files);
    if (!done) troubles[i] = done.error().message;
  }
  return troubles;
}

void Deliverer::Delivered(const Troubles& troubles) {
  working_.reset();
  auto& ends = std::get<wire::Ends>(*held_.front().message);
  for (size_t i = 0; i < ends.ends.size(); ++i) {
    if (!HasPack(ends.ends[i], ends.outputs[i])) continue;
    ends.outputs[i] = WithoutPack(ends.outputs[i]);
    if (troubles[i].empty()) continue;
    ends.ends[i].cause = Cause::kCheck;
    ends.ends[i].note = EscapeForScreen(troubles[i]);
  }
  PassFirst();
  DeliverNext();
}

void Deliverer::PassFirst() {
  Held held = std::move(held_.front());
  held_.pop_front();
  auto from = held.from.lock();
  if (!from) return;
  --(*from)->held;
  (*from)->Pass(std::move(*held.message));
}

}  // namespace spate::forward
