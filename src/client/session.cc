#include "client/session.h"

#include <utility>

#include "base/product.h"
#include "present/why.h"
#include "wire/client_codec.h"

namespace spate::client {

// ---- Exchange ----------------------------------------------------------------------------------

Exchange::Exchange(Session& session, uint32_t id, const wire::Request& request,
                   std::function<void()> heard)
    : session_(&session), id_(id), kind_(wire::KindOf(request)), heard_(std::move(heard)) {
  session.exchanges_[id] = this;
}

Exchange::~Exchange() {
  if (session_ == nullptr) return;
  session_->exchanges_.erase(id_);
  (void)session_->Send(id_, wire::DropRequest());
}

Status Exchange::Send(const wire::Request& more) {
  if (session_ == nullptr) return Fail(ErrorKind::kUnavailable, "the request is over");
  return session_->Send(id_, more);
}

void Exchange::Enqueue(std::string_view reply) {
  replies_.emplace_back(reply);
  waiting_ += reply.size();
  auto heard = heard_;  // it may destroy this
  heard();
}

void Exchange::End(Error error) {
  session_ = nullptr;
  ended_ = std::move(error);
  auto heard = heard_;  // it may destroy this
  heard();
}

std::optional<Result<wire::Reply>> Exchange::Receive() {
  if (replies_.empty()) {
    return ended_ ? std::optional<Result<wire::Reply>>(std::unexpected(*ended_)) : std::nullopt;
  }
  const std::string bytes = std::move(replies_.front());
  replies_.pop_front();
  waiting_ -= bytes.size();
  auto reply = wire::DecodeReply(bytes);
  if (session_ == nullptr) return reply;
  if (reply && wire::IsLast(kind_, *reply)) {
    std::exchange(session_, nullptr)->exchanges_.erase(id_);
    ended_ = Error{ErrorKind::kUnavailable, "the request is over"};
    return reply;
  }
  taken_ += static_cast<uint32_t>(bytes.size());
  if (taken_ >= wire::WindowOf(kind_) / 2) {
    (void)session_->Send(id_, wire::RepliesTaken{std::exchange(taken_, 0)});
  }
  return reply;
}

// ---- Session -----------------------------------------------------------------------------------

Error ErrorOf(const wire::Failed& failed) {
  return {failed.kind, failed.text + present::TextOf(failed.why), failed.remedy};
}

Session::Session(os::RealLoop& loop, HubTarget target) : loop_(loop), target_(std::move(target)) {}

Session::~Session() { *alive_ = false; }

void Session::Disconnect() {
  caller_.reset();
  connection_.reset();
  Ended({ErrorKind::kUnavailable, "disconnected"});
}

void Session::Ended(const Error& error) {
  connected_ = false;
  writable_ = true;
  // Hearing of it, they may begin or end others, or all.
  for (auto alive = alive_; !exchanges_.empty();) {
    exchanges_.extract(exchanges_.begin()).mapped()->End(error);
    if (!*alive) return;
  }
  if (on_writable_) on_writable_();  // nobody needs to wait
}

void Session::Connect(std::function<void(Status)> done) {
  Disconnect();
  caller_ = std::make_unique<link::Connector>(
      loop_, target_.target, link::Self{ProductVersion(), target_.role},
      [this,
       done = std::move(done)](std::expected<link::Connector::Met, link::Connector::Failure> met) {
        auto caller = std::move(caller_);  // with `done`
        if (met) {
          Met(std::move(*met));
          return done({});
        }
        const auto& refusal = met.error().refusal;
        const bool version = refusal && refusal->code == wire::RefusalCode::kVersion;
        hung_ = met.error().hung;
        const bool runs = reached_ || hung_;
        Error error = std::move(met.error().error);
        if (reached_) error = CauseOfLoss(target_, std::move(error));
        if (version && !target_.start.empty())
          error.message += "\nStart it again: " + target_.start;
        if (!runs && error.kind == ErrorKind::kUnavailable && !target_.start.empty()) {
          error.message += "\nStart it: " + target_.start;
        }
        done(std::unexpected(std::move(error)));
      });
}

void Session::Met(link::Connector::Met met) {
  reached_ = connected_ = true;
  hung_ = false;
  connection_ = std::move(met.connection);
  connection_->Start(
      {.opened = {},
       .frame = [this](wire::FrameType, std::string_view message) { OnFrame(message); },
       .writable =
           [this] {
             writable_ = true;
             if (on_writable_) on_writable_();
           },
       .silent = {},
       .closed =
           [this](const link::Ended& ended) {
             Ended(CauseOfLoss(target_, {ErrorKind::kUnavailable, ended.text,
                                         ended.refusal ? ended.refusal->remedy : Remedy()}));
           }});
}

void Session::OnFrame(std::string_view message) {
  auto numbered = wire::SplitId(message);
  if (!numbered) return connection_->Breach("a reply without the id of its request");
  auto at = exchanges_.find(numbered->id);
  if (at != exchanges_.end()) at->second->Enqueue(numbered->message);  // else it was dropped
}

Status Session::Send(uint32_t id, const wire::Request& request) {
  if (!connected_) return Fail(ErrorKind::kUnavailable, "there is no connection to the hub");
  std::string bytes = wire::IdBytes(id);
  wire::Append(bytes, request);
  if (bytes.size() > link::Connection::kMaxMessage) {
    return Fail(ErrorKind::kInvalid, "a request is longer than a hub accepts (16 MB)");
  }
  writable_ = connection_->Send(wire::FrameType::kRequest, bytes);
  return {};
}

Result<std::unique_ptr<Exchange>> Session::Begin(const wire::Request& request,
                                                 std::function<void()> heard) {
  if (exchanges_.size() >= wire::kRequestsAtOnce) {
    return Fail(ErrorKind::kBusy, "as many requests are under way as a connection carries");
  }
  do {
    ++last_id_;
  } while (last_id_ == 0 || exchanges_.contains(last_id_));
  TRY(Send(last_id_, request));
  return std::unique_ptr<Exchange>(new Exchange(*this, last_id_, request, std::move(heard)));
}

}  // namespace spate::client
