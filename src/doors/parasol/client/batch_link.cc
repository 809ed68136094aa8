#include "doors/parasol/client/batch_link.h"

#include <algorithm>
#include <utility>

namespace spate::parasol {
namespace {

constexpr Duration kFirstPause = Duration::Millis(5);
constexpr Duration kLongestPause = Duration::Millis(500);
constexpr Duration kPatience = Duration::Seconds(60);  // with others who submit to the batch

}  // namespace

std::string BatchSubmission(const std::string& results) { return "para/" + results; }

Status BatchLink::Connect() {
  if (connected_) return {};
  auto status = call_.Connect();
  connected_ = status.has_value();
  return status;
}

Error BatchLink::Lost(Error error) {
  connected_ = false;
  return error;
}

Status BatchLink::Ask(const std::string& verb, const std::vector<std::string>& words,
                      const Take& take) {
  if (auto connected = Connect(); !connected) return connected;
  wire::Command command;
  command.argv = {"para", verb, state_.name()};
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  if (auto sent = call_.Send(std::move(command)); !sent) {
    return std::unexpected(Lost(std::move(sent.error())));
  }
  std::string complaint;
  for (;;) {
    auto reply = call_.Next();
    if (!reply) return std::unexpected(Lost(std::move(reply.error())));
    if (const auto* failed = std::get_if<wire::Failed>(&*reply)) {
      return Fail(failed->kind, failed->text);
    }
    if (const auto* exited = std::get_if<wire::Exited>(&*reply)) {
      return exited->code == 0 ? Status() : Fail(ErrorKind::kIo, complaint);
    }
    const auto* printed = std::get_if<wire::Printed>(&*reply);
    if (printed == nullptr) {
      return std::unexpected(Lost({ErrorKind::kIo, "the hub answers something else"}));
    }
    if (printed->stream == 2) complaint = printed->bytes;
    if (auto taken = take(printed->stream, printed->bytes); !taken) {
      return std::unexpected(Lost(std::move(taken.error())));
    }
  }
}

Result<std::string> BatchLink::Ask(const std::string& verb, const std::vector<std::string>& words) {
  std::string text;
  auto asked = Ask(verb, words, [&](int stream, std::string_view bytes) -> Status {
    if (stream == 1) text += bytes;
    return {};
  });
  if (!asked) return std::unexpected(std::move(asked.error()));
  return text;
}

Result<wire::Accepted> BatchLink::Submit(const std::function<Status(client::HubCall&)>& send) {
  Instant last = loop_.Now() + kPatience;
  for (Duration pause = kFirstPause;; pause = std::min(pause + pause, kLongestPause)) {
    if (auto connected = Connect(); !connected) return std::unexpected(connected.error());
    (void)send(call_);  // a refusal may come before all was sent
    auto reply = call_.Next();
    if (!reply) return std::unexpected(Lost(std::move(reply.error())));
    if (auto* accepted = std::get_if<wire::Accepted>(&*reply)) return std::move(*accepted);
    // The hub ends a connection whose submission it does not take.
    connected_ = false;
    const auto* failed = std::get_if<wire::Failed>(&*reply);
    if (failed == nullptr) return Fail(ErrorKind::kIo, "the hub answers something else");
    if (failed->kind != ErrorKind::kBusy || loop_.Now() >= last || call_.interrupted()) {
      return Fail(failed->kind, failed->text);
    }
    call_.Pause(pause);
  }
}

}  // namespace spate::parasol
