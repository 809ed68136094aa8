#include "daemon/batch_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "pool/environment.h"
#include "shepherd/as_user.h"

namespace spate::daemon {
namespace {

// $1: the path. fsync, since a full disk behind a network may show only then.
constexpr const char* kMakeFile =
    "umask 077\n"
    "cd -P -- \"${1%/*}/\" && [ -O . ] || { echo 'no folder of the user' >&2; exit 1; }\n"
    "set -- \"./${1##*/}\"\n"
    "dd of=\"$1.new\" bs=64k conv=fsync status=none && chmod 700 \"$1.new\" &&\n"
    "  mv -fT \"$1.new\" \"$1\" && exit 0\n"
    "rm -f \"$1.new\"\n"
    "exit 1\n";

// $1: the PATH, which the site may have runuser change; then the command. Root may not look into
// homes on a network, so the user goes there.
constexpr const char* kAtHome =
    "PATH=$1; shift; export PATH; cd \"$HOME\" 2>/dev/null || cd /; exec \"$@\"";

constexpr int kPipeSignalExit = 128 + 13;

std::string Said(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// A list that was cut off must not pass for a whole one, so the command ends as if nobody had read
// on.
pool::Outcome OutcomeOf(os::Command::Ended ended) {
  using End = pool::Outcome::End;
  pool::Outcome outcome{ended.timed_out ? End::kTimedOut : End::kExited, ended.exit_code,
                        std::move(ended.out), std::move(ended.err)};
  if (ended.err_dropped > 0) {
    outcome.err += fmt::format("\n({} more bytes of its errors were dropped)\n", ended.err_dropped);
  }
  if (ended.out_dropped > 0) {
    outcome.err +=
        fmt::format("\n(it wrote {} bytes too many, which were dropped)\n", ended.out_dropped);
    if (outcome.exit_code == 0) outcome.exit_code = kPipeSignalExit;
  }
  return outcome;
}

}  // namespace

BatchCommands::BatchCommands(os::RealLoop& loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      environment_(pool::CommandEnvironment(options_.environment)) {}

BatchCommands::~BatchCommands() {
  for (Task& task : tasks_) loop_.Cancel(task.failure);
}

void BatchCommands::Run(pool::CommandLine call, const std::string& user, Duration patience,
                        Done done) {
  auto task = tasks_.emplace(tasks_.end());
  task->call = std::move(call);
  task->user = user;
  task->patience = patience;
  task->done = std::move(done);
  turns_.Enter(user, /*is_admin=*/false, task->turn, [this, task] { Begin(task); });
}

void BatchCommands::FindHome(const std::string& user, Found done) {
  auto at = homes_.emplace(homes_.end());
  auto found = [this, at, done = std::move(done)](Result<os::Account> account) {
    const Home ended = std::move(*at);  // with what runs now
    homes_.erase(at);
    turns_.Leave(ended.turn);
    account ? done(std::move(account->home)) : done(std::unexpected(account.error()));
  };
  turns_.Enter(user, /*is_admin=*/false, at->turn, [this, at, user, found = std::move(found)] {
    at->lookup = std::make_unique<LookUp>(loop_, [user] { return os::AccountByName(user); }, found);
  });
}

void BatchCommands::Begin(TaskAt task) {
  task->ends = loop_.Now() + task->patience;
  if (task->user == options_.user) return MakeFile(task);
  if (!options_.is_root) {
    return Fail(task, fmt::format("the hub runs as {} and cannot run commands as {}; a hub of root "
                                  "can",
                                  EscapeForScreen(options_.user), EscapeForScreen(task->user)));
  }
  std::function<Result<os::Account>()> look = [user = task->user] {
    return os::AccountByName(user);
  };
  auto found = [this, task](Result<os::Account> account) {
    task->ends = loop_.Now() + task->patience;
    if (!account) return Fail(task, account.error().message);
    task->account = std::move(*account);
    MakeFile(task);
  };
  task->lookup = std::make_unique<os::Aside<os::Account>>(loop_, std::move(look), std::move(found));
}

void BatchCommands::MakeFile(TaskAt task) {
  if (!task->call.file) return Execute(task);
  auto made = [this, task](os::Command::Ended ended) {
    if (!ended.timed_out && ended.exit_code == 0) return Execute(task);
    std::string why = ended.timed_out ? "it took too long" : Said(std::move(ended.err));
    Fail(task, fmt::format("cannot write {}: {}", EscapeForScreen(task->call.file->path), why));
  };
  Start(task, {"sh", "-c", kMakeFile, "sh", task->call.file->path}, task->call.file->text, made);
}

void BatchCommands::Execute(TaskAt task) {
  Start(task, task->call.argv, task->call.input,
        [this, task](os::Command::Ended ended) { End(task, OutcomeOf(std::move(ended))); });
}

// The caller may destroy this in `done`.
void BatchCommands::End(TaskAt task, pool::Outcome outcome) {
  Task ended = std::move(*task);
  tasks_.erase(task);
  turns_.Leave(ended.turn);
  ended.done(std::move(outcome));
}

// Later, since it may be known before Run has returned.
void BatchCommands::Fail(TaskAt task, std::string why) {
  task->failure = loop_.At(loop_.Now(), [this, task, why = std::move(why)] {
    End(task, {pool::Outcome::End::kNotStarted, 0, "", why});
  });
}

void BatchCommands::Start(TaskAt task, std::vector<std::string> argv, std::string input,
                          os::Command::Done done) {
  os::Command::Options command{
      .argv = {}, .input = std::move(input), .environment = EnvironmentOf(*task), .folder = "/"};
  command.patience = std::max(task->ends - loop_.Now(), Duration{});
  if (task->account) {
    command.argv = {"runuser", "-u", task->account->name,
                    "--",      "sh", "-c",
                    kAtHome,   "sh", command.environment.GetOr("PATH", "/usr/bin:/bin")};
  } else {
    command.folder = environment_.GetOr("HOME", "/");
  }
  command.argv.insert(command.argv.end(), argv.begin(), argv.end());
  auto started = os::Command::Start(loop_, command, done);
  if (!started && command.folder != "/") {  // a home that is not there
    command.folder.assign(1, '/');          // g++ 12 warns of an assignment
    started = os::Command::Start(loop_, std::move(command), std::move(done));
  }
  if (!started) return Fail(task, started.error().message);
  task->command = std::move(*started);
}

os::Environment BatchCommands::EnvironmentOf(const Task& task) const {
  os::Environment environment = environment_;
  if (task.account) {
    std::vector<std::string> inherited;
    for (const std::string& entry : environment_.entries()) {
      if (shepherd::IsInherited(entry.substr(0, entry.find('=')))) inherited.push_back(entry);
    }
    environment = os::Environment(std::move(inherited));
    environment.Set("HOME", task.account->home);
    environment.Set("USER", task.account->name);
    environment.Set("LOGNAME", task.account->name);
    environment.Set("SHELL", task.account->shell);
  }
  for (const std::string& entry : task.call.environment) {
    size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    environment.Set(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return environment;
}

}  // namespace spate::daemon
