#include "doors/parasol/client/batch_link.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace spate::parasol {
namespace {

constexpr Duration kFirstLinkPause = Duration::Millis(5);
constexpr Duration kLongestLinkPause = Duration::Millis(500);
// With others who submit to the batch, or ask.
constexpr Duration kPatience = Duration::Seconds(60);

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

Status BatchLink::Ask(wire::Question question, const TakeAnswer& take) {
  bool reads = std::visit([]<typename Q>(const Q&) { return wire::OfJournal<Q>; }, question);
  Instant last = loop_.Now() + kPatience;
  for (Duration pause = kFirstLinkPause;; pause = std::min(pause + pause, kLongestLinkPause)) {
    if (auto connected = Connect(); !connected) return connected;
    bool taken = false;
    auto asked = call_.Ask(question, [&](std::string_view bytes) {
      taken = true;
      return take(bytes);
    });
    if (asked) return {};
    // What is left of the answer would be taken for the next one.
    Error error = Lost(std::move(asked.error()));
    bool again = reads && !taken && error.kind == ErrorKind::kBusy && loop_.Now() < last;
    if (!again || call_.interrupted()) return std::unexpected(std::move(error));
    call_.Pause(pause);
  }
}

Result<JobId> BatchLink::FindJob() {
  auto work = client::AskOne(
      *this, wire::LookAtWork{.submission = BatchSubmission(state_.name()), .user = {}});
  if (!work) return std::unexpected(std::move(work.error()));
  return work->job;
}

Result<JobId> BatchLink::NeedJob() {
  auto job = FindJob();
  if (job && *job == JobId()) return Fail(ErrorKind::kNotFound, "Batch not found.");  // its words
  return job;
}

Result<wire::Accepted> BatchLink::Submit(const std::function<Status(client::HubCall&)>& send) {
  Instant last = loop_.Now() + kPatience;
  for (Duration pause = kFirstLinkPause;; pause = std::min(pause + pause, kLongestLinkPause)) {
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
