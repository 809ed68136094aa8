// Refuses programs and scripts where a list of commands is expected: files with a program's name,
// and lines that have a meaning in a script only. Standard input is read as it is, and so is a list
// with --resume: a run of an earlier version may have begun it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/options/run_options.h"

namespace spate::cli {

// By the file's name (analysis.py, Makefile, config.yml), unless --format names what it is; and a
// compressed list (jobs.lst.gz).
Status CheckListName(const RunOptions& options, const std::string& file);

// Why this command of the list `file` shows that the file is a script; empty when it does not.
std::string WhyScript(const RunOptions& options, const std::string& file, std::string_view command);

}  // namespace spate::cli
