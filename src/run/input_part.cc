#include "run/input_part.h"

#include <cstring>

#include "base/number.h"
#include "cli/exit_code.h"
#include "cli/report.h"
#include "format/input_row.h"
#include "os/copy_part.h"
#include "os/file.h"
#include "os/signals.h"

namespace spate::run {
namespace {

constexpr int kOut = 1;

// A task that has read enough is none that failed.
Status WritePart(uint64_t header, uint64_t offset, uint64_t length, const char* name) {
  auto file = TRY(os::OpenRead(name));
  auto copied = os::CopyPart(file.get(), 0, header, kOut, name);
  if (copied && *copied == os::Copied::kAll) {
    copied = os::CopyPart(file.get(), offset, length, kOut, name);
  }
  return copied ? Status() : std::unexpected(copied.error());
}

}  // namespace

std::optional<int> PartEntry(int argc, char** argv) {
  if (argc != 6 || std::strcmp(argv[1], format::kPartArgument) != 0) return std::nullopt;
  os::IgnoreSignal(os::kSignalPipe);
  auto header = ReadNumber<uint64_t>(argv[2]);
  auto offset = ReadNumber<uint64_t>(argv[3]);
  auto length = ReadNumber<uint64_t>(argv[4]);
  if (!header || !offset || !length) return cli::kExitUsage;
  auto written = WritePart(*header, *offset, *length, argv[5]);
  return written ? cli::kExitSuccess : cli::ReportError(written.error());
}

}  // namespace spate::run
