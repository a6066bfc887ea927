#include "doctor/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/look_machine.h"
#include "doctor/look_model.h"

namespace coli {
namespace {

using ::testing::HasSubstr;
constexpr uint64_t kGib = uint64_t{1} << 30;

// A good machine with a good model on a good drive.
DoctorFacts Healthy() {
  DoctorFacts facts;
  facts.machine = {.memory_bytes = 64 * kGib,
                   .available_bytes = 60 * kGib,
                   .swap_bytes = 8 * kGib,
                   .swap_used_bytes = 0,
                   .cores = 8,
                   .isa = "avx2",
                   .isas = {"scalar", "avx2"},
                   .why_no_uring = {},
                   .huge_pages = "madvise",
                   .locked_limit = UINT64_MAX,
                   .open_files_limit = 65'536};
  facts.drive.file_system = "ext4";
  facts.drive.read_bytes_per_s = 5e9;
  facts.model.path = "/models/m";
  facts.model.mtp_layers = 1;
  facts.model.has_mtp = true;
  facts.model.mtp_format = "int8-row";
  facts.model.fit = FitFacts{.planned_bytes = 50 * kGib,
                             .expert_cache_bytes = 30 * kGib,
                             .token_expert_bytes = 11 * kGib,
                             .expert_bytes = 340 * kGib};
  facts.state.path = "/var/lib/colibri";
  return facts;
}

Finding Of(const DoctorFacts& facts, std::string_view check) {
  for (const Finding& finding : Examine(facts)) {
    if (finding.check == check) {
      return finding;
    }
  }
  return {check, Verdict::kOk, "no finding", {}};
}

TEST(Doctor, AHealthyMachineIsFineInEveryLine) {
  const std::vector<Finding> findings = Examine(Healthy());
  EXPECT_EQ(findings.size(), 17U);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.verdict, Verdict::kOk) << finding.check << ": " << finding.found;
    EXPECT_EQ(finding.advice, "") << finding.check;
    EXPECT_NE(finding.found, "") << finding.check;
  }
}

struct Illness {
  std::string_view check;
  Verdict verdict;
  std::string_view says;
  void (*infect)(DoctorFacts&);
};

constexpr Illness kIllnesses[] = {
    {"model.config", Verdict::kFail, "no config",
     [](DoctorFacts& f) { f.model.config = Error{ErrorCode::kNotFound, "no config"}; }},
    {"model.files", Verdict::kFail, "too short",
     [](DoctorFacts& f) { f.model.files = Error{ErrorCode::kCorrupt, "f: too short"}; }},
    {"model.tensors", Verdict::kFail, "not there",
     [](DoctorFacts& f) { f.model.weights = Error{ErrorCode::kNotFound, "t is not there"}; }},
    {"model.download", Verdict::kWarn, "a.part",
     [](DoctorFacts& f) { f.model.unfinished = {"a.part"}; }},
    {"model.download", Verdict::kFail, "missing: s2",
     [](DoctorFacts& f) { f.model.missing_shards = {"s2"}; }},
    {"model.revision", Verdict::kWarn, "abc, def",
     [](DoctorFacts& f) { f.model.revisions = {"abc", "def"}; }},
    {"model.revision", Verdict::kFail, "of-00009",
     [](DoctorFacts& f) { f.model.other_totals = {"m-*-of-00009"}; }},
    {"model.drafts", Verdict::kWarn, "int4-row",
     [](DoctorFacts& f) { f.model.mtp_format = "int4-row"; }},
    {"model.drafts", Verdict::kWarn, "not there", [](DoctorFacts& f) { f.model.has_mtp = false; }},
    {"memory.plan", Verdict::kFail, "needs at least",
     [](DoctorFacts& f) {
       f.model.fit = Fail(ErrorCode::kNotEnoughMemory, "the model needs at least 5 MiB");
     }},
    {"memory.plan", Verdict::kWarn, "one token chooses 11.00 GiB",
     [](DoctorFacts& f) { (*f.model.fit)->expert_cache_bytes = 3 * kGib; }},
    {"memory.swap", Verdict::kWarn, "6.00 of 8.00",
     [](DoctorFacts& f) { f.machine.swap_used_bytes = 6 * kGib; }},
    {"memory.lock", Verdict::kWarn, "20.00 are used",
     [](DoctorFacts& f) { f.machine.locked_limit = 8 << 20; }},
    {"memory.pages", Verdict::kWarn, "are off",
     [](DoctorFacts& f) { f.machine.huge_pages = "never"; }},
    {"cpu", Verdict::kWarn, "without vector", [](DoctorFacts& f) { f.machine.isa = "scalar"; }},
    {"drive.system", Verdict::kWarn, "network", [](DoctorFacts& f) { f.drive.network = true; }},
    {"drive.system", Verdict::kWarn, "rotates", [](DoctorFacts& f) { f.drive.rotational = true; }},
    {"drive.system", Verdict::kWarn, "overlay",
     [](DoctorFacts& f) {
       f.drive.layered = true;
       f.drive.file_system = "overlay";
     }},
    {"drive.system", Verdict::kWarn, "in memory", [](DoctorFacts& f) { f.drive.in_memory = true; }},
    {"drive.direct", Verdict::kWarn, "it refuses",
     [](DoctorFacts& f) { f.drive.why_not_direct = "it refuses"; }},
    {"drive.speed", Verdict::kWarn, "0.2 GB/s",
     [](DoctorFacts& f) { f.drive.read_bytes_per_s = 0.2e9; }},
    {"kernel.io_uring", Verdict::kWarn, "not allowed",
     [](DoctorFacts& f) { f.machine.why_no_uring = "not allowed"; }},
    {"limit.files", Verdict::kWarn, "256",
     [](DoctorFacts& f) { f.machine.open_files_limit = 256; }},
    {"state", Verdict::kWarn, "read-only",
     [](DoctorFacts& f) { f.state.why_not_writable = "read-only"; }},
};

TEST(Doctor, EveryIllnessIsFoundInItsLineWithWhatToDo) {
  for (const Illness& illness : kIllnesses) {
    DoctorFacts facts = Healthy();
    illness.infect(facts);
    const Finding finding = Of(facts, illness.check);
    EXPECT_EQ(finding.verdict, illness.verdict) << illness.check << ": " << finding.found;
    EXPECT_THAT(finding.found, HasSubstr(illness.says)) << illness.check;
    EXPECT_NE(finding.advice, "") << illness.check;
  }
}

TEST(Doctor, AMissingIndexerIsNamedAsWhatItIs) {
  DoctorFacts facts = Healthy();
  facts.model.weights =
      Error{ErrorCode::kNotFound, "m: tensor model.layers.0.self_attn.indexer.wk.weight: missing"};
  EXPECT_THAT(Of(facts, "model.tensors").advice, HasSubstr("out-idx-*"));
}

TEST(Doctor, ADriveWhoseSpeedIsUnknownIsNotBlamed) {
  DoctorFacts facts = Healthy();
  facts.drive.read_bytes_per_s = Fail(ErrorCode::kInvalidArgument, "too small");
  EXPECT_EQ(Of(facts, "drive.speed").verdict, Verdict::kOk);
  EXPECT_THAT(Of(facts, "drive.speed").found, HasSubstr("too small"));
}

ModelDirectoryFacts FactsOfNames(const std::vector<std::string>& names) {
  ModelDirectoryFacts facts;
  JudgeNames(names, facts);
  return facts;
}

TEST(JudgeNames, ACompleteSetAndOtherFilesAreFine) {
  const auto facts = FactsOfNames({"model-00001-of-00002.safetensors", "config.json",
                                   "model-00002-of-00002.safetensors", "out-00001.safetensors"});
  EXPECT_TRUE(facts.missing_shards.empty());
  EXPECT_TRUE(facts.other_totals.empty());
  EXPECT_TRUE(facts.unfinished.empty());
}

TEST(JudgeNames, AMissingShardIsNamed) {
  const auto facts =
      FactsOfNames({"model-00001-of-00003.safetensors", "model-00003-of-00003.safetensors"});
  EXPECT_EQ(facts.missing_shards, std::vector<std::string>{"model-00002-of-00003.safetensors"});
}

TEST(JudgeNames, ShardsOfTwoSetsAndUnfinishedFilesAreNamed) {
  const auto facts =
      FactsOfNames({"model-00001-of-00001.safetensors", "x.safetensors.incomplete",
                    "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"});
  EXPECT_EQ(facts.other_totals, std::vector<std::string>{"model-*-of-00001.safetensors"});
  EXPECT_EQ(facts.unfinished, std::vector<std::string>{"x.safetensors.incomplete"});
  EXPECT_TRUE(facts.missing_shards.empty());
}

TEST(JudgeNames, HugeNumbersOfShardsAreNotAllListed) {
  const auto facts = FactsOfNames({"model-00001-of-99999.safetensors"});
  EXPECT_LE(facts.missing_shards.size(), 2U);
  EXPECT_FALSE(facts.missing_shards.empty());
}

TEST(ChosenWord, IsTheOneInBrackets) {
  EXPECT_EQ(ChosenWord("always [madvise] never"), "madvise");
  EXPECT_EQ(ChosenWord("always madvise"), "");
  EXPECT_EQ(ChosenWord("] ["), "");
  EXPECT_EQ(ChosenWord(""), "");
}

}  // namespace
}  // namespace coli
