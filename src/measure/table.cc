#include "measure/table.h"

#include <fmt/core.h>

#include <algorithm>

namespace coli {
namespace {

std::string Line(const std::vector<std::string>& cells, const std::vector<size_t>& widths,
                 const std::vector<bool>& right) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string_view gap = i == 0 ? "" : "  ";
    line += right[i] ? fmt::format("{}{:>{}}", gap, cells[i], widths[i])
                     : fmt::format("{}{:<{}}", gap, cells[i], widths[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string MarkdownLine(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += fmt::format(" {} |", cell);
  }
  return line + "\n";
}

}  // namespace

std::string Table::Text() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < header.size(); ++i) {
    widths.push_back(header[i].size());
    for (const std::vector<std::string>& row : rows) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text = Line(header, widths, right);
  for (const std::vector<std::string>& row : rows) {
    text += Line(row, widths, right);
  }
  return text;
}

std::string Table::Markdown() const {
  std::string text = MarkdownLine(header) + "|";
  for (const bool to_the_right : right) {
    text += to_the_right ? "---:|" : "---|";
  }
  text += "\n";
  for (const std::vector<std::string>& row : rows) {
    text += MarkdownLine(row);
  }
  return text;
}

}  // namespace coli
