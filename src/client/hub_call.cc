#include "client/hub_call.h"

#include <fmt/format.h>

#include <utility>

#include "access/access_file.h"
#include "base/units.h"
#include "os/file.h"
#include "wire/client_codec.h"

namespace spate::client {
namespace {

constexpr const char* kSystemHub = "/run/spate/hub";

Error ToError(const wire::Failed& failed) { return {failed.kind, failed.text}; }

}  // namespace

os::Address SocketOf(const std::string& hub_dir) {
  os::Address address;
  address.path = os::JoinPath(hub_dir, "socket");
  return address;
}

os::Address SystemSocket() { return SocketOf(kSystemHub); }

std::optional<os::Address> FindLocalHub(const std::string& hub_dir) {
  for (os::Address address : {SocketOf(hub_dir), SystemSocket()}) {
    if (os::Exists(address.path)) return address;
  }
  return std::nullopt;
}

bool KnowsHub(const std::string& hub_dir) { return os::Exists(hub_dir + "/hub.db"); }

Result<std::optional<HubTarget>> FindHub(const std::string& typed_access,
                                         const os::Environment& environment,
                                         const std::string& hub_dir) {
  bool named = !typed_access.empty() || !environment.GetOr("SPATE_HUB", "").empty();
  auto file = access::FindAccessFile(typed_access, environment);
  // The system's file is for root's nodes; others need not be able to read it.
  if (file && (named || os::MayAccess(*file, "r"))) {
    auto access = access::LoadAccess(*file);
    if (!access) return std::unexpected(access.error());
    if (access->role == access::Role::kNode) {
      return Fail(ErrorKind::kPermission,
                  "'" + EscapeForScreen(*file) +
                      "' is the access of a node; ask the hub's owner "
                      "for one of a client (spate hub access add --role client)");
    }
    bool admin = access->role == access::Role::kAdmin;
    return HubTarget{link::Target::Of(*access), "the access file '" + EscapeForScreen(*file) + "'",
                     admin ? wire::Role::kAdmin : wire::Role::kClient};
  }
  if (!file && named) return std::unexpected(file.error());
  auto socket = FindLocalHub(hub_dir);
  if (!socket) return std::nullopt;
  return HubTarget{link::Target::Of(*socket), "the socket '" + EscapeForScreen(socket->path) + "'"};
}

Result<HubTarget> NeedHub(const std::string& typed_access, const os::Environment& environment,
                          const std::string& hub_dir, const StartLine& start) {
  auto found = FindHub(typed_access, environment, hub_dir);
  if (!found) return std::unexpected(found.error());
  if (*found) {
    bool own = !(*found)->target.access && os::Exists(SocketOf(hub_dir).path);
    bool by_access = (*found)->target.access.has_value();
    if (own && start.restarts) (*found)->start = start.text;
    if (by_access && start.restarts) {
      (*found)->start = fmt::format("{} (on the hub's machine)", kStartHub);
    }
    return std::move(**found);
  }
  if (KnowsHub(hub_dir) && start.restarts) {
    return Fail(ErrorKind::kUnavailable,
                fmt::format("your hub does not run; its folder is '{}'\nStart it: {}",
                            EscapeForScreen(hub_dir), start.text));
  }
  return Fail(ErrorKind::kUnavailable,
              fmt::format("there is no hub: none of yours runs here, and there is no access file\n"
                          "Start one: {}\n"
                          "For one elsewhere, put its access file to ~/.config/spate/access (made "
                          "there by: spate hub access add)",
                          start.text));
}

HubCall::HubCall(os::RealLoop& loop, HubTarget target) : loop_(loop), target_(std::move(target)) {}

HubCall::~HubCall() = default;

void HubCall::Run() {
  if (!interrupted_) loop_.Run();
}

void HubCall::Interrupt() {
  interrupted_ = true;
  loop_.Stop();
}

Status HubCall::Connect() {
  replies_.clear();
  connection_.reset();
  window_open_ = true;
  link::Self self{SPATE_VERSION, target_.role};
  std::optional<std::expected<link::Caller::Met, link::Caller::Failure>> met;
  caller_ =
      std::make_unique<link::Caller>(loop_, target_.target, std::move(self), [&](auto result) {
        met = std::move(result);
        loop_.Stop();
      });
  while (!met && !interrupted_) Run();
  caller_.reset();
  if (!met) return Fail(ErrorKind::kBusy, "interrupted");
  if (!*met) {
    Error error = met->error().error;
    if (!reached_ && error.kind == ErrorKind::kUnavailable && !target_.start.empty()) {
      error.message += "\nStart it: " + target_.start;
    }
    return std::unexpected(std::move(error));
  }
  reached_ = true;
  connection_ = std::move((*met)->connection);
  connection_->Start(
      {.opened = {},
       .frame = [this](wire::FrameType, std::string_view message) { OnFrame(message); },
       .writable =
           [this] {
             window_open_ = true;
             loop_.Stop();
           },
       .silent = {},
       .closed =
           [this](const link::Ended& ended) {
             replies_.push_back(Fail(ErrorKind::kUnavailable, ended.text));
             loop_.Stop();
           }});
  return {};
}

void HubCall::OnFrame(std::string_view message) {
  replies_.push_back(wire::DecodeReply(message));
  loop_.Stop();
}

Status HubCall::Send(const wire::Request& request) {
  while (!window_open_ && replies_.empty() && !interrupted_) Run();
  std::string bytes;
  wire::Append(bytes, request);
  if (bytes.size() > link::Connection::kMaxMessage) {
    return Fail(ErrorKind::kInvalid, "one request is longer than a hub takes (16 MB)");
  }
  window_open_ = connection_->Send(wire::FrameType::kRequest, bytes);
  return {};
}

Status HubCall::Ask(wire::Question question, const TakeAnswer& take) {
  if (auto sent = Send(wire::Query{std::move(question)}); !sent) return sent;
  for (;;) {
    auto reply = Next();
    if (!reply) return std::unexpected(reply.error());
    if (const auto* answer = std::get_if<wire::QueryAnswer>(&*reply)) {
      if (auto taken = take(answer->bytes); !taken) return taken;
    } else if (const auto* failed = std::get_if<wire::Failed>(&*reply)) {
      return std::unexpected(ToError(*failed));
    } else if (std::holds_alternative<wire::QueryDone>(*reply)) {
      return {};
    } else {
      return Fail(ErrorKind::kIo, "the hub answered something else than was asked");
    }
  }
}

Result<wire::Reply> HubCall::Next() {
  while (replies_.empty() && !interrupted_) Run();
  if (replies_.empty()) return Fail(ErrorKind::kBusy, "interrupted");
  if (!replies_.front()) return replies_.front();  // the end stays the end
  auto reply = std::move(replies_.front());
  replies_.pop_front();
  return reply;
}

std::optional<Result<wire::Reply>> HubCall::NextWithin(Duration time) {
  bool over = false;
  os::TimerId timer = loop_.At(loop_.Now() + time, [&] {
    over = true;
    loop_.Stop();
  });
  while (replies_.empty() && !over && !interrupted_) Run();
  loop_.Cancel(timer);
  if (replies_.empty() && !interrupted_) return std::nullopt;
  return Next();
}

void HubCall::Pause(Duration time) {
  bool over = false;
  os::TimerId timer = loop_.At(loop_.Now() + time, [&] {
    over = true;
    loop_.Stop();
  });
  while (!over && !interrupted_) Run();
  loop_.Cancel(timer);
}

}  // namespace spate::client
