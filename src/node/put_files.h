// PutFiles: what jobs bring along (core/model/task_files.h), as this node has it: each content in a
// file of its own, fetched from the hub once for each job.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/model/job.h"
#include "node/folder_remover.h"

namespace spate::node {

class PutFiles {
 public:
  // Files go to FOLDER/JOB/. Those that an earlier process left there are removed.
  PutFiles(os::Loop& loop, std::string folder);

  // Path of this file's content, now or later.
  std::string PathOf(JobId job, const PutFile& file) const;
  bool Has(JobId job, const PutFile& file) const;
  // Pieces of one content, from its first on, in order; after the last one Has() is true.
  Status Store(JobId job, const PutFile& file, uint32_t piece, const std::string& bytes);
  // Its files are gone soon.
  void Forget(JobId job);

 private:
  std::string FolderOf(JobId job) const;

  const std::string folder_;
  std::map<JobId, std::set<uint32_t>> whole_;  // first pieces
  FolderRemover remover_;
};

}  // namespace spate::node
