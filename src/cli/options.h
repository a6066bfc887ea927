// The one table of options: flag, key of the configuration file, name in the environment, type,
// range, default and help.
//
// Command line, file, environment, `coli config explain` and docs/options.md are all made from it.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace coli {

enum class OptionType : uint8_t {
  kSwitch,    // bool; as a flag it has no value
  kInteger,   // uint64_t
  kReal,      // double
  kBytes,     // uint64_t, written like 20G
  kText,      // string
  kChoice,    // string, one of `choices`
  kFormat,    // string, what weights are held in: a number format or "keep"
  kTextList,  // strings; the flag may be repeated, the environment holds one
};

// Which commands take an option. A set.
enum Verbs : uint16_t {
  kRunVerb = 1,
  kChatVerb = 2,
  kInfoVerb = 4,
  kValidateVerb = 8,
  kConfigVerb = 16,
  kAskVerb = 32,
  kPerplexityVerb = 64,
  kSynthVerb = 128,
  kBenchVerb = 256,
  kPlanVerb = 512,
  kDoctorVerb = 1024,
  kEstimateVerb = 2048,
};

struct OptionSpec {
  std::string_view name = {};  // flag "--name", key "name", environment "COLI_NAME"
  OptionType type = OptionType::kText;
  char letter = 0;  // short flag; 0: none
  uint16_t verbs = 0;
  bool flag_only = false;       // belongs to one call: neither in the file nor in the environment
  std::string_view group = {};  // heading in help and documentation
  std::string_view value_name = {};  // "N", "SIZE"; empty for switches
  double min = 0;                    // numbers: smallest and largest value
  double max = 0;
  std::string_view choices = {};  // "on|off"
  std::string_view default_text =
      {};  // as a user would write it; empty: not set, `help` says what happens then
  std::string_view help = {};
};

std::span<const OptionSpec> OptionTable();
const OptionSpec* FindOption(std::string_view name);
std::string FlagName(const OptionSpec& spec);         // "--max-tokens"
std::string EnvironmentName(const OptionSpec& spec);  // "COLI_MAX_TOKENS"

using OptionValue = std::variant<bool, uint64_t, double, std::string, std::vector<std::string>>;

// Reads a value as a user wrote it. `where` names the place in errors: "--threads", "COLI_THREADS",
// "config.toml:3: threads".
Result<OptionValue> ParseOption(const OptionSpec& spec, std::string_view text,
                                std::string_view where);
// The value as a user would write it.
std::string OptionText(const OptionSpec& spec, const OptionValue& value);
// What a value must be: "a whole number from 1 to 1024".
std::string ExpectedValue(const OptionSpec& spec);

// Where a value came from; later ones win.
enum class Origin : uint8_t { kDefault, kModel, kFile, kEnvironment, kFlag };
std::string_view OriginName(Origin origin);

// One value per option at most, with its origin.
class OptionValues {
 public:
  OptionValues();  // the defaults of the table

  // Keeps what is there when it has a higher origin. `place` is for people: "COLI_TEMP", a file
  // with its line.
  void Set(const OptionSpec& spec, OptionValue value, Origin origin, std::string place = {});

  struct Entry {
    OptionValue value;
    Origin origin = Origin::kDefault;
    std::string place;
  };
  const Entry* Find(std::string_view name) const;  // null: not set

  // For names of the table with the right type.
  bool On(std::string_view name) const;  // a switch, or a choice of "on"
  std::optional<uint64_t> Integer(std::string_view name) const;
  std::optional<double> Real(std::string_view name) const;
  std::optional<std::string> Text(std::string_view name) const;  // an empty text is as good as none
  std::vector<std::string> List(std::string_view name) const;

 private:
  std::map<std::string, Entry, std::less<>> entries_;
};

// docs/options.md.
std::string OptionsMarkdown();
// What `coli config explain` prints.
std::string ExplainOptions(const OptionValues& values);

}  // namespace coli
