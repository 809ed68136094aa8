#include "os/account.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <vector>

#include "base/number.h"
#include "base/units.h"
#include "os/error.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/spawn_child.h"

namespace spate::os {
namespace {

constexpr size_t kPasswdBytes = 16 << 20;

template <typename Wanted>
Result<Account> InFile(Wanted wanted) {
  auto text = TRY(ReadFile("/etc/passwd", kPasswdBytes));
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    auto account = ParseAccount(std::string_view(text).substr(at, end - at));
    if (account && wanted(*account)) return account;
    at = end + 1;
  }
  return Fail(ErrorKind::kNotFound, "not in /etc/passwd");
}

// All until its end.
Result<std::string> ReadWithin(int fd, const std::string& program, Duration patience) {
  using Clock = std::chrono::steady_clock;
  const auto last = Clock::now() + std::chrono::nanoseconds(patience.ns);
  std::string text;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(last - Clock::now()).count();
    pollfd ready{fd, POLLIN, 0};
    const int found = left > 0 ? poll(&ready, 1, static_cast<int>(left)) : 0;
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0) {
      return Fail(ErrorKind::kUnavailable,
                  fmt::format("{} has not answered within {}", program, FormatDuration(patience)));
    }
    char piece[4096];
    const ssize_t bytes = read(fd, piece, sizeof piece);
    if (bytes < 0 && errno != EINTR) return std::unexpected(SystemError(errno, "read", program));
    if (bytes == 0 || text.size() > kPasswdBytes) return text;
    if (bytes > 0) text.append(piece, static_cast<size_t>(bytes));
  }
}

// A host without getent has no users but those of the file.
Result<Account> FromHost(const std::string& key) {
  auto text = OutputWithin({"/usr/bin/getent", "passwd", "--", key}, kAccountPatience);
  if (!text && text.error().kind != ErrorKind::kNotFound) return std::unexpected(text.error());
  auto account = text ? ParseAccount(std::string_view(*text).substr(0, text->find('\n')))
                      : Result<Account>(std::unexpected(text.error()));
  return account ? account : Fail(ErrorKind::kNotFound, "the user database does not have it");
}

template <typename Wanted>
Result<Account> Find(const std::string& key, Wanted wanted) {
  auto account = InFile(wanted);
  if (!account && account.error().kind == ErrorKind::kNotFound) account = FromHost(key);
  if (account && wanted(*account)) return account;
  if (account || account.error().kind == ErrorKind::kNotFound) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("this machine has no user '{}'", EscapeForScreen(key)));
  }
  return Within(fmt::format("cannot look up user '{}'", EscapeForScreen(key)),
                std::move(account.error()));
}

}  // namespace

Result<Account> ParseAccount(std::string_view line) {
  std::vector<std::string_view> fields;
  for (size_t at = 0; at <= line.size();) {
    size_t end = std::min(line.find(':', at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  auto user = fields.size() >= 7 ? ReadNumber<uint32_t>(fields[2]) : std::nullopt;
  auto group = fields.size() >= 7 ? ReadNumber<uint32_t>(fields[3]) : std::nullopt;
  if (!user || !group || fields[0].empty()) {
    return Fail(ErrorKind::kCorrupt, "this is not a line of passwd(5)");
  }
  return Account{std::string(fields[0]), *user, *group, std::string(fields[5]),
                 std::string(fields[6])};
}

Result<Account> AccountByName(const std::string& name) {
  return Find(name, [&](const Account& account) { return account.name == name; });
}

Result<Account> AccountById(uint32_t user) {
  return Find(fmt::format("{}", user),
              [&](const Account& account) { return account.user == user; });
}

std::string AccountName(uint32_t user) {
  auto account = AccountById(user);
  return account ? account->name : fmt::format("uid {}", user);
}

Result<std::vector<uint32_t>> GroupsOf(const Account& account) {
  auto text = TRY(OutputWithin({"/usr/bin/id", "-G", "--", account.name}, kAccountPatience));
  std::vector<uint32_t> groups;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find_first_of(" \n", at), text.size());
    auto group = ReadNumber<uint32_t>(std::string_view(text).substr(at, end - at));
    if (group) groups.push_back(*group);
    at = end + 1;
  }
  if (!groups.empty()) return groups;
  return Fail(ErrorKind::kUnavailable,
              fmt::format("the groups of '{}' are not known", EscapeForScreen(account.name)));
}

// The pipe is the only descriptor of ours that it has.
Result<std::string> OutputWithin(std::vector<std::string> words, Duration patience) {
  auto pipe = TRY(MakePipe());
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return FailErrno("open", "/dev/null");
  const std::string program = words.front();
  const Spawn spawn{
      .argv = std::move(words), .in = null.get(), .out = pipe.write.get(), .err = null.get()};
  auto pid = TRY(SpawnChild(spawn));
  pipe.write.Reset();
  auto text = ReadWithin(pipe.read.get(), program, patience);
  if (!text) kill(pid, SIGKILL);
  (void)WaitForExit(pid);
  return text;
}

uint32_t EffectiveUser() { return geteuid(); }

}  // namespace spate::os
