// How much memory the processes below one of ours need, as far as /proc tells.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace spate::shepherd {

// Bytes that the processes below `root` need: pages that several of them share count once, and
// those of mapped files, which the system may take back, do not count. The kernel walks the
// processes' page tables for it: milliseconds for each gigabyte. Of a process that may not be
// looked at so closely, and of all on kernels before 4.14, all resident pages count.
uint64_t NeedOfDescendants(pid_t root, const std::string& proc = "/proc");

// The same of one process, from the text of its smaps_rollup. False when it makes no sense.
bool ReadNeed(std::string_view rollup, uint64_t& bytes);

}  // namespace spate::shepherd
