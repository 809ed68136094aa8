#include "os/account.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <vector>

#include "base/number.h"
#include "base/units.h"
#include "os/error.h"
#include "os/fd.h"
#include "os/file.h"

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

// Output of a program of the host; that pipe is the only descriptor of ours that it has.
Result<std::string> Ask(std::vector<std::string> words) {
  auto pipe = TRY(MakePipe());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe.write.get(), 1);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  int error = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return std::unexpected(SystemError(error, "start", words[0]));
  pipe.write.Reset();
  auto text = ReadToEnd(pipe.read.get(), kPasswdBytes, words[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return text;
}

Result<Account> FromHost(const std::string& key) {
  auto text = TRY(Ask({"/usr/bin/getent", "passwd", "--", key}));
  return ParseAccount(std::string_view(text).substr(0, text.find('\n')));
}

template <typename Wanted>
Result<Account> Find(const std::string& key, Wanted wanted) {
  if (auto known = InFile(wanted)) return known;
  auto account = FromHost(key);
  if (account && wanted(*account)) return account;
  return Fail(ErrorKind::kNotFound,
              fmt::format("this machine has no user '{}'", EscapeForScreen(key)));
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
    return Fail(ErrorKind::kCorrupt, "this is no line of passwd(5)");
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

Result<std::vector<uint32_t>> GroupsOf(const Account& account) {
  auto text = TRY(Ask({"/usr/bin/id", "-G", "--", account.name}));
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

uint32_t EffectiveUser() { return geteuid(); }

}  // namespace spate::os
