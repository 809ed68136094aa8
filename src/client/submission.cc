#include "client/submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/units.h"
#include "wire/limits.h"
#include "wire/pieces.h"

namespace spate::client {
namespace {

constexpr size_t kRowsAtOnce = 16'384;
constexpr size_t kEdgesAtOnce = 65'536;
constexpr Duration kSubmitPatience = Duration::Seconds(60);

struct Pauses {
  Duration next, longest;
};
// A hub that was lost may be starting again with many jobs; others submit quickly.
constexpr Pauses kWhenLost{Duration::Millis(200), Duration::Seconds(5)};
constexpr Pauses kWhenBusy{Duration::Millis(5), Duration::Millis(500)};

// A hub ends the connection of a client that sends more.
Status CheckRow(uint32_t task, std::string_view row) {
  constexpr uint64_t kMost = wire::kWireLimits.row_bytes;
  if (row.size() <= kMost) return {};
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("task {}: its line has {} bytes, and a hub takes {} at most: pass the data "
                  "in a file",
                  task, FormatCount(row.size()), FormatCount(kMost)));
}

// These two end early when the hub has answered: then it has refused.
Status SendRows(HubCall& call, Exchange& exchange, const Submission& submission) {
  wire::Rows rows;
  size_t bytes = 0;
  Status status;
  auto flush = [&] {
    status = call.Send(exchange, std::exchange(rows, {}));
    bytes = 0;
  };
  uint32_t task = submission.end.known_tasks;
  submission.rows([&](std::string_view row) {
    if (!status || exchange.ready()) return;
    status = CheckRow(++task, row);
    if (!status) return;
    bytes += row.size();
    rows.rows.emplace_back(row);
    if (rows.rows.size() == kRowsAtOnce || bytes > wire::kPieceBytes) flush();
  });
  if (status && !rows.rows.empty()) flush();
  return status;
}

Status SendRest(HubCall& call, Exchange& exchange, const Submission& submission) {
  for (const std::string& piece : submission.pieces) {
    if (exchange.ready()) return {};
    TRY(call.Send(exchange, wire::PutPieces{{piece}}));
  }
  if (submission.end.count > 0) {
    TRY(SendRows(call, exchange, submission));
  }
  for (std::span<const Edge> left = submission.edges; !left.empty();) {
    if (exchange.ready()) return {};
    auto some = left.first(std::min(kEdgesAtOnce, left.size()));
    TRY(call.Send(exchange, wire::Edges{{some.begin(), some.end()}}));
    left = left.subspan(some.size());
  }
  return exchange.ready() ? Status() : call.Send(exchange, submission.end);
}

Result<wire::Accepted> SubmitOnce(HubCall& call, const Submission& submission) {
  auto exchange = TRY(call.Begin(submission.head));
  TRY(SendRest(call, *exchange, submission));
  auto reply = TRY(call.Next(*exchange));
  if (auto* accepted = std::get_if<wire::Accepted>(&reply)) return std::move(*accepted);
  if (auto* failed = std::get_if<wire::Failed>(&reply)) return std::unexpected(ErrorOf(*failed));
  return Fail(ErrorKind::kIo, "the hub answered something else than was asked");
}

bool MayGoAgain(const HubCall& call, Submission::Again again, ErrorKind error) {
  switch (again) {
    case Submission::Again::kNever:
      return false;
    case Submission::Again::kLost:
      return error == ErrorKind::kUnavailable && call.reached();
    case Submission::Again::kBusy:
      return error == ErrorKind::kBusy;
  }
  return false;
}

}  // namespace

Result<wire::Accepted> Submit(HubCall& call, const Submission& submission) {
  const Instant last = call.loop().Now() + kSubmitPatience;
  for (Pauses pauses = submission.again == Submission::Again::kBusy ? kWhenBusy : kWhenLost;;) {
    auto accepted = SubmitOnce(call, submission);
    if (accepted || !MayGoAgain(call, submission.again, accepted.error().kind)) return accepted;
    if (call.loop().Now() >= last || call.interrupted()) return accepted;
    call.Pause(pauses.next);
    pauses.next = std::min(pauses.next + pauses.next, pauses.longest);
  }
}

}  // namespace spate::client
