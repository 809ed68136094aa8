#include "cli/options/pool_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/number.h"
#include "base/units.h"
#include "core/model/limits.h"
#include "core/model/name.h"
#include "format/lines.h"
#include "os/file.h"

namespace spate::cli {
namespace {

constexpr size_t kHostBytes = 253;
constexpr size_t kFileBytes = size_t{1} << 20;

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameByte(char c) { return IsLetter(c) || IsDigit(c) || c == '-' || c == '_'; }

// True for text that ssh can only read as a host, with a user before it.
bool IsHost(std::string_view host) {
  if (host.empty() || host.size() > kHostBytes || host.starts_with('-')) return false;
  return std::ranges::all_of(
      host, [](char c) { return IsNameByte(c) || std::string_view(".@:%+").contains(c); });
}

Result<std::vector<PoolHost>> HostsOfFile(const std::string& path) {
  auto text = TRY(os::ReadFile(path, kFileBytes));
  std::vector<PoolHost> hosts;
  std::string_view rest = text;
  for (int number = 1; auto line = format::NextLine(&rest); ++number) {
    std::string_view word = format::TrimBlanks(line->substr(0, line->find('#')));
    if (word.empty()) continue;
    auto host = ParseHost(word);
    if (!host) return Within(fmt::format("{}:{}", EscapeForScreen(path), number), host.error());
    hosts.push_back(std::move(*host));
  }
  return hosts;
}

Result<std::vector<PoolHost>> HostsOfWords(std::string_view value) {
  std::vector<PoolHost> hosts;
  while (!value.empty()) {
    size_t end = std::min(value.find(','), value.size());
    std::string_view word = format::TrimBlanks(value.substr(0, end));
    value.remove_prefix(std::min(end + 1, value.size()));
    if (word.empty()) continue;
    auto host = TRY(ParseHost(word));
    hosts.push_back(std::move(host));
  }
  return hosts;
}

bool IsFile(const std::string& value) {
  if (value.contains('/')) return true;
  auto info = os::Stat(value);
  return info && info->kind != os::FileKind::kDir;
}

// The part of a pool's name that says which host it is; at most `most` bytes.
std::string NamePart(std::string_view host, size_t most) {
  host = host.substr(host.rfind('@') + 1);  // all, when there is no user
  bool numbers = host.find_first_not_of("0123456789.") == std::string_view::npos;
  if (host.size() > most && !numbers) host = host.substr(0, host.find('.'));
  std::string part(host.substr(0, most));
  std::ranges::replace_if(part, [](char c) { return !IsNameByte(c); }, '-');
  return part;
}

}  // namespace

Result<PoolHost> ParseHost(std::string_view text) {
  auto wrong = [&] {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' is not a host; write for example pc1, pc1:4 (4 slots), ann@pc1 "
                            "or [fe80::1]:4",
                            EscapeForScreen(text)));
  };
  std::string_view host = text, slots;
  bool has_slots = false;
  size_t open = text.find('['), close = text.find(']');
  std::string joined;
  if (open != std::string_view::npos) {
    bool right =
        close != std::string_view::npos && close > open && (open == 0 || text[open - 1] == '@');
    if (!right) return wrong();
    joined =
        std::string(text.substr(0, open)) + std::string(text.substr(open + 1, close - open - 1));
    host = joined;
    std::string_view rest = text.substr(close + 1);
    has_slots = rest.starts_with(':');
    if (!has_slots && !rest.empty()) return wrong();
    if (has_slots) slots = rest.substr(1);
  } else if (std::ranges::count(text, ':') == 1) {
    host = text.substr(0, text.find(':'));
    slots = text.substr(text.find(':') + 1);
    has_slots = true;
  }
  PoolHost made{.host = std::string(host)};
  if (has_slots) {
    auto number = ReadNumber<uint32_t>(slots);
    if (!number || *number == 0 || *number > kLimits.slots) return wrong();
    made.slots = *number;
  }
  if (!IsHost(host) || host.ends_with('@')) return wrong();
  return made;
}

Result<std::vector<PoolHost>> ReadHosts(const std::string& value) {
  auto hosts = IsFile(value) ? HostsOfFile(value) : HostsOfWords(value);
  if (!hosts) return hosts;
  if (hosts->empty()) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}' does not name a host", EscapeForScreen(value)));
  }
  if (hosts->size() > kLimits.pools) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("{} hosts are too many; a hub has at most {} pools", hosts->size(),
                            FormatCount(kLimits.pools)));
  }
  std::set<std::string_view> seen;
  for (const PoolHost& host : *hosts) {
    if (seen.insert(host.host).second) continue;
    return Fail(ErrorKind::kInvalid, fmt::format("{} is named twice", host.host));
  }
  return hosts;
}

std::vector<std::string> PoolNamesOf(std::string_view group, std::span<const PoolHost> hosts) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const PoolHost& host : hosts) {
    std::string name;
    for (int number = 1; name.empty() || taken.contains(name); ++number) {
      std::string suffix = number == 1 ? "" : fmt::format("-{}", number);
      size_t room = kPoolNameBytes - group.size() - 1 - suffix.size();
      name = fmt::format("{}-{}{}", group, NamePart(host.host, room), suffix);
    }
    taken.insert(name);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace spate::cli
