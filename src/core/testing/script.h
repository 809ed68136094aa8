// Text scripts for pure state machines: a file of blocks, each some input lines, `----`, and what
// the state machine must put out for them. Nothing else may come out: the text is compared exactly.
//
//   # A task that fails is tried once more.
//   submit j1 tasks=1 retries=1
//   node n1 slots=1
//   ----
//   record leased n1 j1.1 attempt=1
//
// A file begins with a comment that says the rule it shows. `#` comments and blank lines stand
// before a block; a blank line ends one. With --rewrite (or SPATE_REWRITE=1) the expected output
// is replaced by the real one: read the difference before you commit it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/model/attempt.h"
#include "core/model/job.h"
#include "core/model/needs.h"

namespace spate::script {

// One input line: a verb, plain words, and NAME=VALUE options. Taking a word that is missing or
// wrong is remembered as the line's error, and so is a word that nobody took: a subject's code
// for a line just takes what it needs.
class Line {
 public:
  explicit Line(std::string_view text);

  const std::string& verb() const { return verb_; }
  bool HasWord() const { return !words_.empty(); }
  std::string Word(std::string_view what);  // the next plain word
  bool Flag(std::string_view name);         // the plain word `name`, anywhere
  bool Has(std::string_view option) const;
  std::string Option(std::string_view name, std::string_view otherwise = "");
  uint64_t Number(std::string_view name, uint64_t otherwise);
  Duration Time(std::string_view name, Duration otherwise = {});
  std::vector<std::string> List(std::string_view name);  // NAME=a,b,c
  uint64_t Size(std::string_view name, uint64_t otherwise = 0);

  JobId Job();    // the next plain word: "j1"
  NodeId Node();  // the next plain word: "n1"
  struct Tasks {
    JobId job;
    std::vector<TaskRange> ranges;
  };
  Tasks TaskList();    // the next plain word: "j1.2-4,7"; numbers from 1, as people type them
  Tasks JobOrTasks();  // as Job, then without ranges, or as TaskList
  AttemptRef Ref();    // the next plain word and attempt=N (1): "j1.7"
  // cpus= (1), memory=, any of gpus= licences= disks=, time=, labels=a,b on= not-on=n1,n2
  Needs TaskNeeds();
  // cpus= (as slots), memory=, any of gpus= licences= disks=, user=, labels=a,b features=a,b for a
  // node of this name.
  Offer NodeOffer(std::string_view name);
  // The cause of an attempt's end and its status: success, exit=3, signal=9, time, memory, check,
  // node, start=127 or stopped; with wall=, slot= and note=.
  AttemptEnd End(const AttemptRef& ref);

  void Fail(std::string message);
  // The first error, or that of a word that was never taken.
  Status Finish() const;

 private:
  struct Pair {
    std::string name;
    std::string value;
  };
  std::optional<std::string> Take(std::string_view name);

  std::string verb_;
  std::vector<std::string> words_;
  std::vector<Pair> options_;
  std::string error_;
};

// "1-3:cpus=2": the tasks before the colon. nullopt when it is no list of ranges.
std::optional<std::vector<TaskRange>> ParseRanges(std::string_view text);

// ---- Text of model values, for the output ------------------------------------------------------

std::string Name(JobId job);                                       // "j1"
std::string Name(NodeId node);                                     // "n1"
std::string Name(JobId job, const std::vector<TaskRange>& tasks);  // "j1.1-4,7"
std::string Name(const AttemptRef& ref);                           // "j1.7 attempt=2"
std::string Describe(const AttemptEnd& end);                       // "exit=3"
std::string Describe(const Needs& needs);                          // "cpus=2 gpus=1"
std::string Describe(Duration duration);                           // "+5s", "+20ms", "+0s"

// Lines of output; lines that differ in nothing but a task, which goes up or down by one, become
// one: "record ended n1 j1.4-1 attempt=1 ...".
class Lines {
 public:
  void Add(std::string line);
  // A line about one task: `before` + "j1.7" + `after`.
  void AddTask(std::string before, JobId job, TaskIndex index, std::string after);
  std::vector<std::string> Take();

 private:
  struct Run {
    std::string before;
    std::string after;
    JobId job;
    TaskIndex first = 0;
    TaskIndex last = 0;
  };
  void Flush();

  std::vector<std::string> lines_;
  std::optional<Run> run_;
};

// ---- Running -----------------------------------------------------------------------------------

// The object that a script drives. One is made for each file.
class Subject {
 public:
  virtual ~Subject() = default;
  // One input line. It may act at once or collect events for EndBlock.
  virtual void Input(Line& line) = 0;
  // After a block's last line: acts, checks its invariants, and returns all output of the block.
  virtual std::vector<std::string> EndBlock() = 0;
};
using MakeSubject = std::unique_ptr<Subject> (*)();

struct Outcome {
  std::string text;                   // the script with the real output in it
  std::vector<std::string> problems;  // "12: ..."; empty when it behaved as written
};
// Pure: text in, text out.
Outcome RunScript(std::string_view text, const MakeSubject& make);

// main() of a script test: each *.txt of `folder` becomes a test of its own ("Script.name").
// Arguments: those of GoogleTest, and --rewrite.
int ScriptMain(int argc, char** argv, const char* folder, MakeSubject make);

}  // namespace spate::script
