#include "os/folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string_view>
#include <system_error>

#include "os/output_file.hpp"

namespace tri::os {

std::vector<std::string> names_in(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), &closedir);
  std::vector<std::string> names;
  if (open == nullptr) return names;
  while (const dirent* const entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

unique_fd open_own_folder(const std::string& path) {
  unique_fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat entry {};
  if (!folder || fstat(folder.get(), &entry) != 0 || entry.st_uid != geteuid()) return {};
  return folder;
}

void clear_folder(const std::string& folder, function_ref<bool(const std::filesystem::path&)> is_old) {
  refuse_planted(folder);
  std::filesystem::create_directories(folder);
  std::vector<std::filesystem::path> old;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder))
    if (is_old(entry.path())) old.push_back(entry.path());
  for (const std::filesystem::path& file : old) std::filesystem::remove(file);
}

void remove_tree(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace tri::os
