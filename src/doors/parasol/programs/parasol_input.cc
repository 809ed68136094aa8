#include "doors/parasol/programs/parasol_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/real_loop.h"
#include "os/terminal.h"

namespace spate::parasol {
namespace {

constexpr size_t kMost = size_t{4} << 30;

struct Packed {
  std::string_view ending, program;
};
constexpr std::array kPacked = {Packed{".gz", "gzip"}, Packed{".Z", "gzip"},
                                Packed{".bz2", "bzip2"}, Packed{".xz", "xz"}};

// By the program that packs: what is damaged ends it with an error, and its own words.
Result<std::string> Unpack(const std::string& name, std::string_view program) {
  // Its own words would be about standard input.
  TRY(os::OpenRead(name));
  auto loop = TRY(os::RealLoop::Create());
  std::string text;
  int status = -1;
  os::Child::Events events;
  events.output = [&](int, std::string_view bytes) {
    if (text.size() <= kMost) text += bytes;
  };
  events.ended = [&](int ended) {
    status = ended;
    loop->Stop();
  };
  std::string path = name.starts_with('-') ? "./" + name : name;
  os::Child::Options options{.spawn = {.argv = {std::string(program), "-dc", path}}};
  auto child = TRY(os::Child::Start(*loop, std::move(options), std::move(events)));
  while (status == -1) loop->Run();
  if (status != 0) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("{} cannot unpack '{}'", program, EscapeForScreen(name)));
  }
  if (text.size() > kMost) {
    return Fail(ErrorKind::kInvalid, fmt::format("'{}' is too large", EscapeForScreen(name)));
  }
  return text;
}

Result<std::string> ReadAll(const std::string& name) {
  if (name == "stdin") return os::ReadToEnd(os::kStdin, kMost, name);
  for (const Packed& packed : kPacked) {
    if (name.ends_with(packed.ending)) return Unpack(name, packed.program);
  }
  return os::ReadFile(name, kMost);
}

}  // namespace

Result<std::string> ReadParasolLines(const std::string& name) {
  auto text = ReadAll(name);
  if (!text) return text;
  // By the first line's end.
  size_t end = text->find_first_of("\r\n");
  bool alone = end != std::string::npos && (*text)[end] == '\r' &&
               (end + 1 == text->size() || (*text)[end + 1] != '\n');
  if (alone) std::ranges::replace(*text, '\r', '\n');
  return text;
}

}  // namespace spate::parasol
