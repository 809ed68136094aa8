#include "node/task_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "node/scratch.h"
#include "os/account.h"
#include "os/file.h"
#include "os/owned_file.h"
#include "os/process.h"
#include "remote/launchers.h"
#include "remote/ticket.h"
#include "shepherd/task_folder.h"

namespace spate::node {
namespace {

constexpr std::string_view kHosts = "hosts";
constexpr std::string_view kMachines = "machines";
constexpr std::string_view kTicket = "ticket";
constexpr std::string_view kTemporary = "tmp";  // a folder
constexpr std::string_view kWords[] = {kHosts, kMachines, kTicket, remote::kAgentName};

remote::Ticket TicketOf(const GangPart& part) {
  remote::Ticket ticket;
  std::ranges::copy(part.secret, ticket.secret.begin());
  ticket.self = part.host().node;
  for (const GangHost& host : part.hosts) {
    auto lobbies = remote::ParseLobbies(host.remote);
    ticket.hosts.push_back({host.node, lobbies ? std::move(*lobbies) : std::vector<os::Address>()});
  }
  return ticket;
}

}  // namespace

TaskFolders::TaskFolders(os::Loop& loop, std::string folder, std::string spool_folder,
                         bool of_users, Another another)
    : remover_(loop),
      folder_(std::move(folder)),
      spool_folder_(std::move(spool_folder)),
      of_users_(of_users),
      another_(std::move(another)) {}

Status TaskFolders::Make() {
  Status made = MakeScratch(folder_, of_users_);
  if (made || made.error().kind != ErrorKind::kPermission || !another_) return made;
  // The folder was lost, and another user has taken its name.
  folder_ = TRY(another_());
  return {};
}

void TaskFolders::Remove(const AttemptRef& ref) {
  RemoveHosts(ref);
  if (folder_.empty()) return;
  remover_.Remove(os::JoinPath(folder_, shepherd::TaskFolderName(ref)));
}

void TaskFolders::RemoveOthers(const std::set<AttemptRef>& used) {
  if (folder_.empty()) return;
  auto info = os::StatLink(folder_);
  if (!info || info->kind != os::FileKind::kDir || info->user != os::EffectiveUser()) return;
  std::set<std::string> paths = {os::JoinPath(folder_, kScratchMark)};
  for (const AttemptRef& ref : used) {
    paths.insert(os::JoinPath(folder_, shepherd::TaskFolderName(ref)));
    for (std::string_view word : kWords) paths.insert(PathOf(ref, word));
    paths.insert(PathOf(ref, kTemporary));
  }
  auto entries = os::ListDir(folder_);
  if (!entries) return;
  for (const os::DirEntry& entry : *entries) {
    std::string path = os::JoinPath(folder_, entry.name);
    if (!paths.contains(path)) remover_.Remove(path);
  }
}

std::string TaskFolders::PathOf(const AttemptRef& ref, std::string_view word) const {
  if (!folder_.empty()) {
    return os::JoinPath(folder_, fmt::format("{}.{}", shepherd::TaskFolderName(ref), word));
  }
  // Named like files of the spool, so that it is removed with those.
  return os::JoinPath(
      spool_folder_, fmt::format("{}-{}-{}.{}", ref.job.value, ref.index, ref.attempt.value, word));
}

Status TaskFolders::TellHosts(const AttemptRef& ref, const GangPart& part, uint32_t user,
                              const std::vector<std::string>& own, TaskBody& body) {
  if (!folder_.empty()) {
    if (Status made = Make(); !made) return made;
  }
  std::string hosts;
  std::string machines;
  for (const GangHost& host : part.hosts) {
    hosts += fmt::format("{} slots={}\n", host.node, host.procs);
    machines += fmt::format("{}:{}\n", host.node, host.procs);
  }
  struct {
    const char* variable;
    std::string_view word;
    const std::string& text;
  } files[] = {{"SPATE_HOSTS", kHosts, hosts}, {"SPATE_MACHINES", kMachines, machines}};
  for (const auto& file : files) {
    std::string path = PathOf(ref, file.word);
    Status written = os::WriteFile(path, file.text);
    if (written) written = os::SetPermissions(path, 0644);
    if (!written) return written;
    body.environment.push_back(fmt::format("{}={}", file.variable, path));
  }
  return remote::HasServer(part) ? TellRemotes(ref, part, user, own, body) : Status();
}

// An attempt may be given to this node a second time: then it finds what was made for the first.
Status TaskFolders::TellRemotes(const AttemptRef& ref, const GangPart& part, uint32_t user,
                                const std::vector<std::string>& own, TaskBody& body) {
  const std::string ticket = PathOf(ref, kTicket);
  Status written = os::WriteFileFor(user, ticket, remote::FormatTicket(TicketOf(part)));
  if (!written) return written;
  auto program = TRY(os::OwnProgram());
  const std::string agent = PathOf(ref, remote::kAgentName);
  if (Status removed = os::RemoveFile(agent); !removed) return removed;
  if (Status linked = os::MakeSymlink(program, agent); !linked) return linked;
  body.environment.push_back(fmt::format("{}={}", remote::kTicketVariable, ticket));
  remote::LauncherFiles files = {agent, PathOf(ref, kHosts), PathOf(ref, kMachines), ""};
  if (remote::SharesMachine(part)) {
    files.temporary = PathOf(ref, kTemporary);
    remover_.Remove(files.temporary);
    if (Status made = os::MakeDirFor(user, files.temporary); !made) return made;
  }
  std::vector<std::string> known = own;
  known.insert(known.end(), body.environment.begin(), body.environment.end());
  for (std::string& variable : remote::LauncherVariables(part, files, known)) {
    body.environment.push_back(std::move(variable));
  }
  return {};
}

void TaskFolders::RemoveHosts(const AttemptRef& ref) {
  for (std::string_view word : kWords) (void)os::RemoveFile(PathOf(ref, word));
  remover_.Remove(PathOf(ref, kTemporary));
}

}  // namespace spate::node
