// The folders that a node has in a folder for temporary files (TMPDIR): spate-WORD for those of its
// tasks, and spate-stderr-WORD for what they write to stderr that stays there (kept_streams.h).
// Each has a mark, whose time says that its node is there; who finds one of a node that is gone for
// long removes it.
//
// Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace spate::node {

inline constexpr std::string_view kScratchMark = ".node";
inline constexpr std::string_view kTaskScratch = "spate-";
inline constexpr std::string_view kStderrScratch = "spate-stderr-";
inline constexpr size_t kScratchWord = 12;  // hexadecimal digits

// Something else has this folder's name: it is another user's, or no folder.
bool IsTaken(const std::string& folder);
// Makes the folder of a node's tasks, with its mark, if it is missing. `of_users`: tasks run as
// other users, who must reach their own folders. kPermission: the name is taken.
Status MakeScratch(const std::string& folder, bool of_users);
// The node of this folder is there now. Nothing, when the folder is not there or another user's.
Status MarkScratch(const std::string& folder);
// Removes the folder when there is nothing in it but the mark.
void RemoveIfUnused(const std::string& folder);
// Removes the folders in `tmp`, of this user, whose nodes were not there since `before`. Those
// without a mark are left alone. May take long.
void SweepScratch(const std::string& tmp, Instant before);

}  // namespace spate::node
