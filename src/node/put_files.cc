#include "node/put_files.h"

#include <fmt/format.h>

#include <utility>

#include "os/file.h"

namespace spate::node {

PutFiles::PutFiles(os::Loop& loop, std::string folder)
    : folder_(std::move(folder)), remover_(loop) {
  auto left = os::ListDir(folder_);
  for (const os::DirEntry& entry : left.value_or(std::vector<os::DirEntry>())) {
    remover_.Remove(os::JoinPath(folder_, entry.name));
  }
}

std::string PutFiles::FolderOf(JobId job) const {
  return os::JoinPath(folder_, fmt::format("{}", job.value));
}

std::string PutFiles::PathOf(JobId job, const PutFile& file) const {
  return os::JoinPath(FolderOf(job), fmt::format("{}", file.first_piece));
}

bool PutFiles::Has(JobId job, const PutFile& file) const {
  auto at = whole_.find(job);
  return at != whole_.end() && at->second.contains(file.first_piece);
}

Status PutFiles::Store(JobId job, const PutFile& file, uint32_t piece, const std::string& bytes) {
  TRY(os::MakeDirs(FolderOf(job), 0700));
  uint64_t offset = (piece - file.first_piece) * kPutPieceBytes;
  bool last = offset + bytes.size() >= file.size;
  if (bytes.size() != (last ? file.size - offset : kPutPieceBytes)) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("piece {} has another length than it must have", piece));
  }
  std::string path = PathOf(job, file);
  auto fd =
      os::OpenWrite(path, offset == 0 ? os::OpenHow::kTruncate : os::OpenHow::kReadWrite, 0600);
  if (!fd) return std::unexpected(std::move(fd.error()));
  TRY(os::WriteAllAt(fd->get(), bytes, offset, path));
  if (last) whole_[job].insert(file.first_piece);
  return {};
}

void PutFiles::Forget(JobId job) {
  whole_.erase(job);
  remover_.Remove(FolderOf(job));
}

}  // namespace spate::node
