#include "format/script_text.h"

#include <gtest/gtest.h>

namespace spate::format {
namespace {

TEST(FindScriptTest, ByItsFirstLines) {
  struct Case {
    const char* text;
    const char* sign;  // null: a list
    const char* interpreter = "";
  };
  for (const Case& each : {
           Case{"#!/bin/bash\ncd scratch\nrm -rf *\n", "#!/bin/bash", "/bin/bash"},
           {"\xEF\xBB\xBF#!/bin/sh -e\r\nls\n", "#!/bin/sh -e", "/bin/sh -e"},
           {"#!/usr/bin/env python3", "#!/usr/bin/env python3", "/usr/bin/env python3"},
           {"#! /usr/bin/perl -w\n", "#! /usr/bin/perl -w", "/usr/bin/perl -w"},
           {"#SBATCH -n 4\n./run\n", "#SBATCH -n 4"},
           {"# a job\n\n#PBS -l nodes=1\n./run\n", "#PBS -l nodes=1"},
           {"#$ -cwd\n./run\n", "#$ -cwd"},
           {"#BSUB -n 4\n./run\n", "#BSUB -n 4"},
           {"#HQ --cpus=4\n./run\n", "#HQ --cpus=4"},
           {"#FLUX: -N4\n./run\n", "#FLUX: -N4"},
           {"#SBATCH --job-name=a-very-long-name-that-goes-on-and-on\n",
            "#SBATCH --job-name=a-very-long-name-that..."},
           {"#!/usr/bin/env -S spate run -j 4\nls\n", nullptr},
           {"#!/opt/bin/spate run\nls\n", nullptr},
           {"#!/usr/bin/spate run\n#SBATCH -n 4\nls\n", "#SBATCH -n 4"},
           {"ls\n#SBATCH -n 4\n", nullptr},
           {"ls\n#!/bin/bash\n", nullptr},
           {"# SBATCH -n 4\nls\n", nullptr},
           {"#SBATCH is of Slurm - and not of spate\nls\n", nullptr},
           {"#$HOME/bin/run -x\nls\n", nullptr},
           {"#$ is what SGE reads\nls\n", nullptr},
           {"# a list\nls\n", nullptr},
           {"", nullptr},
       }) {
    auto script = FindScript(each.text);
    ASSERT_EQ(script.has_value(), each.sign != nullptr) << each.text;
    if (!script) continue;
    EXPECT_EQ(script->sign, each.sign);
    EXPECT_EQ(script->interpreter, each.interpreter) << each.text;
  }
}

TEST(FindScriptTest, HasTheDirectivesBeforeTheFirstCommand) {
  auto script = FindScript("#!/bin/sh\n#SBATCH -n 4\n\n# none\n  #PBS -q x \r\nls\n#SBATCH -p y\n");
  ASSERT_TRUE(script);
  EXPECT_EQ(script->directives, (std::vector<std::string>{"#SBATCH -n 4", "#PBS -q x"}));
}

}  // namespace
}  // namespace spate::format
