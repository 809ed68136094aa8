#include "sim/hub_client.h"

#include <utility>

#include "base/check.h"
#include "wire/client_codec.h"

namespace spate::sim {

void SimAside::Do(const std::string&, Work work) {
  loop_.At(loop_.Now() + While(), [this, work = std::move(work)] {
    if (!faults_.Alive()) return;
    loop_.At(loop_.Now() + While(), [this, then = work()] {
      if (faults_.Alive()) then();
    });
  });
}

Duration SimAside::While() {
  return Duration{static_cast<int64_t>(prng_.Below(prng_.Chance(50) ? 50'000 : 30'000'000))};
}

// The hub's end of the connection. The session may use it when the client is gone: a hub that ends
// lets go of its sessions last.
class HubClient::Port final : public hub::ClientPort {
 public:
  explicit Port(HubClient& client) : client_(client), alive_(client.alive_) {}
  ~Port() override {
    if (!*alive_) return;
    client_.gone_ = true;
    client_.After({}, [ended = client_.parts_.ended] { ended(); });
  }

  void Start(Events events) override { client_.events_ = std::move(events); }
  bool Send(uint32_t id, std::string_view reply) override {
    if (*alive_ && client_.parts_.faults.Alive()) client_.Heard(id, reply);
    return true;
  }
  void PauseReading(bool paused) override {
    if (!*alive_) return;
    client_.paused_ = paused;
    if (!paused) client_.SendSoon();
  }
  void Refuse(const wire::Refusal& why) override {
    if (*alive_) client_.Cut(why.reason);
  }
  void Close() override {
    if (*alive_) client_.Cut("the hub closed");
  }

 private:
  HubClient& client_;
  const std::shared_ptr<bool> alive_;
};

std::unique_ptr<hub::ClientPort> HubClient::MakePort() { return std::make_unique<Port>(*this); }

Duration HubClient::Pause() {
  return Duration{static_cast<int64_t>(prng_.Below(static_cast<uint64_t>(parts_.pause.ns) + 1))};
}

void HubClient::After(Duration wait, std::function<void()> fn) {
  parts_.loop.At(parts_.loop.Now() + wait, [alive = alive_, fn = std::move(fn)] {
    if (*alive) fn();
  });
}

void HubClient::Enqueue(Exchange exchange) {
  CHECK(!broken_);
  exchanges_.push_back(std::move(exchange));
  if (!under_way_) BeginNext();
}

void HubClient::BeginNext() {
  under_way_ = !exchanges_.empty();
  said_ = false;
  replies_.clear();
  if (!under_way_ && parts_.leaves) HangUp(Pause());
  if (!under_way_) return;
  answered_ = id_ + 1;
  kind_ = wire::KindOf(exchanges_.front().requests.front());
  untold_ = 0;
  SendSoon();
}

void HubClient::SendSoon() {
  if (sending_ || paused_ || gone_ || !under_way_ || exchanges_.front().requests.empty()) return;
  sending_ = true;
  After(Pause(), [this] { SendNow(); });
}

void HubClient::SendNow() {
  sending_ = false;
  if (gone_ || !under_way_ || exchanges_.front().requests.empty()) return;
  if (paused_) return;
  if (!parts_.faults.Alive()) return;
  if (!broken_ && parts_.breaks_after > 0 && sent_++ == parts_.breaks_after) {
    Break("the connection broke");
    if (!parts_.half_open) return HangUp(parts_.hurries ? Duration{} : Pause());
    if (parts_.hurries) parts_.pause = {};
  }
  Exchange& first = exchanges_.front();
  if (auto begins = std::exchange(first.begins, nullptr)) begins();
  const bool is_submit = std::holds_alternative<wire::Submit>(first.requests.front());
  if (is_submit && first.submits && !first.submits()) {
    Break("the connection broke");
    return HangUp({});
  }
  const wire::Request request = std::move(first.requests.front());
  first.requests.pop_front();
  const bool goes_on = wire::KindOf(request) == wire::RequestKind::kUpload && !is_submit;
  if (!goes_on || id_ < answered_) ++id_;
  auto alive = alive_;
  Deliver(id_, request);
  if (!*alive || gone_) return;
  if (under_way_ && said_ && first.requests.empty()) return Over();
  if (broken_ && exchanges_.front().requests.empty()) return HangUp(Duration::Seconds(5));
  SendSoon();
}

void HubClient::Deliver(uint32_t id, const wire::Request& request) {
  std::string bytes;
  wire::Append(bytes, request);
  auto take = events_.request;
  take(id, bytes);
}

// The hub is told a little later what was taken.
void HubClient::TellTaken(size_t bytes) {
  untold_ += static_cast<uint32_t>(bytes);
  if (untold_ < wire::WindowOf(kind_) / 2) return;
  After(Pause(), [this, id = answered_, taken = std::exchange(untold_, 0)] {
    if (!gone_ && !broken_ && parts_.faults.Alive()) Deliver(id, wire::RepliesTaken{taken});
  });
}

void HubClient::Heard(uint32_t id, std::string_view bytes) {
  auto reply = wire::DecodeReply(bytes);
  CHECK(reply.has_value());
  if (!under_way_ || said_ || id < answered_) return;  // of what was asked before
  Exchange& first = exchanges_.front();
  if (first.says) first.says(*reply);
  if (id != answered_) return;
  TellTaken(bytes.size());
  const bool last = wire::IsLast(kind_, *reply);
  replies_.push_back(std::move(*reply));
  if (!last) return;
  said_ = true;
  if (first.said) first.said(replies_);
  if (!first.stubborn) first.requests.clear();
  // Before its last message is taken, as a rule (SendNow).
  if (first.requests.empty()) After({}, [this] { Over(); });
}

// The client hears the replies a little later; by then its next request may be on its way.
void HubClient::Over() {
  if (!under_way_ || !said_) return;
  Exchange over = std::move(exchanges_.front());
  exchanges_.pop_front();
  if (!broken_ && over.heard) {
    // Whatever becomes of the connection.
    parts_.loop.At(
        parts_.loop.Now() + Pause(),
        [heard = std::move(over.heard), replies = std::move(replies_)] { heard(replies); });
  }
  if (broken_) {
    under_way_ = false;
    return HangUp(Duration::Seconds(5));
  }
  BeginNext();
}

void HubClient::Break(const std::string& why) {
  if (std::exchange(broken_, true)) return;
  // Waiting messages were never sent.
  for (size_t i = 0; i < exchanges_.size(); ++i) {
    auto heard = std::exchange(exchanges_[i].heard, nullptr);
    if (!heard) continue;
    parts_.loop.Post(
        [heard = std::move(heard), why] { heard(Fail(ErrorKind::kUnavailable, why)); });
  }
  if (!exchanges_.empty()) exchanges_.erase(exchanges_.begin() + 1, exchanges_.end());
}

void HubClient::HangUp(Duration wait) {
  broken_ = true;
  After(wait, [this] {
    if (gone_) return;
    auto closed = events_.closed;
    if (parts_.faults.Alive()) closed();
  });
}

void HubClient::Cut(const std::string& why) {
  if (gone_) return;
  gone_ = true;  // nothing is taken any more
  Break(why);
  After({}, [this] {
    auto closed = events_.closed;
    if (parts_.faults.Alive()) closed();
  });
}

void HubClient::LeaveIfIdle() {
  if (!under_way_ && !broken_) HangUp(Pause());
}

}  // namespace spate::sim
