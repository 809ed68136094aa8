// For tests of commands: a command by its name, and a world that a test makes up.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cli/exit_code.h"
#include "cli/main.h"
#include "client/asker.h"
#include "command/all_commands.h"
#include "command/history_call.h"
#include "command/hub_screen.h"
#include "wire/questions.h"

namespace spate::cli::command {

// The command that is carried out; the test fails where there is none of this name.
inline const Command& Named(std::string_view name) {
  const Command* command = FindNamed(AllCommands(), name);
  if (command == nullptr) ADD_FAILURE() << "no command " << name;
  return MeantBy(command != nullptr ? *command : *AllCommands().front());
}

// About jobs it asks whom its environment has; where it has a hub, words mean that hub's jobs.
class FakeWorld final : public World {
 public:
  explicit FakeWorld(const HistoryEnvironment& environment) : environment_(environment) {}

  // Answers a command that asks a hub; without it, no command asks one.
  std::function<Result<int>(const Words& words, HubBody body)> ask_hub;

  bool MeansHub(const Words&) override { return environment_.hub != nullptr || ask_hub; }
  bool OrdersGoToHub(const Words& words) override { return MeansHub(words); }
  int LookHere(const Invocation& invocation, HistoryBody body) override {
    return CallHistory(environment_, invocation, body);
  }
  int LookIntoHub(const Invocation& invocation, HistoryBody body) override {
    return CallHistory(environment_, invocation, body);
  }
  int AskHub(const Invocation& invocation, HubBody body) override {
    if (!ask_hub) {
      ADD_FAILURE() << "spate " << invocation.words.command->name << " asks a hub";
      return kExitUsage;
    }
    auto code = ask_hub(invocation.words, body);
    return code ? *code : ExitCodeOf(code.error().kind);
  }
  int AskRuns(const Invocation& invocation, HubBody body) override {
    return AskHub(invocation, body);
  }

 private:
  const HistoryEnvironment& environment_;
};

// A hub that keeps what it was asked, and answers what a test says.
class FakeHub final : public client::Asker {
 public:
  // Every question of this type gets these answers; one that nothing was said of is refused.
  template <typename Q>
  void Answers(const std::vector<typename Q::Answer>& answers) {
    std::vector<std::string> bytes;
    for (const auto& answer : answers) bytes.push_back(wire::BytesOf(answer));
    AnswersBytes<Q>(std::move(bytes));
  }
  template <typename Q>
  void AnswersBytes(std::vector<std::string> answers) {
    answers_[Q::kNumber] = std::move(answers);
  }
  // The questions of this type that it was asked.
  template <typename Q>
  std::vector<Q> Asked() const {
    std::vector<Q> all;
    for (const wire::Question& question : asked_) {
      if (const auto one = question.As<Q>()) all.push_back(*one);
    }
    return all;
  }

  Status Query(wire::Question question, const AcceptAnswer& take) override {
    asked_.push_back(question);
    auto found = answers_.find(question.number());
    if (found == answers_.end()) return Fail(ErrorKind::kNotFound, "the hub knows nothing of it");
    for (const std::string& bytes : found->second) {
      if (auto taken = take(bytes); !taken) return taken;
    }
    return {};
  }

 private:
  std::vector<wire::Question> asked_;
  std::map<uint32_t, std::vector<std::string>> answers_;
};

// A command that asks a hub.
class HubScene {
 public:
  struct Ran {
    Result<int> code = 0;
    std::string out, err;
  };

  FakeHub hub;
  std::string reach;
  bool readable_by_others = false;

  Ran Run(std::string_view name, std::vector<std::string> argv) {
    Ran ran;
    const Command& command = Named(name);
    auto words = ParseWords(command, argv);
    if (!words) {
      ADD_FAILURE() << words.error().message;
      return ran;
    }
    const HistoryEnvironment environment;
    FakeWorld world(environment);
    world.ask_hub = [&](const Words& typed, HubBody body) {
      HubScreen screen{hub, typed, OutputFormOf(typed).value()};
      screen.reach = reach;
      screen.readable_by_others = readable_by_others;
      screen.write_out = [&](std::string_view text) {
        ran.out += text;
        return Status();
      };
      screen.write_err = [&](std::string_view text) { ran.err += text; };
      ran.code = body(screen);
      return ran.code;
    };
    const Wiring wiring{.commands = AllCommands(), .programs = {}, .world = &world};
    command.run(Invocation{
        .words = std::move(*words), .argv = std::move(argv), .preset = {}, .wiring = &wiring});
    return ran;
  }
};

}  // namespace spate::cli::command
