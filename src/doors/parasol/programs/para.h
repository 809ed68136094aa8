// para: keeps the jobs of a list as a batch, and has a hub run them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/time.h"
#include "doors/parasol/formats/time_text.h"
#include "doors/parasol/programs/batch_hub.h"
#include "doors/parasol/programs/para_batch.h"
#include "doors/parasol/programs/para_state.h"
#include "doors/parasol/programs/programs.h"

namespace spate::parasol {

// Surroundings that para needs. File checks are relative to the current folder.
struct ParaParts {
  std::string state_root;  // ParaState::Find
  std::function<Result<std::unique_ptr<BatchHub>>(const ParaState& state)> open_hub;
  WhyFileFails why_file_fails;
  std::function<Instant()> now;
  LocalTime local;
};
Result<int> RunPara(std::span<const std::string> args, const ParaParts& parts);

// The commands that the usage names.
std::vector<std::string> ParaCommands();

// apps/ gives it the parts.
inline constexpr cli::Program kPara = {.name = "para",
                                       .summary = "run a list of jobs as a batch on a cluster",
                                       .usage = R"(para - run a list of jobs as a batch on a cluster
usage:
   para [options] COMMAND [ARGUMENTS]
The batch is in the current folder, or in the folder of -batch. The usual steps are: para create
jobList, para try, para check, and para push until all jobs are done. para make jobList does it all.
commands that make and run a batch:
   create LIST    make the batch from LIST, with one job per line; input checks run now.
                  LIST may be stdin, or packed (.gz, .Z, .bz2, .xz)
   try            submit up to 10 jobs
   push           submit new jobs, and failed jobs that have tries left
   shove          push until all jobs are done, or one has failed in all its tries
   make LIST      create and shove
   chill          start no more jobs of the batch; running jobs continue
   stop           chill, and end running jobs; a make in another terminal ends
commands that look at it:
   check          number of jobs in each state
   time, times    times of jobs, and an estimate of the end
   status         one line for each job, with tabs
   running        jobs that run
   hippos [MIN]   jobs that have run for more than MIN minutes (or: hippo)
   slow           jobs that have run for longer than -warnTime
   problems       failed jobs with reason and standard error (or: problem)
   finished       lines of the list whose jobs are done
   crashed        ... whose last try has crashed, or has failed an output check
   hung           ... whose last try was ended because of -killTime
   failed         ... that have failed in all their tries
   recover LIST NEW   write to NEW those lines of LIST whose output checks fail
   showSickNodes  machines that the batch avoids
commands that change it:
   ram SIZE, cpu N    needs of each job, from the next submission on
   priority P         high, medium, low or 1 (the most urgent) to 10000
   maxJob N           run at most N jobs at a time, or unlimited; 0: none until the next push
   clearSickNodes     use all machines again, and resume a sick batch
   resetCounts        reset the counts of done and crashed jobs
   flushResults       write all results to para.results
   freeBatch          remove the batch from the hub if none of its jobs waits or runs
options:
   -batch=DIR     the batch's folder, made by create; needed for every command (default: .)
   -jobCwd=DIR    where the jobs run (default: .)
   -cpu=N         CPUs of a job, for those without {use cpu N}
   -ram=SIZE      memory of a job, for those without {use ram SIZE}; 500m, 2g
   -retries=N     tries of a job in all (default 4)
   -maxPush=N     jobs submitted by one push, at most (default 100000)
   -maxQueue=N    submit none while N jobs of all users wait or run (default 2000000)
   -minPush=N     but submit at least N in any case (default 1)
   -delayTime=S   seconds between two submissions (default 0)
   -warnTime=MIN  a job is slow after MIN minutes (default 4320, 3 days)
   -killTime=MIN  commands that look at the batch end jobs after MIN minutes (default: never)
   -priority=P, -pri=P    as the command
   -maxJob=N, -maxNode=N  as the command
   -verbose=N     0: no progress on standard error; 2: also the time of each step
   -eta           no effect; para time prints the estimate
)",
                                       .commands = ParaCommands};

}  // namespace spate::parasol
