#include "present/text/end_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/units.h"
#include "core/model/gang_end.h"
#include "core/model/leftovers.h"

namespace spate::present {
namespace {

bool StartsCodePoint(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

std::string WithNote(std::string_view text, std::string_view note) {
  if (note.empty()) return std::string(text);
  return fmt::format("{}: {}", text, EscapeForScreen(note));
}

}  // namespace

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? name : "";
}

std::string CauseText(const AttemptEnd& end) {
  switch (end.cause) {
    case Cause::kSuccess:
      return "succeeded";
    case Cause::kExit:
      if (std::string_view why = NoteLine(end.note, kLeftoverFailedLine); !why.empty()) {
        return WithNote(fmt::format("exit code {}", end.status), why);
      }
      if (end.status == 127 || end.status == 126) {
        return WithNote(fmt::format("exit code {}", end.status), end.note);
      }
      return fmt::format("exit code {}", end.status);
    case Cause::kSignal: {
      std::string name = SignalName(end.status);
      return WithNote(name.empty() ? fmt::format("signal {}", end.status)
                                   : fmt::format("signal {} ({})", end.status, name),
                      NoteLine(end.note, kLeftoverFailedLine));
    }
    case Cause::kTimeLimit:
      return WithNote("over its time limit", end.note);
    case Cause::kMemory:
      // The note has limit and peak.
      if (!end.note.empty()) return WithNote("over its memory limit", end.note);
      return end.peak_memory > 0
                 ? fmt::format("over its memory limit (peak {})", FormatSize(end.peak_memory))
                 : "over its memory limit";
    case Cause::kExcess:
      return WithNote("over its limits", end.note);
    case Cause::kCheck:
      if (std::string_view why = NoteLine(end.note, kLeftRunningLine); !why.empty()) {
        return EscapeForScreen(why);
      }
      return WithNote("output check failed", end.note);
    case Cause::kNode:
      if (IsDiskFull(end)) return WithNote("its node's disk was full", end.note);
      return "lost with its node";
    case Cause::kStart:
      if (!end.note.empty() && end.status > 0) {
        return fmt::format("{} ({})", EscapeForScreen(end.note), end.status);
      }
      return WithNote(end.status == 127   ? "command not found (127)"
                      : end.status == 126 ? "not executable (126)"
                                          : "could not be started",
                      end.note);
    case Cause::kStopped:
      if (!IsCutOff(end)) return "stopped";
      if (end.note.empty() || end.note.starts_with("its node ended")) {
        return "cut off because its node ended";
      }
      return EscapeForScreen(end.note);
  }
  return "?";
}

std::string VerdictText(const AttemptEnd& end) {
  const std::string_view decided = DecidedLine(end.note);
  return decided.empty() ? CauseText(end) : EscapeForScreen(decided);
}

std::string FailureVerdict(const AttemptEnd& end, bool unknown) {
  return unknown ? "end unknown (--once)" : VerdictText(end);
}

std::string_view NotKeptWhy(NotKept why) {
  constexpr std::string_view kWhy[] = {
      "",
      ", because the hub's disk had too little free space",
      ", because the hub keeps no more output of this user (see spate hub user); to make room, "
      "remove ended jobs with spate job forget",
      ", because of --keep-output",
      ", because a job keeps 1 GB unless --keep-output is larger",
      ", because its node could not store or send it",
      ", because its file on the hub is damaged",
  };
  return kWhy[std::min(static_cast<size_t>(why), std::size(kWhy) - 1)];
}

std::string FailureRest(const AttemptEnd& end, std::string_view command) {
  std::string tries = end.ref.attempt.value > 1 ? fmt::format(", attempt {}", end.ref.attempt.value)
                                                : std::string();
  return fmt::format(" after {}{}: {}", FormatDuration(end.wall), tries,
                     CutTo(EscapeForScreen(command), kCommandColumns));
}

std::string LeftBehindText(const AttemptEnd& end) {
  std::string_view line = NoteLine(end.note, kLeftBehindLine);
  if (line.empty()) return "";
  line.remove_prefix(kLeftBehindLine.size());
  if (line.ends_with(kLeftBehindEnd)) line.remove_suffix(kLeftBehindEnd.size());
  return std::string(line);
}

std::string CountOf(uint64_t count, std::string_view noun) {
  const std::string_view end = noun.ends_with('s') ? "es" : "s";
  return fmt::format("{} {}{}", FormatCount(count), noun, count == 1 ? "" : end);
}

std::string BriefDuration(Duration d) {
  auto s = static_cast<int64_t>(std::llround(d.seconds()));
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d{:02}h", s / 86400, s / 3600 % 24);
}

std::string BriefRate(double per_second) {
  if (per_second >= 9.95) {
    return fmt::format("{}/s", FormatCount(static_cast<uint64_t>(std::llround(per_second))));
  }
  if (per_second >= 0.95) return fmt::format("{:.1f}/s", per_second);
  if (per_second * 60 >= 0.95) return fmt::format("{:.0f}/min", per_second * 60);
  if (per_second * 3600 >= 0.95) return fmt::format("{:.0f}/h", per_second * 3600);
  return "";
}

size_t Columns(std::string_view text) {
  size_t count = 0;
  for (char c : text) count += StartsCodePoint(c);
  return count;
}

std::string CutTo(std::string_view text, size_t columns) {
  if (Columns(text) <= columns) return std::string(text);
  size_t keep = columns > 3 ? columns - 3 : columns;
  size_t at = 0;
  for (size_t count = 0; at < text.size(); ++at) {
    if (StartsCodePoint(text[at]) && count++ == keep) break;
  }
  return std::string(text.substr(0, at)) + (columns > 3 ? "..." : "");
}

}  // namespace spate::present
