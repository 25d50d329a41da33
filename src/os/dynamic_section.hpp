// What a loaded object says of itself to the dynamic linker: its relocations, and the symbols that it wants from
// others. The object may be anybody's, damaged or made on purpose: nothing outside of its own readable segments is
// read. Allocates nothing and needs no C++ runtime: the drop-in for MPI asks inside the first malloc. Any thread,
// inside dl_iterate_phdr or where the object stays loaded. The layout: System V ABI, chapter 5 ("Dynamic Section").
#pragma once

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace tri::os {

class dynamic_section {
 public:
  static_assert(sizeof(void*) == 8, "objects of 32 bits have other relocations");
  using relocation_list = std::span<const ElfW(Rela)>;

  explicit dynamic_section(const dl_phdr_info& object)
      : base_(object.dlpi_addr), segments_(object.dlpi_phdr, object.dlpi_phnum) {
    for (const ElfW(Phdr) & segment : segments_)
      if (segment.p_type == PT_DYNAMIC) read(base_ + segment.p_vaddr, segment.p_memsz);
  }

  /// Without those of calls; a copy relocation is among them.
  relocation_list relocations() const { return relocations_; }
  relocation_list call_relocations() const { return call_relocations_; }

  /// The symbol that a relocation is about; null: there is none, or the object is damaged.
  const ElfW(Sym) * symbol_of(const ElfW(Rela) & relocation) const {
    const std::size_t number = ELF64_R_SYM(relocation.r_info);
    return number != 0 && number < symbols_.size() ? &symbols_[number] : nullptr;
  }
  /// Empty: it has none, or the object is damaged.
  std::string_view name_of(const ElfW(Sym) & symbol) const {
    if (symbol.st_name >= names_.size()) return {};
    const std::string_view rest = names_.substr(symbol.st_name);
    const std::size_t end = rest.find('\0');
    return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
  }

  /// What the object wants from others, by name; each use of a symbol is a relocation, so some come several times.
  template <class See>
  void for_each_wanted(See&& see) const {
    for (const relocation_list& list : {relocations_, call_relocations_})
      for (const ElfW(Rela) & relocation : list) {
        const ElfW(Sym)* const symbol = symbol_of(relocation);
        if (symbol == nullptr || symbol->st_shndx != SHN_UNDEF) continue;
        if (const std::string_view name = name_of(*symbol); !name.empty()) see(name, *symbol);
      }
  }

 private:
  // As many whole elements from this address on as are in one readable segment, and no more bytes than that.
  template <class Element>
  std::span<const Element> elements_at(std::uintptr_t address, std::size_t bytes = SIZE_MAX) const {
    if (address % alignof(Element) != 0) return {};
    for (const ElfW(Phdr) & segment : segments_) {
      const std::uintptr_t offset = address - (base_ + segment.p_vaddr);  // wraps for addresses before
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_R) == 0 || offset >= segment.p_memsz) continue;
      return {reinterpret_cast<const Element*>(address),
              std::min<std::size_t>(bytes, segment.p_memsz - offset) / sizeof(Element)};
    }
    return {};
  }
  // Some loaders make the addresses absolute, some leave them as they are in the file.
  std::uintptr_t absolute(std::uintptr_t address) const { return address < base_ ? base_ + address : address; }

  void read(std::uintptr_t address, std::size_t bytes) {
    std::uintptr_t relocations = 0, call_relocations = 0, symbols = 0, names = 0;
    std::size_t relocation_bytes = 0, call_relocation_bytes = 0, name_bytes = 0;
    for (const ElfW(Dyn) & entry : elements_at<ElfW(Dyn)>(address, bytes)) {
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_RELA) relocations = absolute(entry.d_un.d_ptr);
      if (entry.d_tag == DT_RELASZ) relocation_bytes = entry.d_un.d_val;
      if (entry.d_tag == DT_JMPREL) call_relocations = absolute(entry.d_un.d_ptr);
      if (entry.d_tag == DT_PLTRELSZ) call_relocation_bytes = entry.d_un.d_val;
      if (entry.d_tag == DT_SYMTAB) symbols = absolute(entry.d_un.d_ptr);
      if (entry.d_tag == DT_STRTAB) names = absolute(entry.d_un.d_ptr);
      if (entry.d_tag == DT_STRSZ) name_bytes = entry.d_un.d_val;
    }
    relocations_ = elements_at<ElfW(Rela)>(relocations, relocation_bytes);
    call_relocations_ = elements_at<ElfW(Rela)>(call_relocations, call_relocation_bytes);
    symbols_ = elements_at<ElfW(Sym)>(symbols);  // how many there are is written nowhere
    const std::span<const char> text = elements_at<char>(names, name_bytes);
    names_ = {text.data(), text.size()};
  }

  std::uintptr_t base_;
  std::span<const ElfW(Phdr)> segments_;
  relocation_list relocations_, call_relocations_;
  std::span<const ElfW(Sym)> symbols_;
  std::string_view names_;
};

}  // namespace tri::os
