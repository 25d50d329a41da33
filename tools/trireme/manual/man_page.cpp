#include "manual/man_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

#include "config/configuration.hpp"
#include "config/variable_names.hpp"

namespace tri::tools {
namespace {

// Characters that troff would take for its own, or print as typographic ones that cannot be pasted into a shell.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '"':
        out += "\\(dq";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + escaped(text) + "\\fR"; }

// A line of its own; one that begins with a dot would be a command of troff.
std::string line(const std::string& text) { return (text.starts_with('.') ? "\\&" : "") + text + "\n"; }

// Prose: text in `backquotes` is bold.
std::string prose(std::string_view text) {
  std::string out;
  bool inside = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('`'), text.size());
    out += inside ? bold(text.substr(0, end)) : escaped(text.substr(0, end));
    inside = !inside;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return line(out);
}

std::string in_capitals(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string head(const std::string& name, int section, const page_origin& origin, const std::string& summary) {
  return fmt::format(".TH {} {} {} \"Trireme {}\"\n.SH NAME\n{} \\- {}", escaped(in_capitals(name)), section,
                     origin.date, origin.version, escaped(name), prose(summary));
}

std::string option(const option_page& page) {
  std::string names;
  for (const std::string& name : page.names) names += fmt::format("{}{}", names.empty() ? "" : ", ", bold(name));
  if (!page.value.empty()) names += " " + italic(page.value);
  std::string help = page.help;
  if (!page.allowed.empty()) help += fmt::format(" ({})", page.allowed);
  return ".TP\n" + line(names) + prose(help);
}

std::string options(const command_page& command, const char* macro) {
  std::string out;
  if (!command.arguments.empty()) {
    out += fmt::format("{} ARGUMENTS\n", macro);
    for (const option_page& each : command.arguments)
      out += ".TP\n" + line(italic(each.names.front())) +
             prose(each.help + (each.choices.empty() ? "" : fmt::format(" ({})", each.allowed)));
  }
  out += fmt::format("{} OPTIONS\n", macro);
  for (const option_page& each : command.options) out += option(each);
  if (command.takes_job_options)
    out += fmt::format(".PP\nThe options {}{} of {}(7) are taken as well.\n", bold("--tri-"), italic("name"),
                       bold("trireme-config"));
  return out;
}

// The text below the options of `--help`: paragraphs, and indented lists of "term explanation" whose explanations may
// continue in lines that are indented more. "Examples:" begins a section.
class footer_writer {
 public:
  explicit footer_writer(const char* macro) : macro_(macro) {}

  std::string write(const std::string& footer) {
    std::istringstream lines(footer);
    for (std::string text; std::getline(lines, text);) {
      const std::size_t indent = text.find_first_not_of(' ');
      if (indent == std::string::npos) {
        end();
      } else if (text == "Examples:") {
        end();
        out_ += fmt::format("{} EXAMPLES\n", macro_);
      } else if (indent == 0) {
        if (in_list_) end();
        paragraph_ += (paragraph_.empty() ? "" : " ") + text;
      } else {
        list_line(text.substr(indent), indent);
      }
    }
    end();
    return out_;
  }

 private:
  void list_line(const std::string& text, std::size_t indent) {
    if (in_list_ && indent > indent_) {
      explanation_ += (explanation_.empty() ? "" : " ") + text;
      return;
    }
    end();
    in_list_ = true;
    indent_ = indent;
    const std::size_t gap = std::min(text.find("  "), text.size());
    term_ = text.substr(0, gap);
    const std::size_t rest = text.find_first_not_of(' ', gap);
    explanation_ = rest == std::string::npos ? "" : text.substr(rest);
  }

  void end() {
    const char* const gap = out_.ends_with(" EXAMPLES\n") ? "" : ".PP\n";  // a heading makes one itself
    if (!paragraph_.empty()) out_ += gap + prose(paragraph_);
    if (in_list_) {
      // A long term is a command: its explanation begins on the next line in any case.
      out_ += explanation_.empty() ? gap + line(bold(term_)) : ".TP\n" + line(bold(term_)) + prose(explanation_);
    }
    paragraph_.clear();
    in_list_ = false;
  }

  const char* macro_;
  std::string out_, paragraph_, term_, explanation_;
  bool in_list_ = false;
  std::size_t indent_ = 0;
};

// Before the examples, the text belongs to the description.
struct footer_parts {
  std::string explanation, examples;
};
footer_parts parts_of(const std::string& footer) {
  const std::size_t at = footer.starts_with("Examples:") ? 0 : footer.find("\nExamples:");
  if (at == std::string::npos) return {footer, ""};
  return {footer.substr(0, at), footer.substr(footer.find("Examples:"))};
}

std::string usage(const command_page& command) {
  const std::string& text = command.usage;
  return line(bold(command.name) + escaped(std::string_view(text).substr(std::min(command.name.size(), text.size()))));
}

std::string body(const command_page& command, const char* macro) {
  const footer_parts parts = parts_of(command.footer);
  return prose(command.description) + footer_writer(macro).write(parts.explanation) + options(command, macro) +
         footer_writer(macro).write(parts.examples);
}

std::string reference(const std::string& name, int section) { return fmt::format("{}({})", bold(name), section); }

}  // namespace

std::string man_name(const command_page& command) {
  std::string name = command.name;
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string man_page_of(const command_page& command, const page_origin& origin) {
  const bool front = command.name == "trireme";
  std::string out = head(man_name(command), 1, origin, command.summary);
  out += ".SH SYNOPSIS\n" + usage(command) + ".SH DESCRIPTION\n";
  const footer_parts parts = parts_of(command.footer);
  out += prose(command.description) + footer_writer(".SH").write(parts.explanation);
  if (front) {
    out += ".SH VERBS\n";
    for (const command_page& each : command.commands)
      out += ".TP\n" + line(reference(man_name(each), 1)) + prose(each.summary);
  }
  out += options(command, ".SH");
  if (!front) {
    for (const command_page& each : command.commands) {
      out += ".SH " + in_capitals(escaped(each.name)) + "\n" + usage(each) + ".PP\n" + body(each, ".SS");
    }
  }
  if (front)
    out +=
        ".SH EXIT STATUS\n0 when all went well, 2 for a mistake on the command line, 127 when a program cannot be "
        "started, and otherwise that of the program that was started.\n";
  out += footer_writer(".SH").write(parts.examples);
  out += ".SH SEE ALSO\n";
  if (front) {
    for (const command_page& each : command.commands) out += reference(man_name(each), 1) + ",\n";
  } else {
    out += reference("trireme", 1) + ",\n";
  }
  return out + reference("trireme-config", 7) + "\n";
}

std::string man_page_of_options(const page_origin& origin) {
  std::string out = head("trireme-config", 7, origin, "options and variables of Trireme");
  out += ".SH DESCRIPTION\n";
  out += prose(
      "A program that uses Trireme reads its options at the start: from the environment, `TRIREME_<NAME>`, and from "
      "its command line, `--tri-<name> value` or `--tri-<name>=value`, which wins. What stands behind `--` is left "
      "alone. A switch may stand alone. Sizes take the suffixes K, M, G and T, powers of 1024. `trireme run` takes "
      "the options, too, for the processes that it starts. A name or a value that is wrong ends the program with a "
      "line that says what would be right.");
  out += ".PP\n" + prose("`trireme info --config` lists all of them with their values and where these come from.");
  out += ".SH OPTIONS\n";
  for (const config::option_description& row : config::option_table()) {
    out += ".TP\n" +
           line(fmt::format("{} {}, {}", bold(row.option()), italic(row.kind), bold(row.environment_variable())));
    out += prose(row.help);
    out += ".br\n" + prose(fmt::format("Allowed: {}{}. Default: {}.", row.allowed,
                                       row.unit.empty() || row.allowed.find(row.unit) != std::string::npos
                                           ? ""
                                           : fmt::format(" ({})", row.unit),
                                       row.default_value.empty() ? "empty" : row.default_value));
  }
  out += ".SH OTHER VARIABLES\nThey have no option " + bold("--tri-") + italic("name") + ".\n";
  for (const config::other_variable& each : config::other_variables())
    out +=
        ".TP\n" + line(bold(each.name)) + prose(each.help) + ".br\n" + prose(fmt::format("Allowed: {}.", each.allowed));
  return out + ".SH SEE ALSO\n" + reference("trireme", 1) + ",\n" + reference("trireme-info", 1) + ",\n" +
         reference("trireme-run", 1) + "\n";
}

}  // namespace tri::tools
