// The user's texts stand in the script as they are, each between newlines, so that an error of the
// shell has a line that the user knows. Words are quoted. CR before a newline goes: sbatch refuses
// such a script. Within a quoted word it must stay, so there the quotes are closed between the two.
#include "pool/script.h"

#include <algorithm>

#include "base/units.h"
#include "pool/parts.h"

namespace spate::pool {
namespace {

void ReplaceAll(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string Quote(std::string_view word) {
  std::string quoted = ShellQuote(word);
  ReplaceAll(quoted, "\r\n", "\r''\n");
  return quoted;
}

std::string UserText(std::string text) {
  ReplaceAll(text, "\r\n", "\n");
  if (text.ends_with('\r')) text.pop_back();
  return text + "\n";
}

// A file that the system has brought lies where the script starts.
std::string Word(const PilotSpec& spec, const std::string& word) {
  bool brought = !spec.shared_files && std::ranges::find(spec.files, word) != spec.files.end();
  if (!brought) return Quote(word);
  return "\"$SPATE_PILOT_FILES\"/" + Quote(word.substr(word.rfind('/') + 1));
}

constexpr std::string_view kSignals = R"(
spate_pilot= spate_end= spate_told=
spate_tell() {
  spate_end=1
  if [ -n "$spate_pilot" ] && [ -z "$spate_told" ]; then
    spate_told=1
    kill -TERM "$spate_pilot" 2>/dev/null
  fi
}
trap spate_tell TERM INT HUP USR1 USR2
(
  trap '' USR1 USR2
)";

constexpr std::string_view kWait = R"() &
spate_pilot=$!
[ -z "$spate_end" ] || spate_tell
while :; do
  wait "$spate_pilot"
  spate_status=$?
  kill -0 "$spate_pilot" 2>/dev/null || break
done
)";

// The hub reads the host (hub/pools/batch_caller.cc).
constexpr std::string_view kEnd = R"(spate_host=$(uname -n)
trap 'spate_code=$?
[ "$spate_code" -eq 0 ] ||
  echo "spate: the pilot ended with exit status $spate_code on host $spate_host" >&2' EXIT
)";

// The node compares (pool/prologue.h).
constexpr std::string_view kBeforePrologue =
    R"(SPATE_PILOT_BEFORE=$(mktemp || TMPDIR=/tmp mktemp) || exit 1
export SPATE_PILOT_BEFORE
env -0 >"$SPATE_PILOT_BEFORE" || exit 1
)";

constexpr std::string_view kAfterPrologue = R"(spate_status=$?
set +eu
if [ "$spate_status" -ne 0 ]; then
  rm -f "$SPATE_PILOT_BEFORE"
  echo "spate: the prologue ended with exit status $spate_status" >&2
  exit "$spate_status"
fi
)";

}  // namespace

std::string PilotScript(const PilotSpec& spec, const ScriptPart& part) {
  std::string text = "#!/bin/sh\n";
  auto set = [&](std::string_view name, std::string_view value) {
    text.append(name).append("=").append(value).append("\nexport ").append(name).append("\n");
  };
  // The first command stands before all that is the user's: what looks like an option of the
  // batch system in a comment behind it is none.
  set("SPATE_PILOT", spec.tag);
  set("SPATE_PILOT_SYSTEM", part.system);
  set("SPATE_PILOT_STARTED", "$(date +%s)");
  if (part.time_limit) {
    set("SPATE_PILOT_SECONDS", WholeSeconds(*part.time_limit));
  } else {
    text += "unset SPATE_PILOT_SECONDS\n";
  }
  text += kEnd;
  text += part.lines;
  if (!spec.shared_files) text += "SPATE_PILOT_FILES=$PWD\n";
  if (!spec.folder.empty()) text += "cd " + Quote(spec.folder) + " || exit 1\n";
  if (!spec.prologue.empty() || !spec.wrapper.empty()) text += kBeforePrologue;
  if (!spec.prologue.empty()) {
    text += "# the pool's prologue\n" + UserText(spec.prologue);
    text += kAfterPrologue;
  }
  text += kSignals.substr(1);
  text += "  exec";
  if (!spec.wrapper.empty()) text += " " + spec.wrapper;
  for (const std::string& word : spec.command) text += " " + Word(spec, word);
  text += "\n";
  text += kWait;
  if (!spec.epilogue.empty()) text += "# the pool's epilogue\n" + UserText(spec.epilogue);
  return text + "exit \"$spate_status\"\n";
}

}  // namespace spate::pool
