#include "cli/run/part_list.h"

#include <fmt/format.h>

#include <memory>

#include "base/units.h"
#include "core/model/limits.h"
#include "format/expand.h"
#include "format/input_row.h"
#include "format/records.h"
#include "os/fd.h"
#include "os/file.h"

namespace spate::cli {
namespace {

constexpr uint32_t kPartsPerSlot = 10;
constexpr size_t kHeaderMost = 1u << 20;

struct PartFile {
  std::string path;  // absolute: a task may run elsewhere
  os::Fd fd;
  uint64_t size = 0;
};

Result<std::vector<PartFile>> OpenFiles(const RunOptions& options) {
  std::vector<PartFile> files;
  for (const std::string& name : options.sources.arg_files) {
    auto path = TRY(os::AbsolutePath(name));
    auto fd = os::OpenRead(path);
    if (!fd) return Fail(ErrorKind::kInvalid, fd.error().message);
    auto info = TRY(os::StatFd(fd->get(), name));
    if (info.kind != os::FileKind::kFile) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("--pipepart: '{}' is not a regular file, so parts of it cannot be "
                              "read directly; use --pipe",
                              EscapeForScreen(name)));
    }
    files.push_back({std::move(path), std::move(*fd), info.size});
  }
  return files;
}

Result<uint64_t> HeaderOf(const PartFile& file) {
  auto text = TRY(os::ReadAt(file.fd.get(), 0, kHeaderMost, file.path));
  size_t end = text.find('\n');
  return end == std::string::npos ? text.size() : end + 1;
}

// GNU parallel's formula.
uint64_t BlockOf(const InputOptions& input, const std::vector<PartFile>& files, uint32_t slots) {
  if (input.block > 0 && !input.round_robin) return input.block;
  uint64_t size = 0;
  for (const PartFile& file : files) size += file.size;
  uint32_t per_slot = input.per_slot > 0 ? input.per_slot : kPartsPerSlot;
  if (input.round_robin) per_slot = 1;
  return 1 + size / std::max<uint64_t>(uint64_t{slots} * per_slot, 1);
}

Status AddRows(const PartFile& file, format::RecordRules rules, std::vector<std::string>& rows) {
  uint64_t header = 0;
  if (rules.header) {
    auto found = TRY(HeaderOf(file));
    header = found;
  }
  auto borders = TRY(format::PartBorders(rules, header, file.size, [&](uint64_t at, size_t length) {
    return os::ReadAt(file.fd.get(), at, length, file.path);
  }));
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    uint64_t offset = borders[i];
    rows.push_back(format::EncodeInputRow({.offset = offset,
                                           .length = borders[i + 1] - offset,
                                           .header = header,
                                           .hash = 0,
                                           .file = file.path}));
  }
  return {};
}

}  // namespace

Result<TaskList> LoadPartList(const RunOptions& options, const LoadContext& context,
                              JobSettings& settings) {
  settings.row_kind = RowKind::kInput;
  settings.command = options.sources.command;
  TRY(format::CompileJob(settings, JobId(1)));
  TRY(context.shell.Check(settings.command));
  auto files = TRY(OpenFiles(options));
  format::RecordRules rules{.start = options.sources.input.recstart,
                            .end = options.sources.input.recend,
                            .block = BlockOf(options.sources.input, files, context.slots),
                            .header = options.sources.header};
  auto rows = std::make_shared<std::vector<std::string>>();
  for (const PartFile& file : files) {
    TRY(AddRows(file, rules, *rows));
  }
  if (rows->size() > kLimits.tasks_per_job) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("--block makes more than {} tasks; write a larger size",
                            FormatCount(kLimits.tasks_per_job)));
  }
  TaskList list;
  list.count = static_cast<uint32_t>(rows->size());
  list.requests = {ClassOf(options)};
  if (list.count > 0) list.runs = {{0, list.count, 0}};
  list.places = {"the command"};
  list.rows = [rows](const RowVisitor& visit) {
    for (const std::string& row : *rows) visit(row);
  };
  return list;
}

}  // namespace spate::cli
