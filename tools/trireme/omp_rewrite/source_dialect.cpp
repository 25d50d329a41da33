#include "omp_rewrite/source_dialect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <stdexcept>
#include <vector>

#include "config/suggestion.hpp"

namespace tri::tools {

std::optional<source_form> form_of(const std::filesystem::path& file) {
  static const std::map<std::string, source_form> endings = [] {
    std::map<std::string, source_form> all;
    for (const char* ending : {"c", "cc", "cpp", "cxx", "c++", "cp", "cppm", "ixx", "h", "hh", "hpp", "hxx", "h++",
                               "inl", "ipp", "tpp", "tcc", "txx"})
      all.emplace(ending, source_form::c);
    for (const char* ending : {"f90", "f95", "f03", "f08", "f18"}) all.emplace(ending, source_form::fortran_free);
    for (const char* ending : {"f", "for", "ftn", "f77", "fpp"}) all.emplace(ending, source_form::fortran_fixed);
    return all;
  }();
  std::string ending = file.extension().string();
  if (ending.empty()) return std::nullopt;
  ending.erase(0, 1);
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found = endings.find(ending);
  return found != endings.end() ? std::optional(found->second) : std::nullopt;
}

source_form parse_form(const std::string& name) {
  static const std::map<std::string, source_form> forms{{"c", source_form::c},
                                                        {"c++", source_form::c},
                                                        {"fortran", source_form::fortran_free},
                                                        {"free", source_form::fortran_free},
                                                        {"fixed", source_form::fortran_fixed}};
  const auto found = forms.find(name);
  if (found != forms.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, form] : forms) names.push_back(known);
  throw std::invalid_argument(fmt::format("there is no language '{}'{} (c, c++, fortran or free, fixed)", name,
                                          config::did_you_mean(name, names)));
}

}  // namespace tri::tools
