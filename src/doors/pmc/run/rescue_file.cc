#include "doors/pmc/run/rescue_file.h"

#include <utility>

#include "os/file.h"

namespace spate::pmc {

Result<RescueFile> RescueFile::Find(const std::string& path) {
  RescueFile file(path);
  auto info = os::Stat(path);
  if (!info && info.error().kind == ErrorKind::kNotFound) return file;
  if (!info) return std::unexpected(std::move(info.error()));
  file.exists_ = true;
  file.is_regular_ = info->kind == os::FileKind::kFile;
  if (!file.is_regular_) return file;
  auto real = TRY(os::RealPath(path));
  file.path_ = std::move(real);
  return file;
}

Result<std::string> RescueFile::Read() const {
  if (!exists_ || !is_regular_) return std::string();
  return os::ReadFile(path_, SIZE_MAX);
}

Status RescueFile::Rewrite(std::string_view text, uint64_t whole) const {
  if (!exists_ || !is_regular_) return {};
  auto replaced = os::ReplaceFile(path_, text);
  if (replaced || replaced.error().kind != ErrorKind::kPermission) return replaced;
  auto file = TRY(os::OpenWrite(path_, os::OpenHow::kAppend));
  TRY(os::Truncate(file.get(), whole, path_));
  return os::Fsync(file.get(), path_);
}

Status RescueFile::Empty(const std::string& kept) const {
  if (!exists_ || !is_regular_) return {};
  auto info = TRY(os::Stat(path_));
  auto text = TRY(Read());
  TRY(os::WriteFileAtomically(kept, text, info.permissions));
  auto file = TRY(os::OpenWrite(path_, os::OpenHow::kTruncate));
  return os::Fsync(file.get(), path_);
}

Result<os::Fd> RescueFile::Open() const {
  auto file = TRY(os::OpenWrite(path_, os::OpenHow::kAppend));
  if (exists_) return file;
  // The folder's entry of a new file must survive a crash of the machine, like the records.
  auto real = TRY(os::RealPath(path_));
  TRY(os::FsyncDir(os::DirName(real)));
  return file;
}

}  // namespace spate::pmc
