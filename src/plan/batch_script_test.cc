#include "plan/batch_script.h"

#include <gtest/gtest.h>

namespace spate::cli {
namespace {

using Lines = std::vector<std::string>;

TEST(ReadDirectives, BecomeACommandThatCanBeTyped) {
  struct Case {
    Lines lines;
    std::string command;  // between `spate submit` and the script
    Lines others = {};
  };
  const Case cases[] = {
      {{"#SBATCH --array=0-34%20 --mem=10G --time=1:00:00"},
       "--array 0-34%20 --memory 10G --time-limit 1:00:00 -- env SLURM_ARRAY_TASK_ID={}"},
      {{"#SBATCH -a 1,3,7-9", "#SBATCH --mem 4000  # MB", "#SBATCH -t 90", "#SBATCH -c4"},
       "--array 1,3,7-9 --memory 4000M --time-limit 90m --cpus 4 -- env SLURM_ARRAY_TASK_ID={}"},
      {{"#SBATCH -J 'my job' -D /scratch", "#SBATCH --mem-per-cpu=2G --gpus=2"},
       "--name 'my job' --cwd /scratch --gpus 2 --",
       {"#SBATCH --mem-per-cpu=2G"}},
      {{"#SBATCH -N 1 -n1 --export=ALL -p long --exclusive"},
       "--",
       {"#SBATCH -p long", "#SBATCH --exclusive"}},
      {{"#SBATCH --nodes=2 --ntasks 4 --mem=0 --gres=gpu:2 --gpus=a100:2"},
       "--",
       {"#SBATCH --nodes=2", "#SBATCH --ntasks 4", "#SBATCH --mem=0", "#SBATCH --gres=gpu:2",
        "#SBATCH --gpus=a100:2"}},
      {{"#SBATCH --comment 'open", "#SBATCH -t 1-12"},
       "--time-limit 1-12 --",
       {"#SBATCH --comment 'open"}},
      {{"#PBS -N sim", "#PBS -J 0-34:2", "#PBS -l select=1:ncpus=4:mem=8gb,walltime=01:30:00"},
       "--array 0-34:2 --name sim --cpus 4 --memory 8gb --time-limit 01:30:00 -- "
       "env PBS_ARRAY_INDEX={}"},
      {{"#PBS -l nodes=2:ppn=4 -t 1-9 -q batch"},
       "--array 1-9 --cpus 4 -- env PBS_ARRAYID={}",
       {"#PBS -l nodes=2", "#PBS -q batch"}},
      {{"#$ -cwd -V -S /bin/bash -t 1-10", "#$ -pe smp 4 -l h_vmem=2G,h_rt=3600 -N it -tc 2"},
       "--array 1-10 --time-limit 3600 --name it -- env SGE_TASK_ID={}",
       {"#$ -pe smp 4", "#$ -l h_vmem=2G", "#$ -tc 2"}},
      {{"#BSUB -J sim[1-10]%2 -n 1 -M 4000"},
       "--array 1-10%2 -- env LSB_JOBINDEX={}",
       {"#BSUB -M 4000"}},
      {{"#BSUB -J sim -n 8"}, "--", {"#BSUB -J sim", "#BSUB -n 8"}},
      {{"#HQ --array 1-5 --cpus=2 --time-limit=10min --pin taskset", "#HQ --cpus '4 compact'"},
       "--array 1-5 --cpus 2 --time-limit 10min -- env HQ_TASK_ID={}",
       {"#HQ --pin taskset", "#HQ --cpus 4 compact"}},
      {{"#FLUX: -N4"}, "--", {"#FLUX: -N4"}},
  };
  for (const Case& each : cases) {
    const BatchRequests made = ReadDirectives(each.lines, /*is_submit=*/true);
    EXPECT_EQ(made.Command("", "./job.sh"), "spate submit " + each.command + " ./job.sh");
    EXPECT_EQ(made.others, each.others) << each.lines.front();
  }
}

TEST(ReadDirectives, ARunHasTheNumbersAsValues) {
  const Lines lines = {"#SBATCH --array=1,7-9,10-20:5%3 --mem=1G"};
  const BatchRequests made = ReadDirectives(lines, /*is_submit=*/false);
  EXPECT_EQ(made.Command(" -q", "./job.sh"),
            "spate run -q -j 3 --memory 1G -- env SLURM_ARRAY_TASK_ID={} ./job.sh ::: $(seq 1 1) "
            "$(seq 7 9) $(seq 10 5 20)");
  EXPECT_EQ(made.OthersText(), "");
}

}  // namespace
}  // namespace spate::cli
