#include "mpi/startup/job_hosts.hpp"

#include <algorithm>
#include <cstddef>

namespace tri::mpi {

bool job_hosts::is_alone_everywhere() const {
  std::vector<int> hosts = host_of;
  std::ranges::sort(hosts);
  return are_several() && std::ranges::adjacent_find(hosts) == hosts.end();
}

std::vector<std::uint32_t> job_hosts::numbers_on_host(int world_rank, int world_size) const {
  std::vector<std::uint32_t> numbers(static_cast<std::size_t>(world_size), on_another_host);
  std::uint32_t next = 0;
  for (std::size_t each = 0; each < numbers.size(); ++each)
    if (!are_several() || host_of[each] == host_of[static_cast<std::size_t>(world_rank)]) numbers[each] = next++;
  return numbers;
}

job_hosts find_job_hosts(int world_rank, int world_size, int pretended) {
  job_hosts found;
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world_rank, MPI_INFO_NULL, &found.of_host);
  if (pretended > 0) {
    MPI_Comm part = MPI_COMM_NULL;
    PMPI_Comm_split(found.of_host, pretended, world_rank, &part);
    PMPI_Comm_free(&found.of_host);
    found.of_host = part;
  }
  PMPI_Comm_rank(found.of_host, &found.rank);
  PMPI_Comm_size(found.of_host, &found.size);
  int first = world_rank;
  PMPI_Bcast(&first, 1, MPI_INT, 0, found.of_host);
  std::vector<int> all(static_cast<std::size_t>(world_size));
  PMPI_Allgather(&first, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  if (std::ranges::adjacent_find(all, std::ranges::not_equal_to()) == all.end()) {
    PMPI_Comm_free(&found.of_host);
    found.of_host = MPI_COMM_WORLD;
  } else {
    found.host_of = std::move(all);
  }
  return found;
}

}  // namespace tri::mpi
