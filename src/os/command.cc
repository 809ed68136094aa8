#include "os/command.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "os/error.h"
#include "os/find_program.h"

namespace spate::os {
namespace {

void Keep(std::string& text, uint64_t& dropped, size_t most, std::string_view bytes) {
  const size_t kept = std::min(bytes.size(), most - text.size());
  text.append(bytes.substr(0, kept));
  dropped += bytes.size() - kept;
}

}  // namespace

Result<std::unique_ptr<Command>> Command::Start(RealLoop& loop, Options options, Done done) {
  const std::string name = options.argv.front();
  // posix_spawnp knows our own PATH only.
  std::string program = name;
  if (name.find('/') == std::string::npos) {
    program = FindProgram(name, options.environment.GetOr("PATH", "/usr/bin:/bin"), ".");
  }
  if (program.empty()) return std::unexpected(SystemError(ENOENT, "start", name));
  std::unique_ptr<Command> command(new Command(loop, std::move(done)));
  Child::Events events;
  events.output = [&ended = command->ended_, most_out = options.most_out,
                   most_err = options.most_err](int stream, std::string_view bytes) {
    stream == 1 ? Keep(ended.out, ended.out_dropped, most_out, bytes)
                : Keep(ended.err, ended.err_dropped, most_err, bytes);
  };
  events.ended = [self = command.get()](int status) {
    self->ended_.exit_code = ExitStatusOf(status);
    self->End();
  };
  command->child_ = TRY(Child::Start(loop,
                                     {.spawn = {.argv = std::move(options.argv),
                                                .environment = options.environment.entries(),
                                                .program = std::move(program),
                                                .folder = std::move(options.folder),
                                                .session = true},
                                      .pipes = Child::Pipes::kAll,
                                      .input = std::move(options.input),
                                      .ends_at_exit = true,
                                      .pidfd = options.pidfd},
                                     std::move(events)));
  if (options.patience == Duration::Max()) return command;
  command->timeout_ = loop.At(loop.Now() + options.patience, [self = command.get()] {
    self->ended_.timed_out = true;
    self->child_->ReadWhatIsThere();
    self->child_.reset();
    self->End();
  });
  return command;
}

void Command::End() {
  loop_.Cancel(timeout_);
  auto done = std::move(done_);  // it may destroy this command
  done(std::move(ended_));
}

}  // namespace spate::os
