#include "client/submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/units.h"
#include "core/model/request_table.h"
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
      fmt::format(
          "task {}: its line has {} bytes, but a hub accepts at most {}; pass the data in a file",
          task, FormatCount(row.size()), FormatCount(kMost)));
}

// These two end early when the hub has answered: then it has refused. From the last message on the
// hub may have it (`sent`).
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

Status SendRest(HubCall& call, Exchange& exchange, const Submission& submission, bool& sent) {
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
  if (exchange.ready()) return {};
  sent = true;
  return call.Send(exchange, submission.end);
}

Result<wire::Accepted> SubmitOnce(HubCall& call, const Submission& submission, bool& sent) {
  auto exchange = TRY(call.Begin(submission.head));
  TRY(SendRest(call, *exchange, submission, sent));
  auto reply = TRY(call.NextSoon(*exchange));
  sent = false;  // it is known what became of it
  if (auto* accepted = std::get_if<wire::Accepted>(&reply)) return std::move(*accepted);
  if (auto* failed = std::get_if<wire::Failed>(&reply)) return std::unexpected(ErrorOf(*failed));
  return Fail(ErrorKind::kIo, "the hub answered something else than was asked");
}

// An earlier try that is still under way at the hub keeps a second one out.
bool MayGoAgain(const HubCall& call, Submission::Again again, ErrorKind error, bool sent) {
  switch (again) {
    case Submission::Again::kNever:
      return false;
    case Submission::Again::kLost:
      return (error == ErrorKind::kUnavailable && call.reached()) ||
             (error == ErrorKind::kBusy && sent);
    case Submission::Again::kBusy:
      return error == ErrorKind::kBusy;
  }
  return false;
}

// The answer to a second try says nothing about the first.
std::unexpected<Error> Unknown(const wire::Submit& head, const Error& error) {
  const bool adds = head.add_to != JobId();
  return Fail(
      ErrorKind::kUnknown,
      fmt::format("it is not known whether {}: {}\nTo repeat the command without doing it twice, "
                  "add to it: --key {}",
                  adds ? fmt::format("the tasks were added to job {}", head.add_to.value)
                       : "the job was submitted",
                  error.message, ShellQuote(head.submission)),
      adds ? Remedy("\nTo see the tasks: {}", Advice("job tasks", head.add_to.value))
           : Remedy("\nTo see whether it was: {}", Advice("job list", "--key", head.submission)));
}

}  // namespace

Submission Submission::Of(JobSettings settings, std::vector<std::string> argv) {
  Submission made;
  made.head.settings = std::make_shared<const JobSettings>(std::move(settings));
  made.head.argv = std::move(argv);
  made.head.keep_output = kKeepOutput;
  return made;
}

void Submission::SetTasks(uint32_t count, const std::function<Needs(size_t)>& needs,
                          std::function<std::string(size_t)> row) {
  RequestTable table;
  for (TaskIndex i = 0; i < count; ++i) table.Add(i, needs(i), [] { return std::string(); });
  if (count == 0) table.requests().emplace_back();
  end.count = count;
  end.requests = std::move(table.requests());
  end.runs = std::move(table.runs());
  rows = [count, row = std::move(row)](const RowVisitor& visit) {
    for (uint32_t i = 0; i < count; ++i) visit(row(i));
  };
}

void Submission::NeedFeature(std::string_view feature) {
  const std::string label = kFeatureMark + std::string(feature);
  for (TaskClass& request : end.requests) {
    std::vector<std::string>& labels = request.needs.labels;
    labels.insert(std::ranges::lower_bound(labels, label), label);
  }
}

Result<wire::Accepted> Submit(HubCall& call, const Submission& submission) {
  const Instant last = call.loop().Now() + kSubmitPatience;
  bool unheard = false;  // the hub may have one of the earlier tries
  for (Pauses pauses = submission.again == Submission::Again::kBusy ? kWhenBusy : kWhenLost;;) {
    bool sent = false;
    auto accepted = SubmitOnce(call, submission, sent);
    if (accepted) return accepted;
    unheard = unheard || sent;
    const Error& error = accepted.error();
    const bool again = MayGoAgain(call, submission.again, error.kind, unheard);
    if (!again || call.loop().Now() >= last || call.interrupted()) {
      const bool open = unheard && submission.again == Submission::Again::kLost;
      return open ? Unknown(submission.head, error) : accepted;
    }
    call.Pause(pauses.next);
    pauses.next = std::min(pauses.next + pauses.next, pauses.longest);
  }
}

}  // namespace spate::client
