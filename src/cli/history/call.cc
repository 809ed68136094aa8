#include "cli/history/call.h"

#include <fmt/format.h>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/report.h"
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
      state_dir_(environment.state_dir(TypedState(words))),
      now_(environment.now()) {}

std::string HistoryCall::StateOption() const {
  std::string typed = TypedState(words_);
  return typed.empty() ? "" : " --state " + ShellQuote(typed);
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
  if (!form) return ReportError(form.error());
  HistoryCall call(environment, invocation.words, *form);
  Result<int> code = command(call);
  Status written = call.Flush();
  if (!code) return ReportError(code.error());
  return written ? *code : ReportError(written.error());
}

}  // namespace spate::cli
