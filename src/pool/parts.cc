#include "pool/parts.h"

#include <algorithm>

#include "base/number.h"
#include "base/units.h"

namespace spate::pool {
namespace {

constexpr size_t kSaidBytes = 800;
constexpr size_t kTagBytes = 60;

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsPath(std::string_view path) {
  return path.starts_with('/') && path.find_first_of("\r\n") == std::string_view::npos;
}

bool HasNul(std::span<const std::string> words) {
  return std::ranges::any_of(words, [](const std::string& w) { return w.contains('\0'); });
}

// One line, without blank lines.
std::string Said(std::string_view text) {
  std::string said;
  for (size_t at = 0; at < text.size() && said.size() < kSaidBytes;) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = Trimmed(text.substr(at, end - at));
    if (!line.empty() && !said.empty()) said += "; ";
    said += EscapeForScreen(line.substr(0, kSaidBytes));
    at = end + 1;
  }
  if (said.size() > kSaidBytes) said.replace(kSaidBytes, std::string::npos, " ...");
  return said;
}

// True if getopt_long takes "--outp=x" for --output. It refuses ambiguous words itself.
bool IsCutShort(std::string_view word, std::string_view option) {
  const std::string_view name = word.substr(0, word.find('='));
  return name.size() > 2 && option.starts_with(name);
}

}  // namespace

bool ValidTag(std::string_view tag) {
  if (tag.empty() || tag.size() > kTagBytes || !IsLetter(tag[0])) return false;
  return std::ranges::all_of(
      tag, [](char c) { return IsLetter(c) || IsDigit(c) || c == '-' || c == '_'; });
}

Status CheckSpec(const PilotSpec& spec) {
  auto invalid = [](std::string text) { return Fail(ErrorKind::kInvalid, std::move(text)); };
  if (!ValidTag(spec.tag)) {
    return invalid("a pilot's name is 1 to 60 letters, digits, - and _, the first a letter");
  }
  if (spec.nodes < 1) return invalid("a pilot has at least one node");
  if (spec.command.empty() || spec.command[0].empty()) return invalid("a pilot needs a command");
  std::string texts[] = {spec.prologue, spec.epilogue,    spec.wrapper,
                         spec.folder,   spec.output_file, spec.script_file};
  if (HasNul(texts) || HasNul(spec.options) || HasNul(spec.command) || HasNul(spec.files)) {
    return invalid("a NUL byte in a pilot's settings");
  }
  if (spec.time_limit && spec.time_limit->ns <= 0) return invalid("a time limit of zero");
  if (!IsPath(spec.output_file)) {
    return invalid("the output file of a pilot is not an absolute path: " +
                   EscapeForScreen(spec.output_file));
  }
  for (const std::string& path : {spec.folder, spec.script_file}) {
    if (path.empty() || IsPath(path)) continue;
    return invalid("not an absolute path: " + EscapeForScreen(path));
  }
  return {};
}

Status CheckOptions(std::span<const std::string> words, std::span<const RefusedOption> refused) {
  for (const std::string& word : words) {
    for (const RefusedOption& option : refused) {
      bool hit = word == option.name;
      const bool is_long = option.name.starts_with("--");
      std::string read;  // how the command understands the word
      if (!hit && option.attached && is_long) {
        hit = IsCutShort(word, option.name);
        if (hit && word.substr(0, word.find('=')) != option.name) read = option.name;
      } else if (!hit && option.attached && word.starts_with(option.name)) {
        hit = true;
        read = std::string(option.name) + " followed by '" +
               EscapeForScreen(word.substr(option.name.size())) + "'";
      }
      if (!hit) continue;
      return Fail(ErrorKind::kInvalid,
                  "option " + EscapeForScreen(word) +
                      (read.empty() ? "" : ", which is read as " + read + ",") +
                      " cannot be given to a pool: " + std::string(option.why));
    }
  }
  return {};
}

std::optional<std::string> ResourceOption(std::span<const std::string> words,
                                          std::string_view name) {
  std::optional<std::string> found;
  for (size_t k = 0; k < words.size(); ++k) {
    std::string_view list = words[k];
    if (!list.starts_with("-l")) continue;
    list.remove_prefix(2);
    if (list.empty() && k + 1 < words.size()) list = words[++k];
    while (!list.empty()) {
      std::string_view field = Trimmed(NextField(list, ','));
      if (!field.starts_with(name)) continue;
      field.remove_prefix(name.size());
      if (field.starts_with('=')) found = std::string(field.substr(1));
    }
  }
  return found;
}

std::optional<Duration> ParseLimit(std::string_view text, Duration unit) {
  constexpr int64_t kMost = 100'000'000;
  int64_t days = 0;
  bool has_days = text.contains('-');
  if (has_days) {
    auto number = ReadNumber<uint32_t>(NextField(text, '-'));
    if (!number || *number > kMost / 86400) return std::nullopt;
    days = *number;
  }
  std::vector<int64_t> parts;
  bool more = true;
  while (more) {
    more = text.contains(':');
    auto number = ReadNumber<uint32_t>(NextField(text, ':'));
    if (!number || *number > kMost || parts.size() == 3) return std::nullopt;
    parts.push_back(*number);
  }
  if (parts.size() == 1 && !has_days) return unit * parts[0];
  if (has_days || parts.size() == 3) {
    parts.resize(3);
  } else {
    parts.insert(parts.begin(), 0);
  }
  int64_t seconds = ((days * 24 + parts[0]) * 60 + parts[1]) * 60 + parts[2];
  if (seconds > kMost * 60) return std::nullopt;
  return Duration::Seconds(seconds);
}

std::string WholeSeconds(Duration limit) {
  constexpr int64_t kSecond = 1'000'000'000;
  int64_t seconds = limit.ns / kSecond + (limit.ns % kSecond > 0 ? 1 : 0);
  return std::to_string(std::max<int64_t>(seconds, 1));
}

std::string_view NextField(std::string_view& rest, char separator) {
  size_t end = rest.find(separator);
  std::string_view field = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return field;
}

std::vector<std::string_view> WholeLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (text.contains('\n')) {
    std::string_view line = NextField(text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
  }
  return lines;
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

bool IsDigits(std::string_view text) { return !text.empty() && std::ranges::all_of(text, IsDigit); }

bool ContainsAny(std::string_view text, std::span<const std::string_view> parts) {
  return std::ranges::any_of(parts, [text](std::string_view part) { return text.contains(part); });
}

std::string Describe(std::string_view program, const Outcome& outcome) {
  std::string text(program);
  switch (outcome.end) {
    case Outcome::End::kExited:
      text += " failed (exit code " + std::to_string(outcome.exit_code) + ")";
      break;
    case Outcome::End::kTimedOut:
      text += " did not answer in time";
      break;
    case Outcome::End::kNotStarted:
      text += " could not be started";
      break;
  }
  std::string said = Said(outcome.err);
  if (said.empty()) said = Said(outcome.out);
  return said.empty() ? text : text + ": " + said;
}

namespace {

// A signal ended the command, or its output was cut: it may have done its work.
bool WasKilled(const Outcome& outcome) {
  constexpr int kSignalled = 128;
  constexpr int kSignals[] = {1, 2, 6, 7, 9, 11, 13, 15};  // HUP, INT, ABRT, BUS, KILL, SEGV, ...
  return outcome.end == Outcome::End::kExited &&
         std::ranges::any_of(kSignals, [&](int s) { return outcome.exit_code == kSignalled + s; });
}

SubmitFailure FailureOf(std::string_view program, const Outcome& outcome,
                        const FailureTexts& texts) {
  using Kind = SubmitFailure::Kind;
  SubmitFailure failure{.message = Describe(program, outcome)};
  std::string said = outcome.err + "\n" + outcome.out;
  bool timed_out = outcome.end == Outcome::End::kTimedOut;
  bool exited = outcome.end == Outcome::End::kExited;
  failure.perhaps_there = timed_out || WasKilled(outcome) || ContainsAny(said, texts.perhaps);
  if (outcome.end == Outcome::End::kNotStarted) {
    failure.kind = Kind::kUnavailable;
  } else if (exited && texts.limit_exit != 0 && outcome.exit_code == texts.limit_exit) {
    failure.kind = Kind::kLimit;
  } else if (ContainsAny(said, texts.limits)) {
    failure.kind = ContainsAny(said, texts.never) ? Kind::kRefused : Kind::kLimit;
  } else if (timed_out || failure.perhaps_there || ContainsAny(said, texts.unavailable)) {
    failure.kind = Kind::kUnavailable;
  } else {
    failure.kind =
        outcome.exit_code == 126 || outcome.exit_code == 127 ? Kind::kUnavailable : Kind::kRefused;
  }
  return failure;
}

SubmitFailure NoId(std::string_view program, const Outcome& outcome) {
  std::string said = Said(outcome.out + "\n" + outcome.err);
  return {.kind = SubmitFailure::Kind::kUnavailable,
          .perhaps_there = true,
          .message = std::string(program) + " returned no id" + (said.empty() ? "" : ": " + said)};
}

}  // namespace

Submitted ReadId(std::string_view program, const Outcome& outcome,
                 const std::optional<std::string>& id, const FailureTexts& texts) {
  if (outcome.end == Outcome::End::kExited && outcome.exit_code == 0) {
    if (id) return *id;
    return std::unexpected(NoId(program, outcome));
  }
  SubmitFailure failure = FailureOf(program, outcome, texts);
  if (id) failure.perhaps_there = true;
  return std::unexpected(std::move(failure));
}

CommandLine CancelCall(std::string_view program, std::span<const std::string> everywhere,
                       std::span<const std::string> ids, bool (*is_id)(std::string_view)) {
  CommandLine call;
  call.argv = {std::string(program)};
  Append(call.argv, everywhere);
  std::ranges::copy_if(ids, std::back_inserter(call.argv), is_id);
  call.environment = {"LC_ALL=C"};
  return call;
}

Listing::Listing(const PilotQuery& query)
    : query_(query), ids_(query.ids.begin(), query.ids.end()) {}

void Listing::Add(ListedPilot pilot) {
  const std::string& tag = pilot.tag;
  bool ours = !query_.prefix.empty() && tag.starts_with(query_.prefix) && ValidTag(tag);
  if (!ours && !ids_.contains(pilot.id)) return;
  auto [place, added] = places_.try_emplace(pilot.id, pilots_.size());
  if (added) {
    pilots_.push_back(std::move(pilot));
    return;
  }
  ListedPilot& same = pilots_[place->second];
  if (tag.empty()) pilot.tag = same.tag;
  same = std::move(pilot);
}

std::string Joined(std::span<const std::string> words, std::string_view between) {
  std::string joined;
  for (const std::string& word : words) {
    if (&word != words.data()) joined += between;
    joined += word;
  }
  return joined;
}

std::string_view Or(std::string_view path, std::string_view usual) {
  return path.empty() ? usual : path;
}

void Append(std::vector<std::string>& words, std::span<const std::string> more) {
  words.insert(words.end(), more.begin(), more.end());
}

Status CheckOutcome(const CommandLine& call, const Outcome& outcome) {
  bool answered = outcome.end == Outcome::End::kExited;
  if (answered && outcome.exit_code == 0) {
    if (!call.complaint || !outcome.err.contains(call.complaint->text)) return {};
    return Fail(ErrorKind::kInvalid, Said(outcome.err) + "; " + call.complaint->remedy);
  }
  return Fail(
      answered ? ErrorKind::kInvalid : ErrorKind::kUnavailable,
      Describe(call.name.empty() && !call.argv.empty() ? call.argv[0] : call.name, outcome));
}

}  // namespace spate::pool
