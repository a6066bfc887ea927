#include <array>

#include "cli/options.h"

namespace coli {
namespace {

constexpr uint16_t kAnswer = kRunVerb | kChatVerb | kConfigVerb;
constexpr uint16_t kMeasure = kAskVerb | kPerplexityVerb | kBenchVerb;
constexpr uint16_t kModel = kAnswer | kInfoVerb | kPlanVerb | kDoctorVerb | kMeasure;
constexpr uint16_t kAll = kModel | kValidateVerb;
constexpr double kManyTokens = 16'777'216;

// clang-format off
constexpr auto kTable = std::to_array<OptionSpec>({
    {.name = "model", .type = OptionType::kText, .letter = 'm', .verbs = kModel,
     .group = "Model and machine", .value_name = "DIR",
     .help = "Directory of the model. Not set: the small built-in model."},
    {.name = "model-mirror", .type = OptionType::kTextList,
     .verbs = kAnswer | kMeasure | kValidateVerb,
     .group = "Model and machine", .value_name = "DIR",
     .help = "A directory on another drive with copies of the model's files, or of some of them: experts are "
             "read from both. May be given several times; none: of no mirror that the file or the environment "
             "names. The answer does not depend on it."},
    {.name = "ctx", .type = OptionType::kInteger, .verbs = kModel | kEstimateVerb,
     .group = "Model and machine", .value_name = "N", .min = 2, .max = kManyTokens,
     .help = "Context window in tokens: prompt and answer together; for perplexity the sliding "
             "window. Not set: 4096, or less if the model has less."},
    {.name = "ram", .type = OptionType::kBytes, .verbs = kAll | kEstimateVerb,
     .group = "Model and machine", .value_name = "SIZE", .min = 1, .max = 0x1p62,
     .help = "Memory for the whole process, for example 20G (G is 1024^3 bytes). Not set: what the machine has "
             "available, less a reserve."},
    {.name = "threads", .type = OptionType::kInteger, .verbs = kAll | kEstimateVerb,
     .group = "Model and machine", .value_name = "N", .min = 1, .max = 1024,
     .help = "Compute threads. The answer does not depend on it. Not set: the physical cores."},
    {.name = "isa", .type = OptionType::kText, .verbs = kAll | kEstimateVerb,
     .group = "Model and machine", .value_name = "NAME", .default_text = "auto",
     .help = "Instruction set of the kernels. The answer does not depend on it. `coli info` lists "
             "what this machine has."},
    {.name = "cache-experts", .type = OptionType::kInteger, .verbs = kAll,
     .group = "Model and machine", .value_name = "N", .min = 1, .max = kManyTokens,
     .help = "Keep at most this many experts in memory, for experiments. Not set: as many as fit."},
    {.name = "io", .type = OptionType::kChoice, .verbs = kAll,
     .group = "Model and machine", .value_name = "ENGINE", .choices = "auto|uring|threads",
     .default_text = "auto",
     .help = "Who reads experts from the drive: io_uring, or threads that each make one read. auto: "
             "io_uring where the system has it and the files can be read past the page cache. The "
             "answer does not depend on it."},
    {.name = "direct", .type = OptionType::kChoice, .verbs = kAll,
     .group = "Model and machine", .value_name = "WHETHER", .choices = "auto|on|off",
     .default_text = "auto",
     .help = "Read experts past the page cache of the system. auto: where the file system can; on: "
             "refuse files that cannot be read so."},
    {.name = "cache-policy", .type = OptionType::kChoice, .verbs = kAll,
     .group = "Model and machine", .value_name = "NAME", .choices = "score|lru|lfu",
     .default_text = "score",
     .help = "Which experts stay in memory: those that the router's scores make likely, or those "
             "used last, or most often. The answer does not depend on it."},
    {.name = "lookahead", .type = OptionType::kChoice, .verbs = kAll,
     .group = "Model and machine", .value_name = "WHEN", .choices = "on|off",
     .default_text = "on",
     .help = "Read the next layer's likely experts while the drive has nothing else to do. It "
             "pauses by itself when it does not pay. The answer does not depend on it."},
    {.name = "expert-format", .type = OptionType::kFormat, .verbs = kAll | kSynthVerb,
     .group = "Model and machine", .value_name = "NAME", .default_text = "keep",
     .help = "Number format to hold experts in: f32, bf16, int8-row, int4-g64 and others "
             "(docs/container.md), or keep: as stored. They are converted each time they are read; "
             "what is quantised already is refused. synth: the format to write them in (not set: "
             "int4-row), by flag only."},
    {.name = "dense-format", .type = OptionType::kFormat, .verbs = kAll,
     .group = "Model and machine", .value_name = "NAME", .default_text = "keep",
     .help = "The same for the weights that every token uses. They are converted when the model is "
             "loaded; the router, the indexer's weights_proj and norms stay as they are."},
    {.name = "parallel", .type = OptionType::kInteger, .verbs = kAskVerb | kConfigVerb,
     .group = "Model and machine", .value_name = "N", .min = 1, .max = 256, .default_text = "8",
     .help = "Answers that are computed side by side, as far as memory allows. They do not depend "
             "on it."},
    {.name = "prefill-chunk", .type = OptionType::kInteger, .verbs = kAll,
     .group = "Model and machine", .value_name = "N", .min = 1, .max = 8192,
     .help = "Prompt tokens that are computed together: every expert is read once for all of them. "
             "The answer does not depend on it. Not set: 64 to 4096, as memory allows; `coli plan` "
             "says what."},
    {.name = "attention", .type = OptionType::kChoice, .verbs = kAll,
     .group = "Model and machine", .value_name = "FORM", .choices = "absorbed|explicit",
     .default_text = "absorbed",
     .help = "Order of the attention products. The two agree to rounding."},
    {.name = "kv", .type = OptionType::kChoice, .verbs = kAll | kEstimateVerb,
     .group = "Model and machine", .value_name = "FORMAT", .choices = "f32|bf16",
     .default_text = "f32",
     .help = "Number format of what attention remembers of each token. bf16 takes half the memory "
             "and rounds (docs/quality.md)."},
    {.name = "latent-norm-eps", .type = OptionType::kReal, .verbs = kAll,
     .group = "Model and machine", .value_name = "X", .min = 1e-12, .max = 1,
     .help = "Epsilon of the two latent norms. Not set: what the model's config says."},
    {.name = "state-dir", .type = OptionType::kText, .verbs = kAnswer | kDoctorVerb,
     .group = "Model and machine", .value_name = "DIR",
     .help = "Directory for what is learned about a model's experts while it answers, and for the "
             "history of a chat; none: nothing is kept. Answers do not depend on it. Not set: "
             "`colibri` below $XDG_STATE_HOME or ~/.local/state."},

    {.name = "temp", .type = OptionType::kReal, .verbs = kAnswer,
     .group = "Answers", .value_name = "X", .min = 0, .max = 100, .default_text = "0.7",
     .help = "Temperature of sampling; 0 always takes the likeliest token. A default of the "
             "model's goes before this one."},
    {.name = "top-k", .type = OptionType::kInteger, .verbs = kAnswer,
     .group = "Answers", .value_name = "N", .min = 0, .max = kManyTokens, .default_text = "0",
     .help = "Sample from the N likeliest tokens; 0: from all. A default of the model's goes "
             "before this one."},
    {.name = "top-p", .type = OptionType::kReal, .verbs = kAnswer,
     .group = "Answers", .value_name = "X", .min = 0, .max = 1, .default_text = "0.9",
     .help = "Sample from the likeliest tokens that together have this share. A default of the "
             "model's goes before this one."},
    {.name = "min-p", .type = OptionType::kReal, .verbs = kAnswer,
     .group = "Answers", .value_name = "X", .min = 0, .max = 1, .default_text = "0",
     .help = "Drop tokens less likely than this fraction of the likeliest."},
    {.name = "seed", .type = OptionType::kInteger, .verbs = kAnswer | kSynthVerb,
     .group = "Answers", .value_name = "N", .min = 0, .max = 0x1p53,
     .help = "Seed of sampling: same seed, same prompt, same answer. Not set: a new one each time, "
             "shown by `--json`. synth: seed of the weights, by flag only; not set: 1."},
    {.name = "max-tokens", .type = OptionType::kInteger, .verbs = kAnswer | kAskVerb,
     .group = "Answers", .value_name = "N", .min = 1, .max = kManyTokens,
     .help = "Longest answer in tokens. Not set: until the context window is full."},
    {.name = "stop", .type = OptionType::kTextList, .verbs = kAnswer,
     .group = "Answers", .value_name = "TEXT",
     .help = "End the answer where this text would begin. May be given several times."},
    {.name = "think", .type = OptionType::kChoice, .verbs = kAnswer,
     .group = "Answers", .value_name = "WHETHER", .choices = "on|off", .default_text = "off",
     .help = "Let the model reason before it answers: on or off. Off by default, because a slow "
             "machine should answer first."},
    {.name = "system", .type = OptionType::kText, .verbs = kAnswer,
     .group = "Answers", .value_name = "TEXT",
     .help = "System message: how the model should behave."},

    {.name = "quiet", .type = OptionType::kSwitch, .letter = 'q', .verbs = kAll | kSynthVerb | kEstimateVerb,
     .group = "Output", .default_text = "off",
     .help = "No notes, progress or statistics on standard error; errors only."},
    {.name = "color", .type = OptionType::kChoice, .verbs = kAnswer,
     .group = "Output", .value_name = "WHEN", .choices = "auto|always|never",
     .default_text = "auto",
     .help = "Colors: auto means on a terminal, unless NO_COLOR is set or TERM is dumb."},
    {.name = "no-history", .type = OptionType::kSwitch, .verbs = kChatVerb | kConfigVerb,
     .group = "Output", .default_text = "off",
     .help = "Neither read nor write the history of lines typed in a chat."},

    {.name = "messages", .type = OptionType::kText, .verbs = kRunVerb, .flag_only = true,
     .group = "This call", .value_name = "FILE",
     .help = "Answer a conversation: a JSON array of {\"role\", \"content\"} objects; - reads "
             "standard input."},
    {.name = "prompt-file", .type = OptionType::kText, .verbs = kRunVerb, .flag_only = true,
     .group = "This call", .value_name = "FILE",
     .help = "Read the prompt from a file; - reads standard input."},
    {.name = "raw", .type = OptionType::kSwitch, .verbs = kRunVerb, .flag_only = true,
     .group = "This call",
     .help = "Continue the prompt as plain text, without the chat format."},
    {.name = "layers", .type = OptionType::kSwitch, .verbs = kValidateVerb, .flag_only = true,
     .group = "This call",
     .help = "Compare the residual stream after each layer, too, where the fixture has it."},
    {.name = "trace-routing", .type = OptionType::kText,
     .verbs = kRunVerb | kChatVerb | kAskVerb, .flag_only = true,
     .group = "This call", .value_name = "FILE",
     .help = "Record what the model's routers say in a new file, to replay expert caches on "
             "(docs/routing-trace.md)."},
    {.name = "show", .type = OptionType::kSwitch, .verbs = kAskVerb, .flag_only = true,
     .group = "This call", .help = "Print every wrong answer, too."},
    {.name = "mtp", .type = OptionType::kSwitch, .verbs = kAskVerb, .flag_only = true,
     .group = "This call",
     .help = "Measure, too, how often the first draft of the model's MTP layer is what the model "
             "says. Loads the model again and computes each answer once more."},
    {.name = "stride", .type = OptionType::kInteger, .verbs = kPerplexityVerb, .flag_only = true,
     .group = "This call", .value_name = "N", .min = 1, .max = kManyTokens,
     .help = "Tokens that the window moves by; each is scored with at least window - stride tokens "
             "before it. Not set: half of the window."},
    {.name = "compare", .type = OptionType::kSwitch, .verbs = kBenchVerb, .flag_only = true,
     .group = "This call",
     .help = "Measure nothing: compare two files with what --json printed, given instead of "
             "scenarios."},
    {.name = "quick", .type = OptionType::kSwitch, .verbs = kBenchVerb, .flag_only = true,
     .group = "This call",
     .help = "Use little memory and little time. The figures are rough."},
    {.name = "cold", .type = OptionType::kSwitch, .verbs = kBenchVerb, .flag_only = true,
     .group = "This call",
     .help = "For decode: drop the page cache of the model's files first, and set what reads did "
             "beside what the drive does alone."},
    {.name = "dir", .type = OptionType::kText, .verbs = kBenchVerb, .flag_only = true,
     .group = "This call", .value_name = "DIR",
     .help = "Where disk.read and --cold put the file they read: on the drive that is to be measured. Not "
             "set: the current directory. With a model that is large enough its own files are "
             "read."},
    {.name = "markdown", .type = OptionType::kSwitch, .verbs = kBenchVerb, .flag_only = true,
     .group = "This call", .help = "Print the table as Markdown."},
    {.name = "routing", .type = OptionType::kChoice, .verbs = kPlanVerb | kEstimateVerb, .flag_only = true,
     .group = "This call", .value_name = "HOW", .choices = "text|uniform", .default_text = "text",
     .help = "How the tokens whose speed is foretold choose their experts: as in text, where the "
             "last ones' are chosen again more often, or uniform."},
    {.name = "prompt-tokens", .type = OptionType::kInteger, .verbs = kPlanVerb | kEstimateVerb, .flag_only = true,
     .group = "This call", .value_name = "N", .min = 1, .max = kManyTokens, .default_text = "512",
     .help = "Length of the prompt whose first token's time is foretold."},
    {.name = "for", .type = OptionType::kChoice, .verbs = kEstimateVerb, .flag_only = true,
     .group = "This call", .value_name = "NAME", .choices = "glm-5.2", .default_text = "glm-5.2",
     .help = "The model whose speed is foretold."},
    {.name = "disk", .type = OptionType::kText, .verbs = kEstimateVerb, .flag_only = true,
     .group = "This call", .value_name = "DIR",
     .help = "A directory on the drive that the model would be on: a file of 1 GiB is written there "
             "and read, unless it holds weights that are larger. Not set: the current directory."},
    {.name = "shape", .type = OptionType::kChoice, .verbs = kSynthVerb, .flag_only = true,
     .group = "This call", .value_name = "NAME", .choices = "glm-5.2|mid|tiny|custom",
     .default_text = "tiny",
     .help = "Sizes of the model to write. custom: those of mid, with --hidden, --inner, "
             "--experts, --active and --heads."},
    {.name = "layers", .type = OptionType::kInteger, .verbs = kSynthVerb, .flag_only = true,
     .group = "This call", .value_name = "N", .min = 1, .max = 1024,
     .help = "Layers to write. Not set: all of the shape."},
    {.name = "hidden", .type = OptionType::kInteger, .verbs = kSynthVerb, .flag_only = true,
     .group = "This call", .value_name = "N", .min = 64, .max = 65536,
     .help = "Width of the residual stream."},
    {.name = "inner", .type = OptionType::kInteger, .verbs = kSynthVerb, .flag_only = true,
     .group = "This call", .value_name = "N", .min = 16, .max = 65536,
     .help = "Inner width of an expert."},
    {.name = "experts", .type = OptionType::kInteger, .verbs = kSynthVerb, .flag_only = true,
     .group = "This call", .value_name = "N", .min = 1, .max = 4096,
     .help = "Experts of a layer."},
    {.name = "active", .type = OptionType::kInteger, .verbs = kSynthVerb, .flag_only = true,
     .group = "This call", .value_name = "N", .min = 1, .max = 64,
     .help = "Experts that a token uses in a layer."},
    {.name = "heads", .type = OptionType::kInteger, .verbs = kSynthVerb, .flag_only = true,
     .group = "This call", .value_name = "N", .min = 1, .max = 256, .help = "Attention heads."},
    {.name = "sparse", .type = OptionType::kSwitch, .verbs = kSynthVerb, .flag_only = true,
     .group = "This call",
     .help = "Headers only: the weights are holes in the files, which read as zeros and take no room. "
             "For `coli plan` and `coli info`; its answers say nothing about speed."},
    {.name = "out", .type = OptionType::kText, .verbs = kSynthVerb, .flag_only = true,
     .group = "This call", .value_name = "DIR",
     .help = "Where the model goes: a new or an empty directory."},
    {.name = "json", .type = OptionType::kSwitch,
     .verbs = kRunVerb | kInfoVerb | kPlanVerb | kDoctorVerb | kEstimateVerb | kValidateVerb |
              kMeasure,
     .flag_only = true,
     .group = "This call",
     .help = "Print one JSON object on standard output and nothing else."},
});
// clang-format on

}  // namespace

std::span<const OptionSpec> OptionTable() { return kTable; }

}  // namespace coli
