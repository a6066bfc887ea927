#include "doctor/checks.h"

#include <fmt/format.h>

#include <optional>

namespace coli {
namespace {

constexpr double kGiB = 0x1p30;
constexpr double kGb = 1e9;

// What a check found out; nothing: there is nothing to say.
struct Judgement {
  Verdict verdict = Verdict::kOk;
  std::string found;
  std::string advice = {};
};
using Opinion = std::optional<Judgement>;

double InGib(uint64_t bytes) { return static_cast<double>(bytes) / kGiB; }

std::string Join(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kShown; ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() <= kShown ? text : fmt::format("{} and {} more", text, names.size() - kShown);
}

Opinion Failed(const std::optional<Error>& error, std::string advice) {
  return error ? Opinion(Judgement{Verdict::kFail, error->message, std::move(advice)})
               : std::nullopt;
}

// --- the model ---

Opinion ModelConfigReads(const DoctorFacts& facts) {
  if (facts.model.config) {
    return Failed(facts.model.config, "download config.json again, or name another directory");
  }
  return Judgement{Verdict::kOk, facts.model.path.string()};
}

Opinion DownloadsAreComplete(const DoctorFacts& facts) {
  const ModelDirectoryFacts& model = facts.model;
  if (!model.missing_shards.empty()) {
    return Judgement{Verdict::kFail, "missing: " + Join(model.missing_shards),
                     "resume the download"};
  }
  if (!model.unfinished.empty()) {
    return Judgement{Verdict::kWarn, "unfinished: " + Join(model.unfinished),
                     "resume the download, or delete these files"};
  }
  return Judgement{Verdict::kOk, "nothing is missing or unfinished"};
}

Opinion OneRevision(const DoctorFacts& facts) {
  const ModelDirectoryFacts& model = facts.model;
  constexpr const char* kAdvice = "download all files of one revision into an empty directory";
  if (!model.other_totals.empty()) {
    return Judgement{Verdict::kFail, "shards of different sets: " + Join(model.other_totals),
                     kAdvice};
  }
  if (model.revisions.size() > 1) {
    return Judgement{Verdict::kWarn, "files of several revisions: " + Join(model.revisions),
                     kAdvice};
  }
  return Judgement{Verdict::kOk, model.revisions.empty()
                                     ? std::string("no sign of several revisions")
                                     : "all of revision " + model.revisions.front()};
}

Opinion FilesMatchTheirHeaders(const DoctorFacts& facts) {
  if (facts.model.config) {
    return std::nullopt;
  }
  if (facts.model.files) {
    return Failed(facts.model.files, "download this file again");
  }
  return Judgement{Verdict::kOk, "every file is as long as its header says"};
}

Opinion TensorsAreThere(const DoctorFacts& facts) {
  if (facts.model.config || facts.model.files) {
    return std::nullopt;
  }
  if (!facts.model.weights) {
    return Judgement{Verdict::kOk, "every tensor that config.json asks for, with its shape"};
  }
  const bool indexer = facts.model.weights->message.find(".indexer.") != std::string::npos;
  return Failed(facts.model.weights,
                indexer
                    ? "this container was made without the indexer's tensors, which choose what "
                      "attention reads: get its out-idx-* files, or another container"
                    : "get a complete copy of the model, or one in a format that is read");
}

Opinion DraftsAreWorthIt(const DoctorFacts& facts) {
  const ModelDirectoryFacts& model = facts.model;
  if (model.weights || model.files || model.config || model.mtp_layers == 0) {
    return std::nullopt;
  }
  if (!model.has_mtp) {
    return Judgement{Verdict::kWarn, "the layer for drafts (MTP) is not there",
                     "answers are the same; get the out-mtp-* files to measure or use drafts"};
  }
  if (model.mtp_format == "int4-row") {
    return Judgement{Verdict::kWarn, "the layer for drafts (MTP) is int4-row",
                     "its drafts are nearly always wrong in this format: get the int8 one"};
  }
  return Judgement{Verdict::kOk, "the layer for drafts (MTP) is " + model.mtp_format};
}

// --- memory ---

Opinion ModelFits(const DoctorFacts& facts) {
  if (!facts.model.fit) {
    return std::nullopt;
  }
  const Result<FitFacts>& fit = *facts.model.fit;
  if (!fit) {
    return Failed(fit.error(), "coli plan says what would fit");
  }
  if (fit->expert_cache_bytes < fit->expert_bytes &&
      fit->expert_cache_bytes < fit->token_expert_bytes) {
    return Judgement{Verdict::kWarn,
                     fmt::format("room for {:.2f} GiB of experts, one token chooses {:.2f} GiB",
                                 InGib(fit->expert_cache_bytes), InGib(fit->token_expert_bytes)),
                     "most experts are read again for every token: more memory, a smaller --ctx or "
                     "--kv bf16 help"};
  }
  return Judgement{Verdict::kOk,
                   fmt::format("{:.2f} GiB, {:.2f} GiB of it for experts",
                               InGib(fit->planned_bytes), InGib(fit->expert_cache_bytes))};
}

Opinion SwapIsQuiet(const DoctorFacts& facts) {
  const MachineFacts& machine = facts.machine;
  if (machine.swap_bytes == 0) {
    return Judgement{Verdict::kOk, "no swap"};
  }
  const std::string found = fmt::format("{:.2f} of {:.2f} GiB in use",
                                        InGib(machine.swap_used_bytes), InGib(machine.swap_bytes));
  return machine.swap_used_bytes > machine.memory_bytes / 20
             ? Judgement{Verdict::kWarn, found,
                         "memory was short before: close other programs, or name a smaller --ram"}
             : Judgement{Verdict::kOk, found};
}

Opinion WeightsCanBeLocked(const DoctorFacts& facts) {
  const uint64_t limit = facts.machine.locked_limit;
  if (!facts.model.fit || !*facts.model.fit) {
    return std::nullopt;
  }
  const FitFacts& fit = **facts.model.fit;
  const uint64_t wanted = fit.planned_bytes - fit.expert_cache_bytes;
  if (limit >= wanted) {
    return Judgement{Verdict::kOk, "the weights that every token uses can be locked into memory"};
  }
  return Judgement{
      Verdict::kWarn,
      fmt::format("{:.2f} GiB may be locked into memory, {:.2f} are used all the time",
                  InGib(limit), InGib(wanted)),
      "the system may drop or swap weights under pressure: raise the limit (ulimit -l, "
      "or memlock in /etc/security/limits.conf)"};
}

// --- the processor and the system ---

Opinion InstructionsAreFast(const DoctorFacts& facts) {
  const MachineFacts& machine = facts.machine;
  if (machine.isa == "scalar") {
    return Judgement{Verdict::kWarn, "the kernels run without vector instructions",
                     machine.isas.size() > 1
                         ? "leave out --isa"
                         : "this processor has none that they use (AVX2, NEON)"};
  }
  return Judgement{Verdict::kOk,
                   fmt::format("{} on {} physical cores", machine.isa, machine.cores)};
}

Opinion HugePagesWork(const DoctorFacts& facts) {
  const std::string& mode = facts.machine.huge_pages;
  if (mode == "never" || mode.empty()) {
    return Judgement{Verdict::kWarn, mode.empty() ? "not known" : "transparent huge pages are off",
                     "memory is read up to a fifth slower: set "
                     "/sys/kernel/mm/transparent_hugepage/enabled to madvise"};
  }
  return Judgement{Verdict::kOk, "transparent huge pages: " + mode};
}

Opinion UringWorks(const DoctorFacts& facts) {
  const std::string& why = facts.machine.why_no_uring;
  return why.empty() ? Judgement{Verdict::kOk, "io_uring works"}
                     : Judgement{Verdict::kWarn, why,
                                 "reads use threads instead: allow io_uring (kernel 5.6 or later, "
                                 "kernel.io_uring_disabled, the container's seccomp profile)"};
}

Opinion EnoughFilesMayBeOpen(const DoctorFacts& facts) {
  constexpr uint64_t kNeeded = 1024;
  const uint64_t limit = facts.machine.open_files_limit;
  return limit >= kNeeded
             ? Judgement{Verdict::kOk, fmt::format("{} files may be open", limit)}
             : Judgement{Verdict::kWarn, fmt::format("only {} files may be open", limit),
                         "a model has hundreds of files: raise the limit (ulimit -n)"};
}

// --- the drive ---

Opinion FileSystemSuits(const DoctorFacts& facts) {
  const DriveFacts& drive = facts.drive;
  if (drive.network) {
    return Judgement{Verdict::kWarn, drive.file_system + ", over a network",
                     "copy the model to a drive of this machine"};
  }
  if (drive.in_memory) {
    return Judgement{Verdict::kWarn, drive.file_system + ", in memory",
                     "the model takes memory twice: move it to a drive"};
  }
  if (drive.layered) {
    return Judgement{Verdict::kWarn, drive.file_system,
                     "reads pass through another layer: mount the model's directory by itself"};
  }
  if (drive.rotational.value_or(false)) {
    return Judgement{Verdict::kWarn, drive.file_system + ", on a drive that rotates",
                     "copy the model to an SSD"};
  }
  return Judgement{Verdict::kOk, drive.file_system};
}

Opinion ReadsAreDirect(const DoctorFacts& facts) {
  const std::string& why = facts.drive.why_not_direct;
  return why.empty()
             ? Judgement{Verdict::kOk, "files are read past the page cache"}
             : Judgement{Verdict::kWarn, why,
                         "the page cache competes with experts for memory: another file system "
                         "(ext4, XFS) reads past it"};
}

Opinion DriveIsFast(const DoctorFacts& facts) {
  constexpr double kSlow = 1 * kGb;
  const auto& speed = facts.drive.read_bytes_per_s;
  if (!speed) {
    return Judgement{Verdict::kOk, "not measured: " + speed.error().message};
  }
  const std::string found = fmt::format("{:.3g} GB/s, experts at random", *speed / kGb);
  return *speed >= kSlow
             ? Judgement{Verdict::kOk, found}
             : Judgement{Verdict::kWarn, found,
                         "what is not in memory is read for every token: a faster drive "
                         "(NVMe) helps most"};
}

Opinion StateIsWritable(const DoctorFacts& facts) {
  const StateFacts& state = facts.state;
  if (state.path.empty()) {
    return std::nullopt;
  }
  return state.why_not_writable.empty()
             ? Judgement{Verdict::kOk, state.path.string()}
             : Judgement{Verdict::kWarn, state.why_not_writable,
                         "nothing is remembered between calls: make it writable, or name another"};
}

struct Check {
  std::string_view name;
  Opinion (*judge)(const DoctorFacts& facts);
};

constexpr Check kChecks[] = {
    {"model.config", ModelConfigReads},  {"model.download", DownloadsAreComplete},
    {"model.revision", OneRevision},     {"model.files", FilesMatchTheirHeaders},
    {"model.tensors", TensorsAreThere},  {"model.drafts", DraftsAreWorthIt},
    {"memory.plan", ModelFits},          {"memory.swap", SwapIsQuiet},
    {"memory.lock", WeightsCanBeLocked}, {"memory.pages", HugePagesWork},
    {"cpu", InstructionsAreFast},        {"drive.system", FileSystemSuits},
    {"drive.direct", ReadsAreDirect},    {"drive.speed", DriveIsFast},
    {"kernel.io_uring", UringWorks},     {"limit.files", EnoughFilesMayBeOpen},
    {"state", StateIsWritable},
};

}  // namespace

std::string_view NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kWarn:
      return "warn";
    case Verdict::kFail:
      return "fail";
  }
  return "";
}

std::vector<Finding> Examine(const DoctorFacts& facts) {
  std::vector<Finding> findings;
  for (const Check& check : kChecks) {
    if (Opinion opinion = check.judge(facts)) {
      findings.push_back(
          {check.name, opinion->verdict, std::move(opinion->found), std::move(opinion->advice)});
    }
  }
  return findings;
}

}  // namespace coli
