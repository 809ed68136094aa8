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

// The hub's end of the connection.
class HubClient::Port final : public hub::ClientPort {
 public:
  explicit Port(HubClient& client) : client_(client) {}

  void Start(Events events) override { client_.events_ = std::move(events); }
  bool Send(std::string_view reply) override {
    if (client_.parts_.faults.Alive()) client_.Heard(reply);
    return true;
  }
  size_t queued() const override { return 0; }
  void PauseReading(bool) override {}
  void Refuse(const wire::Refusal& why) override {
    client_.End(Fail(ErrorKind::kUnavailable, why.reason));
  }
  void Close() override { client_.End(Fail(ErrorKind::kUnavailable, "the hub closed")); }

 private:
  HubClient& client_;
};

HubClient::HubClient(Parts parts, std::deque<wire::Request> requests)
    : parts_(std::move(parts)), prng_(parts_.seed), requests_(std::move(requests)) {
  session_ = std::make_unique<hub::ClientSession>(parts_.jobs, parts_.host, parts_.caller,
                                                  std::make_unique<Port>(*this), [] {});
  SendNext();
}

HubClient::~HubClient() { *alive_ = false; }

void HubClient::SendNext() {
  if (ended_ || requests_.empty() || !parts_.faults.Alive()) return;
  if (parts_.breaks_after > 0 && sent_++ == parts_.breaks_after) {
    Result<wire::Accepted> broken = Fail(ErrorKind::kUnavailable, "the connection broke");
    parts_.half_open ? Answer(broken) : End(broken);
    if (ended_) return;
    if (parts_.hurries) parts_.pause = {};
  }
  std::string bytes;
  wire::Append(bytes, requests_.front());
  requests_.pop_front();
  Duration pause{static_cast<int64_t>(prng_.Below(static_cast<uint64_t>(parts_.pause.ns) + 1))};
  parts_.loop.At(parts_.loop.Now() + pause, [this, alive = alive_] {
    if (*alive) SendNext();
  });
  events_.request(bytes);
}

void HubClient::Heard(std::string_view bytes) {
  auto reply = wire::DecodeReply(bytes);
  CHECK(reply.has_value());
  if (const auto* failed = std::get_if<wire::Failed>(&*reply)) {
    End(Fail(failed->kind, failed->text));
  } else if (const auto* accepted = std::get_if<wire::Accepted>(&*reply)) {
    End(*accepted);
  }
}

// The session, or whoever made the client, is above us on the stack.
void HubClient::Answer(const Result<wire::Accepted>& answer) {
  if (std::exchange(answered_, true)) return;
  parts_.loop.Post([this, alive = alive_, answer] {
    if (*alive) parts_.answered(answer);
  });
}

void HubClient::End(const Result<wire::Accepted>& answer) {
  if (std::exchange(ended_, true)) return;
  Answer(answer);
  parts_.loop.Post([this, alive = alive_] {
    if (!*alive) return;
    auto ended = std::move(parts_.ended);
    ended();
  });
}

}  // namespace spate::sim
