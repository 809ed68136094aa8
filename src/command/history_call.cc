#include "command/history_call.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/options/shared.h"
#include "present/advice.h"
#include "present/json/error_line.h"
#include "present/table/time_text.h"

namespace spate::cli {
namespace {

constexpr size_t kBufferBytes = 64 << 10;

std::string TypedState(const Words& words) {
  return std::string(words.Last(opt::kState).value_or(""));
}

}  // namespace

HistoryCall::HistoryCall(const HistoryEnvironment& environment, const Words& words, OutputForm form)
    : environment_(environment), words_(words), form_(form), now_(environment.now()) {}

std::string HistoryCall::state_dir() const { return environment_.state_dir(TypedState(words_)); }

Result<client::Asker*> HistoryCall::Whom() const {
  return on_hub() ? environment_.hub : environment_.here(state_dir());
}

std::string HistoryCall::StateOption() const {
  if (on_hub()) return environment_.reach;
  std::string typed = TypedState(words_);
  if (typed.empty()) return words_.Has(opt::kLocal) ? " --local" : "";
  return " --state " + ShellQuote(typed);
}

std::string HistoryCall::TimeText(Instant when) const {
  return environment_.terminal ? present::TimeAgo(when, now_) : present::DateAndMinute(when);
}

std::string HistoryCall::FullTimeText(Instant when) const {
  std::string text = present::DateAndTime(when);
  if (environment_.terminal) text += fmt::format(" ({})", present::TimeAgo(when, now_));
  return text;
}

void HistoryCall::Write(std::string_view bytes) {
  if (!written_) return;
  buffer_ += bytes;
  if (buffer_.size() >= kBufferBytes) (void)Flush();
}

void HistoryCall::WriteTitle() {
  if (!human()) return;
  std::string title = environment_.title;
  if (on_hub()) {
    // A hub that does not tell its name is asked all the same what it was asked.
    (void)Query(wire::LookAtHub(), [&](const HubFacts& hub) { title = "hub " + hub.host; });
  }
  if (!title.empty()) Write(fmt::format("{}\n", EscapeForScreen(title)));
}

Status HistoryCall::Flush() {
  if (written_ && !buffer_.empty()) written_ = environment_.write_out(buffer_);
  buffer_.clear();
  return written_;
}

void HistoryCall::Report(const Error& error) { Report(present::TextOf(error, StateOption())); }

void HistoryCall::Report(std::string_view text) {
  (void)Flush();
  environment_.write_err(fmt::format("spate: {}\n", text));
}

int CallHistory(const HistoryEnvironment& environment, const Invocation& invocation,
                const std::function<Result<int>(HistoryCall&)>& command) {
  auto form = OutputFormOf(invocation.words);
  HistoryCall call(environment, invocation.words, form.value_or(OutputForm::kHuman));
  if (!form) {
    call.Report(form.error());
    return ExitCodeOf(form.error().kind);
  }
  Result<int> code = command(call);
  Status written = call.Flush();
  if (code && written) return *code;
  const Error& error = code ? written.error() : code.error();
  const int exit_code = ExitCodeOf(error.kind);
  if (call.form() == OutputForm::kJson) {
    call.Write(present::ErrorLine(error, present::TextOf(error, call.StateOption()), exit_code));
  }
  call.Report(error);
  return exit_code;
}

}  // namespace spate::cli
