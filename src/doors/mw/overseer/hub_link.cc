#include "doors/mw/overseer/hub_link.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace spate::mw {

Status HubLink::Connect() {
  if (connected_) return {};
  auto status = call_.Connect();
  connected_ = status.has_value();
  return status;
}

Error HubLink::Lost(Error error) {
  connected_ = false;
  return error;
}

Status HubLink::Ask(wire::Question question, const TakeAnswer& take) {
  if (auto connected = Connect(); !connected) return connected;
  auto asked = call_.Ask(std::move(question), take);
  return asked ? Status() : std::unexpected(Lost(std::move(asked.error())));
}

Status HubLink::Send(const wire::Submit& head, const std::vector<std::string>& pieces,
                     uint32_t count, const Needs& needs) {
  if (auto sent = call_.Send(head); !sent) return sent;
  for (const std::string& piece : pieces) {
    if (auto sent = call_.Send(wire::PutPieces{{piece}}); !sent) return sent;
  }
  constexpr uint32_t kRowsAtOnce = 16'384;
  for (uint32_t left = count; left > 0;) {
    uint32_t some = std::min(left, kRowsAtOnce);
    wire::Rows rows;
    rows.rows.resize(some);
    if (auto sent = call_.Send(rows); !sent) return sent;
    left -= some;
  }
  wire::SubmitEnd end{.count = count, .requests = {needs}, .runs = {}, .order = {}};
  if (count > 0) end.runs.push_back({0, count, 0});
  return call_.Send(end);
}

Result<wire::Accepted> HubLink::Submit(const wire::Submit& head,
                                       const std::vector<std::string>& pieces, uint32_t count,
                                       const Needs& needs) {
  if (auto connected = Connect(); !connected) return std::unexpected(connected.error());
  (void)Send(head, pieces, count, needs);  // a refusal may come before all was sent
  auto reply = call_.Next();
  if (!reply) return std::unexpected(Lost(std::move(reply.error())));
  if (auto* accepted = std::get_if<wire::Accepted>(&*reply)) return std::move(*accepted);
  // The hub ends a connection whose submission it does not take.
  connected_ = false;
  const auto* failed = std::get_if<wire::Failed>(&*reply);
  if (failed == nullptr) return Fail(ErrorKind::kIo, "the hub answers something else");
  return Fail(failed->kind, failed->text);
}

}  // namespace spate::mw
