// What a job takes on disk.
#pragma once

#include <cstdint>
#include <string>

namespace spate::cli {

// Bytes of the files in a job's folder; 0 when it cannot be read.
uint64_t FolderBytes(const std::string& job_path);

}  // namespace spate::cli
