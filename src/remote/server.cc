#include "remote/server.h"

#include <algorithm>
#include <utility>

namespace spate::remote {
namespace {

constexpr int kTakenOfATurn = 16;  // those who are there already have work, too

}  // namespace

Result<std::unique_ptr<Server>> Server::Open(os::RealLoop& loop, const Ticket& ticket,
                                             Session::Setting setting, const ServerLimits& limits) {
  const PartKeys keys = KeysOfPart(ticket.secret, ticket.self);
  auto tls = TRY(transport::Tls::ForSharedSecret(transport::Tls::End::kListener, keys.key));
  auto inbox = TRY(os::HandoverInbox::Open(InboxName(keys.id)));
  return std::unique_ptr<Server>(
      new Server(loop, std::move(tls), std::move(inbox), std::move(setting), limits));
}

Server::Server(os::RealLoop& loop, std::unique_ptr<transport::Tls> tls, os::HandoverInbox inbox,
               Session::Setting setting, const ServerLimits& limits)
    : loop_(loop),
      tls_(std::move(tls)),
      inbox_(std::move(inbox)),
      setting_(std::move(setting)),
      limits_(limits) {
  if (limits_.once) setting_.admit = [this] { return !std::exchange(used_, true); };
  loop_.WatchRead(inbox_.fd(), [this] { AcceptSome(); });
}

Server::~Server() { loop_.Unwatch(inbox_.fd()); }

void Server::AcceptSome() {
  for (int i = 0; i < kTakenOfATurn; ++i) {
    auto fd = inbox_.Receive();
    if (!fd || !*fd) return;
    Accept(std::move(**fd));
  }
}

void Server::Accept(os::Fd fd) {
  MakeRoom();
  if (sessions_.size() >= limits_.sessions || !os::SetNonBlocking(fd.get(), true)) return;
  auto at = sessions_.emplace(sessions_.end());
  *at = std::make_unique<Session>(
      loop_, std::move(fd), *tls_, setting_,
      [this, at] {
        const bool was_it = limits_.once && (*at)->is_proven();
        sessions_.erase(at);
        EndIfDone();
        if (was_it && over_) std::exchange(over_, nullptr)();
      },
      limits_.session);
}

void Server::MakeRoom() {
  auto is_stranger = [](const auto& session) { return !session->is_proven(); };
  auto strangers = static_cast<size_t>(std::ranges::count_if(sessions_, is_stranger));
  if (strangers < limits_.strangers) return;
  sessions_.erase(std::ranges::find_if(sessions_, is_stranger));
}

void Server::End(std::function<void()> done) {
  loop_.Unwatch(inbox_.fd());
  done_ = std::move(done);
  ending_ = true;
  for (const auto& session : sessions_) session->Abandon();
  EndIfDone();
}

void Server::Dismiss(std::string_view why, std::function<void()> done) {
  loop_.Unwatch(inbox_.fd());
  done_ = std::move(done);
  ending_ = true;
  for (const auto& session : sessions_) session->Dismiss(why);
  EndIfDone();
}

void Server::EndIfDone() {
  if (ending_ && sessions_.empty() && done_) loop_.Post(std::exchange(done_, nullptr));
}

}  // namespace spate::remote
