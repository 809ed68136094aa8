#include "remote/entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "core/model/visit.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/process.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "present/advice.h"
#include "remote/call_words.h"
#include "remote/client.h"
#include "remote/joining.h"
#include "remote/kept_terminal.h"
#include "remote/launchers.h"
#include "remote/meeting.h"
#include "remote/pmix_meeting.h"
#include "remote/server.h"
#include "remote/ticket.h"
#include "remote/visit.h"

namespace spate::remote {
namespace {

// ssh's code for an error of the connection, not of the command.
constexpr int kOwnFailure = 255;
// A shell's codes when it cannot start a command.
constexpr int kNotStartedByShell = 126;
constexpr int kNotFoundByShell = 127;

int Report(const Error& error) {
  fmt::print(stderr, "spate remote: {}\n", present::TextOf(error));
  return kOwnFailure;
}

Result<Ticket> FindTicket(const os::Environment& environment) {
  std::string path = environment.GetOr(kTicketVariable, "");
  if (path.empty()) {
    return Fail(ErrorKind::kUnavailable,
                fmt::format("works between the nodes of a gang only, and this is not within one "
                            "({} is not set)\nStart one",
                            kTicketVariable),
                Remedy(": {}", Advice("submit", "--nodes", 2, "--start", "first", "--", "mpirun",
                                      "./program")));
  }
  auto ticket = LoadTicket(path);
  if (!ticket && ticket.error().kind == ErrorKind::kNotFound) {
    return Fail(ErrorKind::kUnavailable, "the gang that this belonged to has ended");
  }
  return ticket;
}

Result<std::string> FindNode(const Ticket& ticket, const std::string& host) {
  if (const TicketHost* found = ticket.FindLike(host)) return found->node;
  std::vector<std::string> names;
  for (const TicketHost& each : ticket.hosts) names.push_back(EscapeForScreen(each.node));
  constexpr size_t kShown = 8;
  std::string more = names.size() > kShown ? " ..." : "";
  names.resize(std::min(names.size(), kShown));
  return Fail(ErrorKind::kNotFound,
              fmt::format("{} is not a node of this gang; its nodes are {}{} (all: $SPATE_HOSTS)",
                          EscapeForScreen(host), fmt::join(names, ", "), more));
}

Result<int> Call(std::vector<std::string> words) {
  auto call = TRY(ReadCallWords(words));
  auto ticket = TRY(FindTicket(os::Environment::OfProcess()));
  auto node = TRY(FindNode(ticket, call.host));
  if (call.command.size() > kCommandMost) {
    return Fail(ErrorKind::kInvalid, "the command is longer than 4 MiB");
  }
  os::IgnoreSignal(os::kSignalPipe);
  auto loop = TRY(os::RealLoop::Create());
  Result<int> result = 0;
  Client::Options options{.node = node, .command = call.command};
  if (call.no_input) options.in = -1;
  Client client(*loop, ticket, std::move(options), [&](Result<int> ended) {
    result = std::move(ended);
    loop->Stop();
  });
  for (int signo : {os::kSignalHup, os::kSignalInt, os::kSignalQuit, os::kSignalTerm, kSignalUser1,
                    kSignalUser2}) {
    // A second one is for us, where the first did not end the command.
    loop->OnSignal(signo, [&, signo, asked = false]() mutable {
      bool ends_us = std::exchange(asked, true) && signo != kSignalUser1 && signo != kSignalUser2;
      if (ends_us || !client.Signal(signo)) os::DieOfSignal(signo);
    });
  }
  loop->Run();
  return result;
}

// sshd's way: the user's own shell, since launchers write for that one.
std::vector<std::string> ShellOf(const os::Environment& environment) {
  std::string shell = environment.GetOr("SHELL", "/bin/sh");
  bool fit = shell.starts_with('/') && os::MayAccess(shell, "x");
  return {fit ? shell : "/bin/sh", "-c"};
}

Result<std::unique_ptr<Server>> OpenServer(os::RealLoop& loop, os::Environment environment) {
  auto ticket = TRY(FindTicket(environment));
  os::IgnoreSignal(os::kSignalPipe);
  // Variables of the part's own process, not of those that are started beside it.
  for (const char* name : {"SPATE_RANK", "SPATE_LOCAL_RANK"}) environment.Unset(name);
  environment.Set(kServerProgram, fmt::format("/proc/{}/exe", os::OwnPid()));
  return Server::Open(loop, ticket, {ShellOf(environment), environment.entries()});
}

Result<int> Serve() {
  auto loop = TRY(os::RealLoop::Create());
  auto server = TRY(OpenServer(*loop, os::Environment::OfProcess()));
  for (int signo : {os::kSignalTerm, os::kSignalInt, os::kSignalHup}) {
    loop->OnSignal(signo, [&] { server->End([&] { loop->Stop(); }); });
  }
  loop->Run();
  return 0;
}

// The command's end is this process' own: exit code or signal.
Result<int> ServeBeside(const std::vector<std::string>& argv) {
  auto environment = os::Environment::OfProcess();
  auto loop = TRY(os::RealLoop::Create());
  LeaveSignalsToCommand(*loop);
  // A gang that starts no commands elsewhere does not need it.
  std::unique_ptr<Server> server;
  if (auto opened = OpenServer(*loop, environment)) {
    server = std::move(*opened);
  } else {
    (void)Report(opened.error());
  }
  int status = 0;
  auto command = StartJoined(*loop, {.argv = argv}, [&](int ended) {
    status = ended;
    loop->Stop();
  });
  if (!command) {
    fmt::print(stderr, "spate: {}\n", command.error().message);
    return command.error().kind == ErrorKind::kNotFound ? kNotFoundByShell : kNotStartedByShell;
  }
  loop->Run();
  if (server) server->End([&] { loop->Stop(); });
  if (server) loop->Run();
  return EndAs(status);
}

Result<int> MeetOthers(bool by_pmix, const std::vector<std::string>& argv) {
  auto ticket = TRY(FindTicket(os::Environment::OfProcess()));
  auto code = by_pmix ? MeetByPmix(ticket, argv) : Meet(ticket, argv);
  if (code || code.error().kind != ErrorKind::kNotFound) return code;
  fmt::print(stderr, "spate: {}\n", code.error().message);
  return kNotFoundByShell;
}

// Nodes make a link of that name, with the attempt in front.
bool IsAgent(const std::string& program) {
  const std::string name = os::BaseName(program);
  return name == kAgentName || name.ends_with(std::string(".") + kAgentName);
}

bool AsksForHelp(const std::vector<std::string>& words) {
  return !words.empty() && (words[0] == "--help" || words[0] == "-h");
}

}  // namespace

std::optional<int> RemoteEntry(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  if (words.empty()) return std::nullopt;
  Result<int> code = 0;
  if (IsAgent(words[0])) {
    words.erase(words.begin());
    code = Call(std::move(words));
  } else if (words.size() > 1 && words[1] == kServerArgument) {
    const bool alone = words.size() == 2;
    if (!alone && (words[2] != "--" || words.size() == 3)) return kOwnFailure;
    words.erase(words.begin(), words.begin() + (alone ? 2 : 3));
    code = alone ? Serve() : ServeBeside(words);
  } else if (words.size() > 3 && words[2] == "--" &&
             (words[1] == kMeetArgument || words[1] == kMeetByPmixArgument)) {
    const bool by_pmix = words[1] == kMeetByPmixArgument;
    words.erase(words.begin(), words.begin() + 3);
    code = MeetOthers(by_pmix, words);
  } else if (words.size() == 2 && words[1] == kVisitArgument) {
    return ServeVisit();
  } else if (words.size() == 2 && words[1] == kAttachArgument) {
    return AttachToTerminal();
  } else if (words.size() > 1 && words[1] == kTerminalArgument) {
    return KeepTerminal(words.size() == 3 && words[2] == kKeepArgument);
  } else if (words.size() == 3 && words[1] == kComeArgument) {
    auto ticket = FindTicket(os::Environment::OfProcess());
    code = ticket ? Come(*ticket, words[2]) : std::unexpected(ticket.error());
  } else if (words.size() > 1 && words[1] == "remote") {
    words.erase(words.begin(), words.begin() + 2);
    if (AsksForHelp(words)) return std::nullopt;
    code = Call(std::move(words));
  } else {
    return std::nullopt;
  }
  return code ? *code : Report(code.error());
}

}  // namespace spate::remote
