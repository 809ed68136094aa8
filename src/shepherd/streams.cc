#include "shepherd/streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/units.h"
#include "os/error.h"
#include "os/file.h"
#include "shepherd/as_user.h"
#include "shepherd/note.h"

namespace spate::shepherd {

Result<Streams> Streams::Create(const std::string& spool_folder, Outbox& outbox, Pulse pulse) {
  auto out = TRY(OutputCollector::Create(STDOUT_FILENO, spool_folder));
  auto err = TRY(OutputCollector::Create(STDERR_FILENO, spool_folder));
  return Streams(std::move(out), std::move(err), spool_folder, outbox, pulse);
}

Streams::Streams(OutputCollector out, OutputCollector err, const std::string& spool_folder,
                 Outbox& outbox, Pulse pulse)
    : out_(std::move(out)),
      err_(std::move(err)),
      spool_folder_(spool_folder),
      outbox_(&outbox),
      pulse_(pulse) {}

void Streams::ServeUser(uint32_t user) {
  out_.GiveTo(user);
  err_.GiveTo(user);
}

void Streams::Begin(const StartView& view, const JobOpening& job, UserFiles& files, AttemptEnd& end,
                    int64_t now) {
  view_ = &view;
  job_ = &job;
  files_ = &files;
  end_ = &end;
  began_at_ = now;
  poll_at_[0] = poll_at_[1] = now + kPipeRest;
  out_.Begin(end.ref);
  err_.Begin(end.ref);
  ranks_.Begin();
  lengths_.clear();
  late_stderr_failed_ = false;
  last_words_.clear();
  err_.SendTo(view.late_stderr ? [this](std::string_view bytes) { KeepStderr(bytes); }
                               : OutputCollector::Sink());
}

bool Streams::BothToOneFile() const {
  return *view_->stdout_file != '\0' && std::strcmp(view_->stdout_file, view_->stderr_file) == 0;
}

std::optional<StartFailure> Streams::OpenRanks() {
  if (!view_->around.first_rank || view_->commands.size() < 2) return std::nullopt;
  std::optional<uint32_t> user;
  if (job_->user) user = job_->user->user;
  return ranks_.Open(spool_folder_, view_->commands.size(), user);
}

std::optional<StartFailure> Streams::OpenFiles() {
  const char* err = view_->stderr_file;
  bool one = BothToOneFile();
  bool shared = one || view_->around.first_rank || job_->settings.append_output;
  int how = O_WRONLY | O_CREAT | (shared ? O_APPEND : 0);
  if (!view_->around.shares_files && !job_->settings.append_output) how |= O_TRUNC;
  auto failure = OpenFile(view_->stdin_file, O_RDONLY, "stdin", in_file_);
  if (!failure) failure = OpenFile(view_->stdout_file, how, "stdout", out_file_);
  if (failure) return failure;
  // Its bytes are of another attempt.
  if (view_->late_stderr && files_->Unlink({err}) == EAGAIN) return StartFailure{EAGAIN, {}};
  if (one || view_->late_stderr) return std::nullopt;
  return OpenFile(err, how, "stderr", err_file_);
}

std::optional<StartFailure> Streams::OpenFile(const char* path, int flags, const char* what,
                                              os::Fd& fd) {
  if (*path == '\0' || fd) return std::nullopt;
  // A file that is created late is created in an existing folder.
  fd = files_->Open(path, flags, what, (flags & O_CREAT) != 0 && !view_->late_stderr);
  if (fd) return std::nullopt;
  int error = errno;
  return StartFailure::Of(error,
                          fmt::format("cannot open '{}' as {}", EscapeForScreen(path), what));
}

void Streams::GiveTo(Program& program, size_t command) const {
  program.in = command == 0 ? in_file_.get() : -1;
  program.out = out_file_ ? out_file_.get() : ranks_.out(command);
  int err = err_file_ ? err_file_.get() : ranks_.err(command);
  if (view_->late_stderr) err = -1;
  program.err = BothToOneFile() ? out_file_.get() : err;
}

void Streams::OnPipe(int stream, int64_t now) {
  OutputCollector& collector = stream == 1 ? out_ : err_;
  std::string_view fresh;
  OutputCollector::Taken taken = collector.Read(fresh);
  if (taken.bytes > 0) PassOn(stream, fresh);
  // Little came: let it gather for a moment instead of waking up for each line.
  if (!taken.full) poll_at_[stream - 1] = now + kPipeRest;
}

int Streams::PipeToPoll(int stream, int64_t now) const {
  return now >= poll_at_[stream - 1] ? (stream == 1 ? out_ : err_).fd() : -1;
}

int64_t Streams::NextLook(int64_t now) const {
  int64_t next = INT64_MAX;
  for (int64_t at : poll_at_) {
    if (at > now) next = std::min(next, at);
  }
  return next;
}

void Streams::PassOn(int stream, std::string_view bytes) {
  if (!job_->settings.live_output) return;
  const OutputCollector& kept = stream == 1 ? out_ : err_;
  if (job_->live_until_spooled && kept.spooled()) return;
  Append(outbox_->Add(), LiveOutput{end_->ref, static_cast<uint8_t>(stream), bytes});
}

void Streams::Complain(std::string_view line) {
  if (view_->late_stderr) {
    last_words_ = line;  // not now: we are the user already
  } else if (err_file_) {
    files_->Write(err_file_.get(), line);
  }
}

void Streams::DrainWaiting() {
  out_.DrainWaiting([this](std::string_view bytes) { PassOn(1, bytes); });
  err_.DrainWaiting([this](std::string_view bytes) { PassOn(2, bytes); });
}

// The pipes may hold more: a task that has just begun, or lately wrote little, is not read yet.
void Streams::SoFar(const RunWish& wish, uint32_t rank, RunLook& look) {
  DrainWaiting();
  const uint32_t most = std::min(wish.most, kLookPiece);
  const uint32_t first_rank = view_->around.first_rank.value_or(0);
  const size_t place = rank - std::min(rank, first_rank);
  auto of = [&](int stream, uint64_t from, const char* file) -> StreamSoFar {
    if (*file != '\0') return {.file = file};
    if (place < ranks_.ranks()) return ranks_.SoFar(place, stream, from, most);
    return (stream == 1 ? out_ : err_).SoFar(from, most);
  };
  look.out = of(1, wish.out_from, view_->stdout_file);
  look.err = of(2, wish.err_from, view_->stderr_file);
}

uint64_t Streams::DropWaiting() { return out_.DropWaiting() + err_.DropWaiting(); }

uint64_t Streams::DropAll() { return out_.DropAll() + err_.DropAll(); }

void Streams::ResetFlags() {
  out_.ResetFlags();
  err_.ResetFlags();
}

void Streams::AddResult(std::string_view bytes) {
  DrainWaiting();
  out_.Add(bytes);
  PassOn(1, bytes);
}

void Streams::Drain() {
  out_.Drain([this](std::string_view bytes) { PassOn(1, bytes); });
  err_.Drain([this](std::string_view bytes) { PassOn(2, bytes); });
  if (!view_->around.first_rank) return;
  if (ranks_.empty()) {
    lengths_ = {{out_.stored(), err_.stored()}};
  } else {
    lengths_ = ranks_.DrainInto(out_, err_, pulse_);
  }
}

void Streams::TellRanks(AttemptEnd& end) const {
  for (ProcessEnd& process : end.processes) {
    if (process.command >= lengths_.size()) continue;
    process.stdout_bytes = lengths_[process.command].out;
    process.stderr_bytes = lengths_[process.command].err;
  }
}

// People look where the commands would have complained: there they find what those could not say.
void Streams::SayLastWords() {
  if (last_words_.empty()) return;
  if (view_->late_stderr) {
    KeepStderr(last_words_);
  } else if (err_file_) {
    files_->Write(err_file_.get(), last_words_);
  } else if (out_file_ && BothToOneFile()) {
    files_->Write(out_file_.get(), last_words_);
  } else {
    err_.Add(last_words_);
    PassOn(2, last_words_);
  }
}

// Most attempts write nothing there, and a file for each of them would cost more than all else. It
// is in a folder of the node's, which others may read, and where the user could make a link or a
// pipe of that name.
void Streams::KeepStderr(std::string_view bytes) {
  constexpr int kHow = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK;
  AsUser user(*job_);
  if (!late_stderr_failed_ && !err_file_ && user.status()) {
    err_file_.Reset(open(view_->stderr_file, kHow | O_CLOEXEC | O_NOCTTY, 0600));
    struct stat info{};
    if (err_file_ && (fstat(err_file_.get(), &info) != 0 || !S_ISREG(info.st_mode))) {
      err_file_.Reset();
      errno = EEXIST;
    }
  }
  Status kept = user.status();
  if (kept && !err_file_) kept = Fail(ErrorKind::kIo, std::string(os::TextOfErrno(errno)));
  if (kept) kept = os::WriteAll(err_file_.get(), bytes, view_->stderr_file);
  if (kept || std::exchange(late_stderr_failed_, true)) return;
  AddNote(*end_, fmt::format("stderr is lost: cannot write '{}': {}",
                             EscapeForScreen(view_->stderr_file), kept.error().message));
}

void Streams::CloseFiles() {
  ranks_.Clear();
  for (os::Fd* file : {&in_file_, &out_file_, &err_file_}) files_->Close(std::move(*file));
}

void Streams::AddTo(AttemptEnd& end) const {
  if (!out_.trouble().empty()) AddNote(end, out_.trouble());
  if (!err_.trouble().empty() && err_.trouble() != out_.trouble()) AddNote(end, err_.trouble());
  end.stdout_total = out_.total();
  end.stderr_total = err_.total();
}

void Streams::Discard() {
  out_.Discard();
  err_.Discard();
}

}  // namespace spate::shepherd
