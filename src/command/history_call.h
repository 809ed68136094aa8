// One call of a history command: what was asked, and where the answer goes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "cli/main.h"
#include "cli/options/run_options.h"
#include "command/history_environment.h"
#include "present/json/json_line.h"

namespace spate::cli {

class HistoryCall {
 public:
  HistoryCall(const HistoryEnvironment& environment, const Words& words, OutputForm form);

  const HistoryEnvironment& environment() const { return environment_; }
  const Words& words() const { return words_; }
  OutputForm form() const { return form_; }
  bool human() const { return form_ == OutputForm::kHuman; }
  bool on_hub() const { return environment_.hub != nullptr; }
  // The folder of runs.
  std::string state_dir() const;
  // " --state DIR" when it was typed, for commands to type next; of a hub, what makes them mean it.
  std::string StateOption() const;
  uint32_t width() const { return environment_.width; }
  Instant now() const { return now_; }
  // "5m ago" on a terminal, else the date and the minute.
  std::string TimeText(Instant when) const;
  // "2026-07-03 12:40:05", on a terminal also how long ago.
  std::string FullTimeText(Instant when) const;

  // The side that answers: the hub, or the reader of this machine's runs.
  Result<client::Asker*> Whom() const;
  // Calls `take` with each answer, until what it writes cannot be written.
  template <typename Q, typename Take>
  Status Query(Q question, Take take) {
    auto asker = TRY(Whom());
    return client::Query(*asker, std::move(question), [&](typename Q::Answer answer) {
      take(std::move(answer));
      return written_;
    });
  }

  // Data. Buffered; after a failure nothing more is written.
  void Write(std::string_view bytes);
  void Write(const present::JsonLine& line) { Write(line.Finish()); }
  Status Flush();
  // Above a table for people: whose jobs it shows, where that could be another's.
  void WriteTitle();
  // Talk: "spate: TEXT" to standard error, after the data before it.
  void Report(std::string_view text);
  void Report(const Error& error);  // its commands mean this place

 private:
  const HistoryEnvironment& environment_;
  const Words& words_;
  OutputForm form_;
  Instant now_;
  std::string buffer_;
  Status written_;
};

// Carries a command out, reports its error, and returns the exit code.
int CallHistory(const HistoryEnvironment& environment, const Invocation& invocation,
                const std::function<Result<int>(HistoryCall&)>& command);

}  // namespace spate::cli
