! Buffers in COMMON blocks, saved variables, arrays of the main program and of the stack, through `use mpi`.
module shared_data
  use mpi, only: MPI_DATATYPE_NULL
  implicit none
  real(8), save :: field(0:511, 0:255)
contains
  subroutine check(condition, text)
    logical, intent(in) :: condition
    character(*), intent(in) :: text
    integer :: checks, failures
    common /counts/ checks, failures
    checks = checks + 1
    if (.not. condition) then
      failures = failures + 1
      print '(2a)', 'not so: ', text
    end if
  end subroutine
  subroutine larger(theirs, mine, length, type)
    integer, intent(in) :: length, type
    integer, intent(in) :: theirs(length)
    integer, intent(inout) :: mine(length)
    mine = max(theirs, mine)
    if (type == MPI_DATATYPE_NULL) mine = -1
  end subroutine
end module

program fortran_common
  use mpi
  use shared_data
  implicit none
  integer, parameter :: many = 100000
  integer :: rank, ranks, peer, error, i, round, count, sum, received(2)
  integer :: checks, failures, all_checks, all_failures
  common /counts/ checks, failures
  real(8) :: big(many), other(many)
  common /fields/ big, other
  integer :: small(8), small_in(8)
  common /little/ small, small_in
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 4), requests(4), column, row, request, index, operation
  logical :: flag
  integer(kind=MPI_ADDRESS_KIND) :: place, places(2)
  integer :: absolute

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  checks = 0
  failures = 0
  peer = ieor(rank, 1)
  if (peer >= ranks) peer = MPI_PROC_NULL

  ! Large and small messages between COMMON blocks.
  if (peer /= MPI_PROC_NULL) then
    do round = 1, 5
      do i = 1, many
        big(i) = rank * 1.0d7 + round * 1.0d6 + i
        other(i) = -1
      end do
      call MPI_Irecv(other, many, MPI_DOUBLE_PRECISION, peer, round, MPI_COMM_WORLD, requests(1), error)
      call MPI_Isend(big, many, MPI_DOUBLE_PRECISION, peer, round, MPI_COMM_WORLD, requests(2), error)
      small = rank * 10 + round
      call MPI_Irecv(small_in, 8, MPI_INTEGER, MPI_ANY_SOURCE, 100 + round, MPI_COMM_WORLD, requests(3), error)
      call MPI_Isend(small, 8, MPI_INTEGER, peer, 100 + round, MPI_COMM_WORLD, requests(4), error)
      call MPI_Waitall(4, requests, statuses, error)
      call check(statuses(MPI_SOURCE, 1) == peer .and. statuses(MPI_TAG, 1) == round, 'source and tag')
      call MPI_Get_count(statuses(:, 1), MPI_DOUBLE_PRECISION, count, error)
      call check(count == many, 'count')
      call check(all(other == (/ (peer * 1.0d7 + round * 1.0d6 + i, i = 1, many) /)), 'large COMMON')
      call check(all(small_in == peer * 10 + round), 'small COMMON')
      call check(statuses(MPI_SOURCE, 3) == peer, 'source of a wildcard')
      call check(all(requests == MPI_REQUEST_NULL), 'requests are null')
    end do
  end if

  ! Rows and columns of a saved array.
  call MPI_Type_vector(256, 1, 512, MPI_DOUBLE_PRECISION, row, error)
  call MPI_Type_contiguous(512, MPI_DOUBLE_PRECISION, column, error)
  call MPI_Type_commit(row, error)
  call MPI_Type_commit(column, error)
  if (peer /= MPI_PROC_NULL) then
    field = rank + 1
    call MPI_Sendrecv(field(3, 0), 1, row, peer, 1, field(9, 0), 1, row, peer, 1, MPI_COMM_WORLD, status, error)
    call check(all(field(9, :) == peer + 1) .and. all(field(8, :) == rank + 1), 'row')
    call MPI_Sendrecv(field(0, 20), 1, column, peer, 2, field(0, 30), 1, column, peer, 2, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, error)
    call check(all(field(0:8, 30) == peer + 1) .and. field(0, 31) == rank + 1, 'column')
  end if
  call MPI_Type_free(row, error)
  call MPI_Type_free(column, error)

  ! Absolute addresses of two COMMON blocks in one type.
  call MPI_Get_address(big, places(1), error)
  call MPI_Get_address(small, places(2), error)
  call MPI_Type_create_struct(2, (/ many, 8 /), places, (/ MPI_DOUBLE_PRECISION, MPI_INTEGER /), absolute, error)
  call MPI_Type_commit(absolute, error)
  if (peer /= MPI_PROC_NULL) then
    big = rank + 0.5d0
    small = rank + 70
    call MPI_Sendrecv_replace(MPI_BOTTOM, 1, absolute, peer, 5, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call check(all(big == peer + 0.5d0) .and. all(small == peer + 70), 'absolute addresses')
  end if
  call MPI_Type_free(absolute, error)

  ! Collective operations in place, on COMMON.
  small = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, small, 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call check(all(small == ranks * (ranks + 1) / 2), 'allreduce in place')
  if (rank == 0) big = 3.25d0
  call MPI_Bcast(big, many, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
  call check(all(big == 3.25d0), 'broadcast')

  ! An operation of the program, which is freed before the call ends that does not wait.
  call MPI_Op_create(larger, .true., operation, error)
  small = 10 * rank + (/ (i, i = 1, 8) /)
  call MPI_Iallreduce(small, small_in, 8, MPI_INTEGER, operation, MPI_COMM_WORLD, request, error)
  call MPI_Op_free(operation, error)
  call check(operation == MPI_OP_NULL, 'a freed operation is null')
  call MPI_Wait(request, status, error)
  call check(all(small_in == 10 * (ranks - 1) + (/ (i, i = 1, 8) /)), 'own operation')

  ! Persistent requests, probes, tests.
  if (peer /= MPI_PROC_NULL) then
    call MPI_Recv_init(other, many, MPI_DOUBLE_PRECISION, peer, 7, MPI_COMM_WORLD, requests(1), error)
    call MPI_Send_init(big, many, MPI_DOUBLE_PRECISION, peer, 7, MPI_COMM_WORLD, requests(2), error)
    do round = 1, 4
      big = rank * 100 + round
      call MPI_Startall(2, requests, error)
      if (mod(round, 2) == 0) then
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
      else
        flag = .false.
        do while (.not. flag)
          call MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE, error)
        end do
      end if
      call check(all(other == peer * 100 + round), 'persistent')
    end do
    call MPI_Request_free(requests(1), error)
    call MPI_Request_free(requests(2), error)
    call MPI_Isend(small, 5, MPI_INTEGER, peer, 9, MPI_COMM_WORLD, request, error)
    call MPI_Probe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, status, error)
    call MPI_Get_count(status, MPI_INTEGER, count, error)
    call check(count == 5 .and. status(MPI_SOURCE) == peer, 'probe')
    call MPI_Recv(small_in, count, MPI_INTEGER, peer, 9, MPI_COMM_WORLD, status, error)
    call MPI_Wait(request, status, error)
    received = 0
    call MPI_Irecv(received(2), 1, MPI_INTEGER, peer, 11, MPI_COMM_WORLD, requests(1), error)
    requests(2) = MPI_REQUEST_NULL
    call MPI_Send(rank, 1, MPI_INTEGER, peer, 11, MPI_COMM_WORLD, error)
    call MPI_Waitany(2, requests, index, status, error)
    call check(index == 1 .and. received(2) == peer, 'waitany counts from one')
  end if
  call on_the_stack(peer, rank)
  call in_a_file(rank)

  call MPI_Reduce(checks, all_checks, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (rank == 0 .and. all_failures == 0) print '(a, i0, a)', 'fortran/common ok (', all_checks, ' checks)'
  if (rank == 0 .and. all_failures > 0) print '(a, i0, a)', 'fortran/common FAILED (', all_failures, ' checks)'
  call MPI_Finalize(error)
  if (all_failures > 0) stop 1
contains
  subroutine on_the_stack(peer, rank)
    integer, intent(in) :: peer, rank
    real(8) :: mine(2000), theirs(2000)
    integer :: error
    if (peer == MPI_PROC_NULL) return
    mine = rank
    call MPI_Sendrecv(mine, 2000, MPI_DOUBLE_PRECISION, peer, 3, theirs, 2000, MPI_DOUBLE_PRECISION, peer, 3, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call check(all(theirs == peer), 'stack')
  end subroutine

  ! Collective calls, beside a message to the other half of the ranks that is waited for afterwards.
  subroutine in_a_file(rank)
    integer, intent(in) :: rank
    integer :: file, stamp, error, half, other, request, mine(8), back(8), status(MPI_STATUS_SIZE)
    integer(kind=MPI_OFFSET_KIND) :: place
    character(64) :: name
    if (rank == 0) call system_clock(stamp)
    call MPI_Bcast(stamp, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    write (name, '(a, i0)') 'conformance_fortran_file_', stamp
    half = ranks / 2
    other = MPI_PROC_NULL
    if (rank < 2 * half) other = merge(rank + half, rank - half, rank < half)
    big = rank
    request = MPI_REQUEST_NULL
    if (rank < half) then
      call MPI_Isend(big, many, MPI_DOUBLE_PRECISION, other, 5, MPI_COMM_WORLD, request, error)
    else
      call MPI_Recv(big, many, MPI_DOUBLE_PRECISION, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    end if
    call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
                       MPI_INFO_NULL, file, error)
    call check(error == MPI_SUCCESS, 'a file is opened')
    call MPI_Wait(request, MPI_STATUS_IGNORE, error)
    place = 0
    call MPI_File_set_view(file, place, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, error)
    call check(error == MPI_SUCCESS, 'and gets a view')
    mine = 100 * rank + (/ 1, 2, 3, 4, 5, 6, 7, 8 /)
    back = 0
    place = 8 * rank
    call MPI_File_write_at_all(file, place, mine, 8, MPI_INTEGER, status, error)
    call MPI_File_sync(file, error)
    call MPI_File_read_at_all_begin(file, place, back, 8, MPI_INTEGER, error)
    call MPI_File_read_at_all_end(file, back, status, error)
    call check(error == MPI_SUCCESS .and. all(back == mine), 'what was written is read')
    call MPI_Get_count(status, MPI_INTEGER, stamp, error)
    call check(stamp == 8, 'all of it')
    call MPI_File_close(file, error)
    call check(error == MPI_SUCCESS .and. file == MPI_FILE_NULL, 'and it is closed')
  end subroutine
end program
