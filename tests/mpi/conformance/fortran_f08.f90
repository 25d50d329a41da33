! The interface of 2008: handles are types, errors are optional, array sections are buffers.
program fortran_f08
  use mpi_f08
  implicit none
  integer, parameter :: many = 50000
  integer :: rank, ranks, next, previous, i, count, bad, all_bad
  real(8), allocatable :: out(:), in(:)
  real(8), save, asynchronous :: fixed(many)
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: statuses(2), status
  type(MPI_Comm) :: half, copy
  type(MPI_Datatype) :: every_third
  type(MPI_Message) :: message
  logical :: flag

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = mod(rank + 1, ranks)
  previous = mod(rank + ranks - 1, ranks)
  bad = 0
  allocate (out(many), in(many))
  do i = 1, 4
    out = rank * 10 + i
    call MPI_Irecv(in, many, MPI_DOUBLE_PRECISION, previous, i, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(out, many, MPI_DOUBLE_PRECISION, next, i, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, statuses)
    if (any(in /= previous * 10 + i)) bad = bad + 1
    if (statuses(1)%MPI_SOURCE /= previous .or. statuses(1)%MPI_TAG /= i) bad = bad + 1
    call MPI_Get_count(statuses(1), MPI_DOUBLE_PRECISION, count)
    if (count /= many) bad = bad + 1
    if (requests(1) /= MPI_REQUEST_NULL) bad = bad + 1
  end do

  fixed = rank
  call MPI_Type_vector(many / 3, 1, 3, MPI_DOUBLE_PRECISION, every_third)
  call MPI_Type_commit(every_third)
  call MPI_Sendrecv_replace(fixed, 1, every_third, next, 1, previous, 1, MPI_COMM_WORLD, status)
  if (any(fixed(1:many - 2:3) /= previous) .or. any(fixed(2:many - 1:3) /= rank)) bad = bad + 1
  call MPI_Type_free(every_third)

  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half)
  call MPI_Comm_dup(half, copy)
  call MPI_Comm_free(half)
  call MPI_Comm_rank(copy, i)
  call MPI_Isend(i, 1, MPI_INTEGER, i, 4, copy, requests(1))
  call MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, copy, message, status)
  call MPI_Mrecv(count, 1, MPI_INTEGER, message, status)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
  if (count /= i) bad = bad + 1
  call MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, copy, flag, status)
  if (flag) bad = bad + 1
  call MPI_Comm_free(copy)

  call MPI_Allreduce(bad, all_bad, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(2a)', 'fortran/f08 ', merge('ok    ', 'FAILED', all_bad == 0)
  call MPI_Finalize()
  if (all_bad > 0) stop 1
end program
