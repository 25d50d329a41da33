// What loaded objects say to the dynamic linker, read from real ones and from ones made here: whole, damaged in each
// field, and damaged at random. Those end where nothing may be read, so that a look behind them ends the test.
#include "os/dynamic_section.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace tri::os {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> wanted_by(const dynamic_section& object) {
  std::vector<std::string> names;
  object.for_each_wanted([&](std::string_view name, const ElfW(Sym)&) { names.emplace_back(name); });
  return names;
}

TEST(dynamic_section, tells_what_this_program_wants) {
  std::vector<std::string> names;
  const auto look = [](dl_phdr_info* object, std::size_t, void* into) {
    *static_cast<std::vector<std::string>*>(into) = wanted_by(dynamic_section(*object));
    return 1;  // the program is the first
  };
  dl_iterate_phdr(look, &names);
  EXPECT_THAT(names, Contains("dl_iterate_phdr"));
  EXPECT_THAT(names, Not(Contains("look_for_nothing")));
}

// Also the one of the kernel, whose addresses nobody relocates.
TEST(dynamic_section, reads_every_object_that_is_loaded) {
  std::size_t objects = 0;
  const auto look = [](dl_phdr_info* object, std::size_t, void* count) {
    const dynamic_section section(*object);
    for (const ElfW(Rela) & each : section.relocations())
      if (const ElfW(Sym)* const symbol = section.symbol_of(each)) {
        EXPECT_LT(section.name_of(*symbol).size(), 4096U);
      }
    ++*static_cast<std::size_t*>(count);
    return 0;
  };
  dl_iterate_phdr(look, &objects);
  EXPECT_GT(objects, 2U);
}

// An object with two symbols, of which one is wanted from others, in the pages before one that cannot be read.
class made_object {
 public:
  struct contents {
    ElfW(Dyn) dynamic[8];
    ElfW(Rela) relocations[2];
    ElfW(Rela) calls[1];
    char names[16];
    ElfW(Sym) symbols[3];  // the last thing: how many there are is written nowhere
  };

  made_object() {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    room_ = 2 * page;
    void* const memory = mmap(nullptr, room_ + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    EXPECT_EQ(mprotect(static_cast<std::byte*>(memory) + page, page, PROT_READ | PROT_WRITE), 0);
    start_ = static_cast<std::byte*>(memory);
    inside = reinterpret_cast<contents*>(start_ + room_ - sizeof(contents));
    info.dlpi_addr = reinterpret_cast<ElfW(Addr)>(start_);
    info.dlpi_name = "made";
    info.dlpi_phdr = headers;
    info.dlpi_phnum = 2;
    make_whole();
  }
  ~made_object() { munmap(start_, room_ + room_ / 2); }
  made_object(const made_object&) = delete;
  made_object& operator=(const made_object&) = delete;

  void make_whole() {
    std::memset(headers, 0, sizeof headers);
    headers[0].p_type = PT_LOAD;
    headers[0].p_flags = PF_R | PF_W;
    headers[0].p_vaddr = offset_of(inside);
    headers[0].p_memsz = sizeof(contents);
    headers[1].p_type = PT_DYNAMIC;
    headers[1].p_vaddr = offset_of(inside->dynamic);
    headers[1].p_memsz = sizeof inside->dynamic;
    std::memset(inside, 0, sizeof *inside);
    set(0, DT_RELA, offset_of(inside->relocations));
    set(1, DT_RELASZ, sizeof inside->relocations);
    set(2, DT_JMPREL, reinterpret_cast<ElfW(Addr)>(inside->calls));  // made absolute already
    set(3, DT_PLTRELSZ, sizeof inside->calls);
    set(4, DT_SYMTAB, offset_of(inside->symbols));
    set(5, DT_STRTAB, offset_of(inside->names));
    set(6, DT_STRSZ, sizeof inside->names);
    set(7, DT_NULL, 0);
    std::memcpy(inside->names, "\0wanted\0own\0end", 16);
    inside->symbols[1].st_name = 1;
    inside->symbols[1].st_shndx = SHN_UNDEF;
    inside->symbols[2].st_name = 8;
    inside->symbols[2].st_shndx = 5;
    inside->relocations[0].r_info = ELF64_R_INFO(std::uint64_t{1}, 1);
    inside->relocations[1].r_info = ELF64_R_INFO(std::uint64_t{2}, 1);
    inside->calls[0].r_info = ELF64_R_INFO(std::uint64_t{1}, 1);
  }
  void set(int row, ElfW(Sxword) tag, ElfW(Addr) value) {
    inside->dynamic[row].d_tag = tag;
    inside->dynamic[row].d_un.d_ptr = value;
  }
  std::vector<std::string> wanted() const { return wanted_by(dynamic_section(info)); }

  ElfW(Phdr) headers[2];  // as info.dlpi_phnum says
  dl_phdr_info info{};
  contents* inside = nullptr;

 private:
  ElfW(Addr) offset_of(const void* place) const { return reinterpret_cast<ElfW(Addr)>(place) - info.dlpi_addr; }
  std::byte* start_ = nullptr;
  std::size_t room_ = 0;
};

TEST(dynamic_section, of_a_made_object_is_read) {
  const made_object object;
  EXPECT_THAT(object.wanted(), ElementsAre("wanted", "wanted"));
  const dynamic_section section(object.info);
  ASSERT_EQ(section.relocations().size(), 2U);
  ASSERT_EQ(section.call_relocations().size(), 1U);
  EXPECT_EQ(section.name_of(*section.symbol_of(section.relocations()[1])), "own");
}

TEST(dynamic_section, without_an_end_ends_with_its_segment) {
  made_object object;
  object.set(7, DT_DEBUG, 0);
  EXPECT_THAT(object.wanted(), ElementsAre("wanted", "wanted"));
  object.headers[1].p_memsz = std::uint64_t{1} << 40;
  EXPECT_THAT(object.wanted(), ElementsAre("wanted", "wanted"));
  object.headers[1].p_vaddr += sizeof(made_object::contents);
  EXPECT_THAT(object.wanted(), IsEmpty());
}

TEST(dynamic_section, tables_end_with_their_segment) {
  made_object object;
  object.set(1, DT_RELASZ, std::uint64_t{1} << 40);
  EXPECT_LE(dynamic_section(object.info).relocations().size(), sizeof(made_object::contents) / sizeof(ElfW(Rela)));
  object.make_whole();
  object.set(6, DT_STRSZ, std::uint64_t{1} << 40);
  EXPECT_THAT(object.wanted(), ElementsAre("wanted", "wanted"));
  object.set(6, DT_STRSZ, 4);  // "wanted" does not end within
  EXPECT_THAT(object.wanted(), IsEmpty());
}

TEST(dynamic_section, symbols_and_names_that_are_not_there_are_left_out) {
  made_object object;
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{0xffffffff}}) {
    object.inside->relocations[0].r_info = ELF64_R_INFO(number, 1);
    EXPECT_EQ(dynamic_section(object.info).symbol_of(object.inside->relocations[0]), nullptr);
    EXPECT_THAT(object.wanted(), ElementsAre("wanted"));
  }
  object.make_whole();
  for (const std::uint32_t name : {0U, 16U, 0xffffffffU}) {
    object.inside->symbols[1].st_name = name;
    EXPECT_THAT(object.wanted(), IsEmpty());
  }
}

TEST(dynamic_section, tables_elsewhere_or_at_odd_addresses_are_empty) {
  for (const int row : {0, 2, 4, 5}) {
    made_object object;
    const ElfW(Dyn) whole = object.inside->dynamic[row];
    for (const ElfW(Addr) value : {ElfW(Addr){0}, ElfW(Addr){8}, ~ElfW(Addr){0}, ~ElfW(Addr){7}}) {
      object.set(row, whole.d_tag, value);
      EXPECT_LE(object.wanted().size(), 1U) << row << ' ' << value;
    }
    if (row == 5) continue;  // names may begin anywhere
    object.set(row, whole.d_tag, whole.d_un.d_ptr + 1);
    EXPECT_LE(object.wanted().size(), 1U) << row;
  }
}

TEST(dynamic_section, of_what_may_not_be_read_is_not_read) {
  made_object object;
  object.headers[0].p_flags = PF_X;
  EXPECT_THAT(object.wanted(), IsEmpty());
}

// Whatever the tables say, nothing but the object is read.
TEST(dynamic_section, damaged_at_random_is_survived) {
  std::mt19937_64 random(1);
  made_object object;
  std::size_t wanted = 0;
  for (int round = 0; round < 20000; ++round) {
    object.make_whole();
    auto* const bytes = reinterpret_cast<unsigned char*>(object.inside);
    for (std::uint64_t damage = 1 + random() % 4; damage > 0; --damage)
      bytes[random() % sizeof(made_object::contents)] = static_cast<unsigned char>(random());
    if (round % 8 == 0) object.headers[1].p_vaddr += random() % 64;
    if (round % 8 == 1) object.headers[1].p_memsz = random();
    wanted += object.wanted().size();
  }
  EXPECT_GT(wanted, 1000U) << "all were damaged beyond reading, so nothing was tested";
}

}  // namespace
}  // namespace tri::os
