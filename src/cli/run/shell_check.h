// Refuses tasks whose text the job's shell would read otherwise than bash does
// (format/shell_dialect.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/model/job.h"
#include "format/shell_dialect.h"

namespace spate::cli {

class ShellCheck {
 public:
  // Looks at nothing.
  ShellCheck() = default;
  // For tasks with these settings, whose environment begins as this process's when `inherits`.
  // `remedy`: how to have bash read the text.
  ShellCheck(const JobSettings& settings, bool inherits, std::string remedy = "add --shell bash");

  // Why the task cannot run as it was meant; empty when it can.
  std::string Why(std::string_view text) const;
  // Judges words that no shell reads, unless they are a shell and its text.
  std::string WhyArgv(std::span<const std::string> argv) const;
  // Judges the command of a job: one word is shell text.
  Status Check(std::span<const std::string> command) const;

 private:
  std::string Told(const format::BashText& found, std::string_view remedy) const;

  format::ShellKind kind_ = format::ShellKind::kOther;
  std::string shell_;
  std::string remedy_;
  std::vector<std::string> variables_;
};

}  // namespace spate::cli
