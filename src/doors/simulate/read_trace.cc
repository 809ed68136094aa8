#include "doors/simulate/read_trace.h"

#include <array>
#include <functional>

#include "base/units.h"
#include "format/gzip/gunzip.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/terminal.h"

namespace spate::cli {
namespace {

using Sink = std::function<Status(std::string_view)>;

// Gives all bytes of the descriptor to the sink that the first ones ask for.
Status ReadInto(int fd, const std::string& name, const std::function<Sink&(std::string_view)>& to) {
  std::string begin;  // until it can be told by them
  std::array<char, 64 * 1024> bytes;
  Sink* sink = nullptr;
  while (true) {
    auto size = TRY(os::ReadSome(fd, bytes.data(), bytes.size(), name));
    begin.append(bytes.data(), size);
    if (begin.size() < 2 && size > 0) continue;
    if (sink == nullptr) sink = &to(begin);
    if (size == 0 && begin.empty()) return {};
    if (auto taken = (*sink)(begin); !taken) return Within(EscapeForScreen(name), taken.error());
    begin.clear();
    if (size == 0) return {};
  }
}

}  // namespace

Result<format::SwfTrace> ReadTrace(const std::string& path) {
  const bool standard = path == "-";
  const std::string name = standard ? "standard input" : path;
  os::Fd opened;
  if (!standard) {
    auto file = TRY(os::OpenRead(path));
    opened = std::move(file);
  }
  format::SwfReader reader;
  Sink plain = [&](std::string_view bytes) { return reader.Feed(bytes); };
  format::Gunzip gunzip(plain);
  Sink zipped = [&](std::string_view bytes) { return gunzip.Feed(bytes); };
  bool is_gzip = false;
  auto choose = [&](std::string_view begin) -> Sink& {
    is_gzip = format::IsGzip(begin);
    return is_gzip ? zipped : plain;
  };
  TRY(ReadInto(standard ? os::kStdin : opened.get(), name, choose));
  if (is_gzip) {
    if (auto whole = gunzip.Finish(); !whole) return Within(EscapeForScreen(name), whole.error());
  }
  auto trace = reader.Finish();
  if (!trace) return Within(EscapeForScreen(name), trace.error());
  return trace;
}

}  // namespace spate::cli
