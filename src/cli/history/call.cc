#include "cli/history/call.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/table/time_text.h"

namespace spate::cli {
namespace {

constexpr size_t kBufferBytes = 64 << 10;

std::string TypedState(const Words& words) {
  return std::string(words.Last(Opt::kState).value_or(""));
}

}  // namespace

HistoryCall::HistoryCall(const HistoryEnvironment& environment, const Words& words, OutputForm form)
    : environment_(environment),
      words_(words),
      form_(form),
      place_(environment.hub_dir.empty() ? store::JobPlace(environment.state_dir(TypedState(words)))
                                         : store::JobPlace::Hub(environment.hub_dir)),
      now_(environment.now()) {}

std::string HistoryCall::PlaceText() const {
  return on_hub() ? "on the hub" : fmt::format("in '{}'", EscapeForScreen(place_.dir));
}

bool HistoryCall::MaySee(const store::JobRow& row) const {
  const Viewer& viewer = environment_.viewer;
  return !on_hub() || viewer.is_admin || viewer.user == row.user;
}

Result<store::History> HistoryCall::OpenHistory(uint32_t job) const {
  auto history = store::History::Open(place_, job);
  if (!history || MaySee(history->summary().row)) return history;
  std::string owner = EscapeForScreen(history->summary().row.user);
  return Fail(ErrorKind::kPermission,
              fmt::format("job {} belongs to {}; only {} and the hub's administrators may look "
                          "into it",
                          job, owner, owner));
}

std::string HistoryCall::StateOption() const {
  if (on_hub()) return environment_.reach;
  std::string typed = TypedState(words_);
  if (typed.empty()) return words_.Has(Opt::kLocal) ? " --local" : "";
  return " --state " + ShellQuote(typed);
}

std::string HistoryCall::TimeText(Instant when) const {
  return environment_.terminal ? TimeAgo(when, now_) : DateAndMinute(when);
}

std::string HistoryCall::FullTimeText(Instant when) const {
  std::string text = DateAndTime(when);
  if (environment_.terminal) text += fmt::format(" ({})", TimeAgo(when, now_));
  return text;
}

void HistoryCall::Put(std::string_view bytes) {
  if (!written_) return;
  buffer_ += bytes;
  if (buffer_.size() >= kBufferBytes) (void)Flush();
}

void HistoryCall::PutTitle() {
  const std::string& title = environment_.title;
  if (human() && !title.empty()) Put(fmt::format("{}\n", EscapeForScreen(title)));
}

Status HistoryCall::Flush() {
  if (written_ && !buffer_.empty()) written_ = environment_.write_out(buffer_);
  buffer_.clear();
  return written_;
}

void HistoryCall::Say(std::string_view text) {
  (void)Flush();
  environment_.write_err(fmt::format("spate: {}\n", text));
}

int CallHistory(const HistoryEnvironment& environment, const Invocation& invocation,
                const std::function<Result<int>(HistoryCall&)>& command) {
  auto form = OutputFormOf(invocation.words);
  HistoryCall call(environment, invocation.words, form.value_or(OutputForm::kHuman));
  if (!form) {
    call.Say(form.error().message);
    return ExitCodeOf(form.error().kind);
  }
  Result<int> code = command(call);
  Status written = call.Flush();
  if (code && written) return *code;
  const Error& error = code ? written.error() : code.error();
  call.Say(error.message);
  return ExitCodeOf(error.kind);
}

}  // namespace spate::cli
