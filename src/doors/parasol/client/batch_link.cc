#include "doors/parasol/client/batch_link.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace spate::parasol {
namespace {

constexpr Duration kFirstLinkPause = Duration::Millis(5);
constexpr Duration kLongestLinkPause = Duration::Millis(500);
// With others who ask.
constexpr Duration kPatience = Duration::Seconds(60);

}  // namespace

std::string BatchSubmission(const std::string& results) { return "para/" + results; }

Status BatchLink::Query(wire::Question question, const AcceptAnswer& take) {
  const bool reads = wire::IsOfJournal(question.number());
  Instant last = loop_.Now() + kPatience;
  for (Duration pause = kFirstLinkPause;; pause = std::min(pause + pause, kLongestLinkPause)) {
    bool taken = false;
    auto asked = call_.Query(question, [&](std::string_view bytes) {
      taken = true;
      return take(bytes);
    });
    bool again = !asked && asked.error().kind == ErrorKind::kBusy && reads && !taken;
    if (!again || loop_.Now() >= last || call_.interrupted()) return asked;
    call_.Pause(pause);
  }
}

Result<JobId> BatchLink::FindJob() {
  auto work = TRY(client::QueryOne(
      *this, wire::LookAtWork{.submission = BatchSubmission(state_.name()), .user = {}}));
  return work.job;
}

Result<JobId> BatchLink::NeedJob() {
  auto job = FindJob();
  if (job && *job == JobId()) return Fail(ErrorKind::kNotFound, "Batch not found.");  // its words
  return job;
}

}  // namespace spate::parasol
