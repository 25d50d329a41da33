#include "exec/program_symbols.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "os/unique_fd.hpp"

namespace tri::tools {
namespace {

// A file in memory. Nothing in it is trusted: every place is checked against its length.
class mapped_file {
 public:
  explicit mapped_file(const std::string& name) {
    const os::unique_fd file(open(name.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat about {};
    if (file.get() < 0 || fstat(file.get(), &about) != 0 || about.st_size <= 0) return;
    void* const place = mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (place == MAP_FAILED) return;
    bytes_ = {static_cast<const char*>(place), static_cast<std::size_t>(about.st_size)};
  }
  ~mapped_file() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;

  template <class T>
  std::optional<T> at(std::uint64_t place) const {
    if (place > bytes_.size() || bytes_.size() - place < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + place, sizeof value);
    return value;
  }
  /// Up to the zero byte.
  std::string_view text_at(std::uint64_t place) const {
    if (place >= bytes_.size()) return {};
    const std::string_view rest = bytes_.substr(static_cast<std::size_t>(place));
    const std::size_t end = rest.find('\0');
    return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
  }

 private:
  std::string_view bytes_;
};

bool has_any(const std::string& name, std::initializer_list<std::string_view> functions, bool defined) {
  const mapped_file file(name);
  const auto header = file.at<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
    return false;
  const auto section = [&](std::uint64_t number) {
    return file.at<Elf64_Shdr>(header->e_shoff + number * sizeof(Elf64_Shdr));
  };
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto symbols = section(i);
    if (!symbols || (symbols->sh_type != SHT_SYMTAB && symbols->sh_type != SHT_DYNSYM)) continue;
    const auto names = section(symbols->sh_link);
    if (!names) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = file.at<Elf64_Sym>(symbols->sh_offset + at);
      if (!symbol) break;
      if ((symbol->st_shndx != SHN_UNDEF) != defined) continue;
      const std::string_view found = file.text_at(names->sh_offset + symbol->st_name);
      if (std::find(functions.begin(), functions.end(), found) != functions.end()) return true;
    }
  }
  return false;
}

}  // namespace

bool defines_any(const std::string& file, std::initializer_list<std::string_view> functions) {
  return has_any(file, functions, true);
}

bool wants_any(const std::string& file, std::initializer_list<std::string_view> functions) {
  return has_any(file, functions, false);
}

}  // namespace tri::tools
