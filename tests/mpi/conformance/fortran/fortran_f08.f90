! The interface of 2008: handles are types, errors are optional, array sections are buffers.
program fortran_f08
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: many = 50000
  integer :: rank, ranks, next, previous, i, count, bad, all_bad
  real(8), allocatable :: out(:), in(:)
  real(8), save, asynchronous :: fixed(many)
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: statuses(2), status
  type(MPI_Comm) :: half, copy, between
  type(MPI_Datatype) :: every_third
  type(MPI_Message) :: message
  logical :: flag
  type(MPI_Win) :: window, counters
  type(MPI_Group) :: everybody, before, behind
  type(c_ptr) :: base
  integer, pointer :: counter(:)
  integer(MPI_ADDRESS_KIND) :: place

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
  ! The first of each half talk; then that of the even ranks tells the odd ones.
  call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mod(rank, 2), 6, between)
  count = rank
  if (rank < 2) call MPI_Sendrecv(rank, 1, MPI_INTEGER, 0, 7, count, 1, MPI_INTEGER, 0, 7, between, status)
  if (rank < 2 .and. count /= 1 - rank) bad = bad + 1
  count = 100 + rank
  i = 0
  if (mod(rank, 2) == 0) i = merge(MPI_ROOT, MPI_PROC_NULL, rank == 0)
  call MPI_Bcast(count, 1, MPI_INTEGER, i, between)
  if (count /= merge(100, 100 + rank, mod(rank, 2) == 1)) bad = bad + 1
  call MPI_Comm_free(between)
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
  ! What has a logical argument takes another way through some libraries.
  call MPI_Isend(i, 1, MPI_INTEGER, i, 5, copy, requests(1))
  do while (.not. flag)
    call MPI_Iprobe(i, 5, copy, flag, status)
  end do
  call MPI_Irecv(count, 1, MPI_INTEGER, i, 5, copy, requests(2))
  flag = .false.
  do while (.not. flag)
    call MPI_Testall(2, requests, flag, statuses)
  end do
  if (requests(2) /= MPI_REQUEST_NULL .or. statuses(2)%MPI_TAG /= 5) bad = bad + 1
  call MPI_Comm_free(copy)

  ! Windows: on an array, synchronized in every way, and of new memory that C_PTR names.
  out = rank
  in = -1
  call MPI_Win_create(in, many * 8_MPI_ADDRESS_KIND, 8, MPI_INFO_NULL, MPI_COMM_WORLD, window)
  call MPI_Win_fence(0, window)
  place = 100
  call MPI_Put(out, many - 100, MPI_DOUBLE_PRECISION, next, place, many - 100, MPI_DOUBLE_PRECISION, window)
  call MPI_Win_fence(0, window)
  if (any(in(101:) /= previous) .or. any(in(1:100) /= -1)) bad = bad + 1
  call MPI_Comm_group(MPI_COMM_WORLD, everybody)
  call MPI_Group_incl(everybody, 1, [previous], before)
  call MPI_Group_incl(everybody, 1, [next], behind)
  place = 0
  do i = 1, 2
    call MPI_Win_post(before, 0, window)
    call MPI_Win_start(behind, 0, window)
    call MPI_Put(out, 100, MPI_DOUBLE_PRECISION, next, place, 100, MPI_DOUBLE_PRECISION, window)
    call MPI_Win_complete(window)
    if (i == 1) call MPI_Win_wait(window)
    flag = i == 1
    do while (.not. flag)
      call MPI_Win_test(window, flag)
    end do
    if (any(in /= previous)) bad = bad + 1
    in = previous
  end do
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window)
  call MPI_Get(out, many, MPI_DOUBLE_PRECISION, next, place, many, MPI_DOUBLE_PRECISION, window)
  call MPI_Win_unlock(next, window)
  if (any(out /= rank)) bad = bad + 1
  call MPI_Win_free(window)
  call MPI_Group_free(behind)
  call MPI_Group_free(before)
  call MPI_Group_free(everybody)

  call MPI_Win_allocate(64_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, counters)
  call c_f_pointer(base, counter, [16])
  counter = 0
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Win_lock_all(0, counters)
  do i = 1, 10
    call MPI_Fetch_and_op(1, count, MPI_INTEGER, 0, place, MPI_SUM, counters)
    call MPI_Win_flush(0, counters)
    if (count < i - 1 .or. count >= 10 * ranks) bad = bad + 1
  end do
  call MPI_Raccumulate(i, 1, MPI_INTEGER, next, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, MPI_SUM, counters, requests(1))
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
  call MPI_Win_unlock_all(counters)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, counters)
  if (counter(2) /= 11 .or. (rank == 0 .and. counter(1) /= 10 * ranks)) bad = bad + 1
  call MPI_Win_unlock(rank, counters)
  call MPI_Win_free(counters)

  call MPI_Allreduce(bad, all_bad, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(2a)', 'fortran/f08 ', merge('ok    ', 'FAILED', all_bad == 0)
  call MPI_Finalize()
  if (all_bad > 0) stop 1
end program
