// TopView: the screen of `spate top`, line by line. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "command/spate/process_table.h"
#include "command/spate/top_keys.h"
#include "core/model/facts.h"
#include "view/bar.h"

namespace spate::cli {

class TopView {
 public:
  void Set(TopFacts snapshot, Instant now);
  // Processes are on the screen, and SetProcesses is wanted.
  bool shows_processes() const { return show_ == Show::kProcesses; }
  void SetProcesses(const std::vector<NodeProcesses>& answers, Instant now);
  // The hub is away; empty: it is there.
  void SetTrouble(std::string why) { trouble_ = std::move(why); }
  void Press(TopKey key);
  // In place of the line about keys; empty: that line.
  void SetLastLine(std::string line) { last_line_ = std::move(line); }

  struct Size {
    uint32_t columns = 80;  // or kWholeWidth
    uint32_t rows = 0;      // 0: as many as it takes, without the line about keys
    bool colour = false;
  };
  // At most `rows` lines; tables keep some 80 columns, so a narrower terminal must cut them. What
  // has been scrolled too far comes back.
  std::vector<std::string> Draw(const Size& size, Instant now);

 private:
  enum class Show : uint8_t { kBoth, kNodes, kJobs, kProcesses };
  using Lines = std::vector<std::string>;
  Lines Head(const Size& size, Instant now) const;
  Lines Pools(const Size& size) const;
  Lines Nodes(const Size& size) const;
  Lines Jobs(const Size& size, Instant now) const;
  Lines Processes(const Size& size) const;
  void AddList(Lines& screen, Lines list, size_t room, bool scrolled);

  TopFacts snapshot_;
  bool has_snapshot_ = false;
  std::string trouble_;
  std::string last_line_;
  ProcessRows processes_;
  std::vector<std::string> missing_;  // of processes
  Show show_ = Show::kBoth;
  size_t offset_ = 0;  // rows of the scrolled list above the screen
  size_t page_ = 1;    // rows of it on the screen
  RateMeter ends_;
  uint64_t ends_from_ = 0;
  struct Meter {
    RateMeter rate;
    uint64_t from = 0;
  };
  std::map<JobId, Meter> meters_;  // by job
};

}  // namespace spate::cli
