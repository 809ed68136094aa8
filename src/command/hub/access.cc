// `spate hub access`
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/number.h"
#include "base/role.h"
#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/main.h"
#include "cli/options/command.h"
#include "cli/options/option_reader.h"
#include "cli/options/shared.h"
#include "client/asker.h"
#include "command/hub_screen.h"
#include "os/fd.h"
#include "os/file.h"
#include "present/json/json_fields.h"
#include "present/table/table.h"
#include "present/table/time_text.h"
#include "wire/questions.h"

namespace spate::cli::command {
namespace {

constexpr Option kRole = {.names = "role",
                          .argument = "ROLE",
                          .heading = Heading::kHub,
                          .help = "role: client, node or admin",
                          .complete = Complete::kWords,
                          .words = "client node admin"};

constexpr Option kUser = {.names = "user",
                          .argument = "NAME",
                          .heading = Heading::kHub,
                          .help = "user who gets the access (default: you)",
                          .more =
                              "For a node: the user whose tasks the node runs. '*' means all "
                              "users, for nodes that root starts."};

constexpr Option kExpires = {.names = "expires",
                             .argument = "T",
                             .heading = Heading::kHub,
                             .help = "time until the access expires (default: never)"};

constexpr Option kFile = {.names = "file",
                          .argument = "FILE",
                          .heading = Heading::kHub,
                          .help = "new file for add, with mode 0600 (default: print)",
                          .complete = Complete::kFile};

struct AccessOptions {
  enum class Verb : uint8_t { kAdd, kList, kRevoke } verb = Verb::kList;
  Role role = Role::kClient;
  std::string user;                  // empty: who asks
  std::optional<Duration> lifetime;  // not given: for ever
  std::string file;                  // for add; empty: standard output
  std::vector<uint64_t> serials;     // of revoke; or all of `user`, of that role if `of_role`
  bool of_role = false;
};
Result<uint64_t> ParseSerial(std::string_view word) {
  if (auto serial = ReadNumber<uint64_t>(word); serial && *serial > 0) return *serial;
  return Fail(ErrorKind::kInvalid,
              fmt::format("'{}' is not a serial number; see: spate hub access list",
                          EscapeForScreen(word)));
}

Result<AccessOptions> MakeAccessOptions(const Words& words) {
  AccessOptions options;
  OptionReader in(words);
  const std::string& verb = words.words.front();
  if (verb == "add") {
    options.verb = AccessOptions::Verb::kAdd;
  } else if (verb == "list") {
    options.verb = AccessOptions::Verb::kList;
  } else if (verb == "revoke") {
    options.verb = AccessOptions::Verb::kRevoke;
  } else {
    return Fail(ErrorKind::kInvalid,
                fmt::format("'{}': spate hub access needs one of: add, list, revoke",
                            EscapeForScreen(verb)));
  }
  in.Value(kRole, options.role);
  in.Text(kUser, options.user);
  in.Text(kFile, options.file);
  Duration lifetime;
  if (in.Read(kExpires, lifetime, ParseDuration)) options.lifetime = lifetime;
  TRY(in.status());
  if (!options.file.empty() && options.verb != AccessOptions::Verb::kAdd) {
    return Fail(ErrorKind::kInvalid, fmt::format("--file is for add, not for {}", verb));
  }
  const bool revoke = options.verb == AccessOptions::Verb::kRevoke;
  const bool serials = words.words.size() > 1;
  options.of_role = words.Last(kRole).has_value();
  if (serials && (!revoke || !options.user.empty())) {
    return Fail(ErrorKind::kInvalid, revoke ? "name serial numbers or --user, not both"
                                            : "unexpected extra word after " + verb);
  }
  if (revoke && !serials && options.user.empty()) {
    return Fail(ErrorKind::kInvalid,
                "which access is to be revoked? Write its serial number (see: spate hub access "
                "list), or --user NAME for all of a user");
  }
  for (size_t i = 1; i < words.words.size(); ++i) {
    auto serial = TRY(ParseSerial(words.words[i]));
    options.serials.push_back(serial);
  }
  return options;
}

Result<int> AddAccess(const HubScreen& screen, const AccessOptions& options) {
  const std::string& path = options.file;
  if (path.empty() && screen.readable_by_others) {
    return Fail(ErrorKind::kInvalid,
                "standard output is a file that other users may read, and an access file is a "
                "secret; no access was added. Write it to a new file: --file FILE");
  }
  // The file is made first: if that fails, no credential is made.
  auto file = path.empty() ? os::Fd() : TRY(os::OpenWrite(path, os::OpenHow::kCreateNew, 0600));
  auto access = client::QueryOne(screen.hub, wire::AddAccess{static_cast<uint32_t>(options.role),
                                                             options.user, options.lifetime});
  if (!access) {
    if (!path.empty()) (void)os::RemoveFile(path);
    return std::unexpected(access.error());
  }
  if (path.empty()) return screen.Write(access->file);
  TRY(os::WriteAll(file.get(), access->file, path));
  screen.Report(fmt::format("access written to '{}'", EscapeForScreen(path)));
  return kExitSuccess;
}

Result<int> ListAccess(const HubScreen& screen) {
  std::string text;
  present::Table table({{"SERIAL", present::Align::kRight},
                        {"ROLE"},
                        {"USER", present::Align::kLeft, 6},
                        {"MADE"},
                        {"EXPIRES"},
                        {"STATE"}},
                       screen.width, screen.colour, [&](std::string_view bytes) { text += bytes; });
  auto add = [&](const AccessFacts& access) {
    if (!screen.human()) {
      text += present::JsonOf("access", access);
      return;
    }
    table.Add(
        {{fmt::format("{}", access.serial)},
         {access.role},
         {access.user},
         {present::DateAndMinute(access.made)},
         {access.expires ? present::DateAndMinute(*access.expires) : "never"},
         {access.state, access.state == "good" ? present::Tone::kGood : present::Tone::kBad}});
  };
  TRY(client::Query(screen.hub, wire::ListAccess(), add));
  table.Finish();
  return screen.Write(text);
}

// Serials of a user's that can be revoked; kNotFound: there are none.
Result<std::vector<uint64_t>> SerialsOf(const HubScreen& screen, const AccessOptions& options) {
  std::vector<uint64_t> serials;
  TRY(client::Query(screen.hub, wire::ListAccess(), [&](const AccessFacts& access) {
    const bool meant = access.user == options.user && access.state == "good" &&
                       (!options.of_role || access.role == WordOf(options.role));
    if (meant) serials.push_back(access.serial);
  }));
  if (!serials.empty()) return serials;
  return Fail(ErrorKind::kNotFound,
              fmt::format("{} has no access that could be revoked", EscapeForScreen(options.user)),
              Remedy(" (see: {})", Advice("hub access", "list")));
}

Result<int> RevokeAccess(const HubScreen& screen, const AccessOptions& options) {
  const std::vector<uint64_t> serials =
      options.serials.empty() ? TRY(SerialsOf(screen, options)) : options.serials;
  TRY(client::QueryOne(screen.hub, wire::RevokeAccess{serials}));
  screen.Report(fmt::format("access {} revoked", fmt::join(serials, ", ")));
  return kExitSuccess;
}

Result<int> HubAccess(const HubScreen& screen) {
  auto options = TRY(MakeAccessOptions(screen.words));
  switch (options.verb) {
    case AccessOptions::Verb::kAdd:
      return AddAccess(screen, options);
    case AccessOptions::Verb::kList:
      return ListAccess(screen);
    default:
      return RevokeAccess(screen, options);
  }
}

}  // namespace

extern const Command kHubAccess = {
    .order = 300,
    .group = CommandGroup::kHub,
    .name = "hub access",
    .arguments = "add | list | revoke [SERIAL...]",
    .summary = "grant, list and revoke access to the hub",
    .details =
        "add writes an access file for --role and --user to --file, or prints it. Store it on the "
        "other machine as ~/.config/spate/access, with mode 0600. revoke invalidates a credential "
        "and closes the connections that use it; with --user, all credentials of that user (with "
        "--role, those of that role).",
    .examples = {{{"spate hub access add --role node --file node.access", "for a node elsewhere"},
                  {"spate hub access add --user ann --file ann.access", "for a user"},
                  {"spate hub access list", "who has access"},
                  {"spate hub access revoke 7", "the one with serial 7"}}},
    .words_min = 1,
    .options = {{opt::kAboutHub, kRole, kUser, kExpires, kFile}},
    .run = AskHub<HubAccess>,
};

}  // namespace spate::cli::command
