#include "history/state_size.h"

#include "os/file.h"

namespace spate::history {

uint64_t FolderBytes(const std::string& job_path) {
  uint64_t bytes = 0;
  auto entries = os::ListDir(job_path);
  if (!entries) return 0;
  for (const os::DirEntry& entry : *entries) {
    auto info = os::StatLink(job_path + '/' + entry.name);
    if (info && info->kind == os::FileKind::kFile) bytes += info->size;
  }
  return bytes;
}

uint64_t StoredBytes(const store::JobSummary& job) {
  if (!job.place.is_hub) return FolderBytes(job.place.folder);
  auto output = os::Stat(job.place.OutputPath(job.row.job));
  return output ? output->size : 0;
}

}  // namespace spate::history
