#include "doors/pmc/run/output_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "os/file.h"
#include "os/terminal.h"

namespace spate::pmc {
namespace {

constexpr size_t kPieceBytes = 256 * 1024;

Status CopyFile(const std::string& path, int fd, std::string_view name) {
  auto file = TRY(os::OpenRead(path));
  std::string piece(kPieceBytes, '\0');
  for (;;) {
    auto size = TRY(os::ReadSome(file.get(), piece.data(), piece.size(), path));
    if (size == 0) return {};
    auto written = os::WriteAll(fd, std::string_view(piece).substr(0, size), name);
    if (!written) return written;
  }
}

}  // namespace

Status CopyStream(const OutputStream& stream, int fd, std::string_view name) {
  if (!stream.spool.empty()) return CopyFile(stream.spool, fd, name);
  return stream.bytes.empty() ? Status() : os::WriteAll(fd, stream.bytes, name);
}

Result<OutputFiles> OutputFiles::Open(const Options& options, bool goes_on) {
  OutputFiles files;
  auto open = [&](const std::optional<std::string>& path, int stream) -> Result<Target> {
    Target target{.file = {}, .stream = stream, .name = path.value_or("standard output")};
    if (!path) return target;
    auto how = goes_on ? os::OpenHow::kAppend : os::OpenHow::kTruncate;
    auto file = TRY(os::OpenWrite(*path, how));
    target.file = std::move(file);
    return target;
  };
  if (options.per_task_stdio) {
    size_t slash = options.dag.rfind('/');
    files.folder_ = slash == std::string::npos ? "." : options.dag.substr(0, slash + 1);
  }
  bool merged = !options.per_task_stdio;
  auto out = TRY(open(merged ? options.out : std::nullopt, os::kStdout));
  files.out_ = std::make_shared<Target>(std::move(out));
  if (merged && options.out && options.out == options.err) {
    files.err_ = files.out_;
    return files;
  }
  auto err = TRY(open(merged ? options.err : std::nullopt, os::kStderr));
  files.err_ = std::make_shared<Target>(std::move(err));
  return files;
}

Status OutputFiles::WriteLine(std::string_view line) const {
  return os::WriteAll(out_->fd(), line, out_->name);
}

Status OutputFiles::Write(std::string_view task, const TaskOutput& output,
                          std::string_view record) const {
  if (!folder_.empty()) return PutOwnFiles(task, output, record);
  TRY(CopyStream(output.out, out_->fd(), out_->name));
  TRY(CopyStream(output.err, err_->fd(), err_->name));
  return WriteLine(record);
}

std::string OutputFiles::PathOf(std::string_view task, const char* kind, uint32_t number) const {
  std::string name(task);
  std::ranges::replace(name, '/', '_');
  return os::JoinPath(folder_, fmt::format("{}.{}.{:03}", name, kind, number));
}

std::string OutputFiles::LiveFile(std::string_view task, int stream) const {
  const std::lock_guard lock(live_->mutex);
  auto known = live_->of_task.find(task);
  for (uint32_t number = 0; known == live_->of_task.end(); ++number) {
    auto out = os::OpenWrite(PathOf(task, "out", number), os::OpenHow::kCreateNew);
    if (!out && out.error().kind == ErrorKind::kExists) continue;
    if (!out) return "";
    (void)os::OpenWrite(PathOf(task, "err", number), os::OpenHow::kTruncate);
    known = live_->of_task.emplace(task, number).first;
  }
  return PathOf(task, stream == 1 ? "out" : "err", known->second);
}

// NAME.out.NNN and NAME.err.NNN, of the first number that is free: rotated, as monitord has it.
// Files that people saw while the task ran have their number already, and are replaced whole.
Status OutputFiles::PutOwnFiles(std::string_view task, const TaskOutput& output,
                                std::string_view record) const {
  std::optional<uint32_t> live;
  {
    const std::lock_guard lock(live_->mutex);
    if (auto known = live_->of_task.find(task); known != live_->of_task.end()) {
      live = known->second;
      live_->of_task.erase(known);
    }
  }
  for (uint32_t number = live.value_or(0);; ++number) {
    const std::string paths[] = {PathOf(task, "out", number), PathOf(task, "err", number)};
    const std::string suffix = live ? ".new" : "";
    auto out =
        os::OpenWrite(paths[0] + suffix, live ? os::OpenHow::kTruncate : os::OpenHow::kCreateNew);
    if (!out && out.error().kind == ErrorKind::kExists) continue;
    if (!out) return std::unexpected(out.error());
    auto err = TRY(os::OpenWrite(paths[1] + suffix, os::OpenHow::kTruncate));
    TRY(CopyStream(output.out, out->get(), paths[0]));
    TRY(CopyStream(output.err, err.get(), paths[1]));
    TRY(os::WriteAll(out->get(), record, paths[0]));
    for (const std::string& path : paths) {
      if (!live) break;
      TRY(os::Rename(path + suffix, path));
    }
    return {};
  }
}

Status OutputFiles::AdoptLeftovers(const std::string& dag, int ranks) const {
  for (int rank = 1; rank < ranks; ++rank) {
    for (const auto& [kind, target] : {std::pair{"out", out_.get()}, {"err", err_.get()}}) {
      std::string path = fmt::format("{}.{}.{}", dag, kind, rank);
      if (!os::Exists(path)) continue;
      TRY(CopyFile(path, target->fd(), target->name));
      TRY(os::RemoveFile(path));
    }
  }
  return {};
}

}  // namespace spate::pmc
