#include "hub/client_session.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "wire/client_codec.h"

namespace spate::hub {
namespace {

// Rows that wait to be written; above it the client waits.
constexpr uint64_t kBacklogMost = 32u << 20;
// Bytes of requests that wait for their turn; above it the client waits.
constexpr int64_t kWaitingMost = 1 << 20;
// Requests of one connection at once: some of those that are over for the client end here later.
constexpr size_t kRequestsMost = 2 * wire::kRequestsAtOnce;
// Subscriptions among them: each costs the hub something at each change of its job.
constexpr size_t kSubscriptionsMost = 256;

bool IsOfUpload(const wire::Request& request) {
  return std::holds_alternative<wire::Rows>(request) ||
         std::holds_alternative<wire::PutPieces>(request) ||
         std::holds_alternative<wire::Edges>(request) ||
         std::holds_alternative<wire::SubmitEnd>(request);
}

}  // namespace

ClientSession::ClientSession(Jobs& jobs, ClientHost& host, Caller caller,
                             std::unique_ptr<ClientPort> port, std::function<void()> closed)
    : jobs_(jobs),
      host_(host),
      caller_(std::move(caller)),
      port_(std::move(port)),
      closed_(std::move(closed)) {
  port_->Start({.request = [this](uint32_t id, std::string_view bytes) { OnRequest(id, bytes); },
                .writable =
                    [this] {
                      full_ = floods_ = false;
                      Pace();
                      for (auto& [id, request] : requests_) {
                        jobs_.loop().Post(
                            request->Guarded([r = request.get()] { r->RoomAgain(); }));
                      }
                    },
                .closed =
                    [this] {
                      auto tell = closed_;
                      tell();
                    }});
}

ClientSession::~ClientSession() {
  *alive_ = false;
  std::exchange(requests_, {}).clear();
  jobs_.loop().Cancel(slow_);
}

void ClientSession::Breach(std::string reason) {
  port_->Refuse({wire::RefusalCode::kBreach, std::move(reason)});
}

void ClientSession::BreachSoon(std::string reason) {
  jobs_.loop().Post([this, alive = alive_, reason = std::move(reason)] {
    if (*alive) Breach(reason);
  });
}

void ClientSession::Send(uint32_t id, std::string_view reply) {
  if (!port_->Send(id, reply)) full_ = true;
}

void ClientSession::Over(uint32_t id) {
  auto ended = requests_.extract(id);
  if (!ended) return;
  if (ended.mapped()->subscribes()) --subscriptions_;
  if (over_.empty()) {
    jobs_.loop().Post([this, alive = alive_] {
      if (*alive) over_.clear();
    });
  }
  over_.push_back(std::move(ended.mapped()));
}

void ClientSession::Weigh(int64_t bytes) {
  weight_ += bytes;
  Pace();
}

void ClientSession::Refused() {
  floods_ = full_;
  Pace();
}

void ClientSession::Pace() {
  const bool slow = jobs_.store().Backlog() > kBacklogMost;
  port_->PauseReading(slow || weight_ > kWaitingMost || floods_);
  if (!slow || slow_ != 0) return;
  slow_ = jobs_.loop().At(jobs_.loop().Now() + Duration::Millis(2), [this] {
    slow_ = 0;
    Pace();
  });
}

void ClientSession::OnRequest(uint32_t id, std::string_view bytes) {
  auto request = wire::DecodeRequest(bytes);
  if (!request) return Breach(request.error().message);
  auto at = requests_.find(id);
  const bool known = at != requests_.end();
  if (std::holds_alternative<wire::DropRequest>(*request)) {
    if (known) at->second->Over();  // else it was over already
  } else if (const auto* taken = std::get_if<wire::RepliesTaken>(&*request)) {
    if (known) at->second->Taken(taken->bytes);
  } else if (IsOfUpload(*request)) {
    if (!known || !at->second->takes_more()) return Breach("rows without a submit");
    at->second->Receive(std::move(*request), bytes);
  } else if (known) {
    Breach(at->second->takes_more() ? "a submit without its end"
                                    : "a request with the id of one that is under way");
  } else {
    Begin(id, std::move(*request), bytes);
  }
}

void ClientSession::Begin(uint32_t id, wire::Request request, std::string_view bytes) {
  if (requests_.size() >= kRequestsMost) {
    return Breach(fmt::format("more than {} requests at once", kRequestsMost));
  }
  auto& begun = requests_[id];
  begun = std::make_unique<ClientRequest>(*this, id, wire::KindOf(request));
  if (begun->subscribes() && ++subscriptions_ > kSubscriptionsMost) {
    return begun->Fail({ErrorKind::kBusy, fmt::format("more than {} subscriptions at once over one "
                                                      "connection",
                                                      kSubscriptionsMost)});
  }
  const size_t most = KnownJobs::kListenersOfUser;
  if (begun->subscribes() && !caller_.is_admin && jobs_.known().ListenersOf(caller_.user) >= most) {
    return begun->Fail(
        {ErrorKind::kBusy, fmt::format("user {} follows {} jobs at once, the limit for one user; "
                                       "end some of the commands that wait for jobs",
                                       caller_.user, most)});
  }
  begun->Receive(std::move(request), bytes);
}

}  // namespace spate::hub
