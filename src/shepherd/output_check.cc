// Parasol's semantics: exists: stat works (folders count); exists+: and its size is over 0;
// line: opens, and is empty or ends with a newline; line+: not empty and ends with a newline.
#include "shepherd/output_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "os/error.h"
#include "os/fd.h"
#include "os/file.h"

namespace spate::shepherd {
namespace {

std::string Why(const char* file, std::string_view what) {
  std::string text(file);
  text.append(" ").append(what);
  return text;
}

std::string Unreadable(const char* file, int error) {
  if (error == ENOENT || error == ENOTDIR) return Why(file, "does not exist");
  return Why(file, std::string("cannot be read: ").append(os::TextOfErrno(error)));
}

std::string WhyLineFails(CheckKind kind, const char* file) {
  os::Fd fd(open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd) return Unreadable(file, errno);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return Unreadable(file, errno);
  if (S_ISDIR(info.st_mode)) return Unreadable(file, EISDIR);
  if (info.st_size == 0) {
    return kind == CheckKind::kLinePlus ? Why(file, "is empty") : std::string();
  }
  char last = 0;
  if (pread(fd.get(), &last, 1, info.st_size - 1) != 1) return Unreadable(file, EIO);
  return last == '\n' ? std::string() : Why(file, "has an incomplete last line");
}

}  // namespace

std::string WhyCheckFails(CheckKind kind, const char* file) {
  if (kind == CheckKind::kLine || kind == CheckKind::kLinePlus) return WhyLineFails(kind, file);
  struct stat info;
  if (stat(file, &info) != 0) return Unreadable(file, errno);
  if (kind == CheckKind::kExistsPlus && info.st_size == 0) return Why(file, "is empty");
  return {};
}

bool MayAppearLate(const char* file) {
  auto facts = os::FileSystemOf(os::DirName(file));
  return facts.has_value() && facts->is_network;
}

void RefreshFolder(const char* file) {
  std::string folder = os::DirName(file);
  os::Fd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return;
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return;  // asking is the purpose
}

}  // namespace spate::shepherd
