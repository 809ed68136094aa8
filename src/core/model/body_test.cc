#include "core/model/body.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate {
namespace {

std::string WhyNot(std::vector<Link> links) {
  Status sound = CheckLinks(links, {2, 1});  // two commands, and one in a second step
  return sound ? "" : sound.error().message;
}

TEST(CheckLinks, SaysWhichCannotBeMade) {
  using enum LinkKind;
  const struct {
    std::vector<Link> links;
    std::string why;
  } kCases[] = {
      {{{kPipe, {{0, 0, 3}}, {{0, 1, 4}}, ""}}, ""},
      {{{kPipe, {{0, 0, 1}, {0, 0, 2}}, {{0, 1, 0}}, ""}}, ""},
      {{{kPipe, {{0, 0, 1}}, {}, ""}},
       "link 1 (pipe) of the task needs a writer and a reader in one step"},
      {{{kPipe, {{0, 0, 1}}, {{1, 0, 0}}, ""}},
       "link 1 (pipe) of the task needs a writer and a reader in one step"},
      {{{kPipe, {{0, 0, 1}}, {{0, 1, 0}}, "name"}}, "link 1 (pipe) of the task has a name"},
      {{{kPipe, {{0, 0, 1}}, {{0, 2, 0}}, ""}},
       "link 1 (pipe) of the task names command 3 of step 1, which does not exist"},
      {{{kPipe, {{2, 0, 1}}, {{2, 1, 0}}, ""}},
       "link 1 (pipe) of the task names command 1 of step 3, which does not exist"},
      {{{kPipe, {{0, 0, 64}}, {{0, 1, 0}}, ""}},
       "link 1 (pipe) of the task names descriptor 64, and 63 is the last"},
      {{{kPipe, {{0, 0, 1}}, {{0, 1, 0}}, ""}, {kFile, {}, {{0, 1, 0}}, "in"}},
       "link 2 (file) of the task names descriptor 0 of command 2 of step 1, which has a link "
       "already"},
      {{{kNamedPipe, {}, {}, "sub/fifo"}}, ""},
      {{{kNamedPipe, {}, {}, ""}}, "link 1 (named pipe) of the task has no name"},
      {{{kNamedPipe, {{0, 0, 3}}, {}, "fifo"}},
       "link 1 (named pipe) of the task is opened by its name, and has no descriptors"},
      {{{kNamedPipe, {}, {}, "/tmp/fifo"}},
       "link 1 (named pipe) of the task must be in the task's folder"},
      {{{kNamedPipe, {}, {}, "a/../../fifo"}},
       "link 1 (named pipe) of the task must be in the task's folder"},
      {{{kBuffer, {{0, 0, 1}, {0, 1, 1}}, {{1, 0, 0}}, ""}}, ""},
      {{{kBuffer, {{0, 0, 1}}, {{0, 1, 0}}, ""}},
       "link 1 (buffer) of the task needs a writer, and readers in later steps"},
      {{{kBuffer, {}, {{1, 0, 0}}, ""}},
       "link 1 (buffer) of the task needs a writer, and readers in later steps"},
      {{{kFile, {}, {{0, 0, 5}}, "in"}}, ""},
      {{{kFile, {{1, 0, 5}}, {}, "out"}}, ""},
      {{{kFile, {}, {}, "out"}}, "link 1 (file) of the task has no end"},
      {{{kFile, {{0, 0, 3}}, {}, ""}}, "link 1 (file) of the task has no name"},
  };
  for (const auto& c : kCases) EXPECT_EQ(WhyNot(c.links), c.why);
  EXPECT_EQ(WhyNot(std::vector<Link>(kMostLinks + 1)), "a task has more than 1024 links");
}

TEST(PipeCommands, LinksEachCommandOfTheLastStepToTheNext) {
  TaskBody body;
  body.steps = {{{{{"a"}}, {{"b"}}}}, {{{{"c"}}, {{"d"}}, {{"e"}}}}};
  PipeCommands(body);
  EXPECT_EQ(body.links, (std::vector<Link>{{LinkKind::kPipe, {{1, 0, 1}}, {{1, 1, 0}}, ""},
                                           {LinkKind::kPipe, {{1, 1, 1}}, {{1, 2, 0}}, ""}}));
}

}  // namespace
}  // namespace spate
