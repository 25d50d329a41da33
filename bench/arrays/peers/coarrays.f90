! Coarrays: scalar coindexed references, sections of coarrays, atomics. Arrays are of process (image) 2; the series are
! those of peer.h, in the units of peer.h.
module peer
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  integer(int64), parameter :: table_words = 8388608_int64
  integer, parameter :: matrix_rows = 2048, tile_extent = 256, tile_first = 512, words_of_mebibyte = 131072
  integer(int64), allocatable :: table(:)[:], walk(:)[:]
  real(real64), allocatable :: matrix(:, :)[:]
  real(real64) :: block_of_matrix(tile_extent, tile_extent), row_of_matrix(matrix_rows)
  integer(int64) :: words(words_of_mebibyte), random_state, kept = 0, at = 0
  real(real64) :: seconds = 0.3_real64
contains
  integer(int64) function now_ns()
    integer(int64) :: ticks, rate
    call system_clock(ticks, rate)
    now_ns = nint(real(ticks, real64) / real(rate, real64) * 1e9_real64, int64)
  end function
  integer(int64) function near_word(i)
    integer(int64), intent(in) :: i
    near_word = mod(i, 512_int64) * 8 + 1
  end function
  integer(int64) function random_word()
    random_state = ieor(random_state, shiftl(random_state, 13))
    random_state = ieor(random_state, shiftr(random_state, 7))
    random_state = ieor(random_state, shiftl(random_state, 17))
    random_word = modulo(random_state, table_words) + 1
  end function
  subroutine run(name, count)
    character(*), intent(in) :: name
    integer(int64), intent(in) :: count
    integer(int64) :: i
    integer :: column
    random_state = 88172645463325252_int64
    do i = 1, count
      select case (name)
      case ('get8')
        kept = kept + table(near_word(i))[2]
      case ('put8')
        table(near_word(i))[2] = i
      case ('random_dependent')
        at = walk(at + 1)[2]
      case ('random_get')
        kept = kept + table(random_word())[2]
      case ('random_put')
        table(random_word())[2] = i
      case ('get_1MiB')
        words = table(1:words_of_mebibyte)[2]
      case ('put_1MiB')
        table(1:words_of_mebibyte)[2] = words
      case ('tile256')
        block_of_matrix = matrix(tile_first:tile_first + tile_extent - 1, tile_first:tile_first + tile_extent - 1)[2]
      case ('column2048')  ! Fortran's arrays are column-major: what is strided is a row
        column = int(mod(i, 1024_int64)) + 1
        row_of_matrix = matrix(column, :)[2]
      end select
    end do
    if (name == 'put8' .or. name == 'random_put' .or. name == 'put_1MiB') sync memory
  end subroutine
  subroutine measure(name)
    character(*), intent(in) :: name
    integer(int64) :: start, stop, finish, count
    real(real64) :: each, least
    integer :: samples
    logical :: warm
    least = 1e18_real64
    count = 1
    samples = 0
    warm = .false.
    call run(name, 1_int64)
    write (*, '(a)', advance='no') name
    finish = now_ns() + merge(5000000_int64, 20000000_int64, seconds < 0.2_real64)
    do
      start = now_ns()
      call run(name, count)
      stop = now_ns()
      each = real(stop - start, real64) / real(count, real64)
      if (warm) then
        write (*, '(1x,f0.2)', advance='no') each
        samples = samples + 1
      end if
      least = min(least, max(each, 0.1_real64))
      count = max(1_int64, int(1e6_real64 / least, int64))
      if (.not. warm .and. stop > finish) then
        warm = .true.
        finish = stop + int(seconds * 1e9_real64, int64)
      else if (warm .and. stop > finish .and. samples >= 3) then
        exit
      end if
    end do
    write (*, '(a)') ''
  end subroutine
end module

program coarrays
  use peer
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  character(64) :: group, value
  integer(int64) :: i
  call get_command_argument(1, group)
  do i = 2, command_argument_count() - 1, 2
    call get_command_argument(int(i), value)
    if (value /= '--seconds') cycle
    call get_command_argument(int(i) + 1, value)
    read (value, *) seconds
  end do
  if (num_images() /= 2) error stop 'peer: two images are needed'
  allocate (table(table_words)[*], walk(table_words)[*], matrix(matrix_rows, matrix_rows)[*])
  table = 0
  matrix = 1
  do i = 1, table_words  ! with the low 23 bits alone the same sequence, without an overflow
    walk(i) = iand((i - 1) * iand(2862933555777941757_int64, table_words - 1) + iand(3037000493_int64, table_words - 1), &
                   table_words - 1)
  end do
  words = 0
  sync all
  if (this_image() == 1) then
    select case (group)
    case ('singles')
      call measure('get8')
      call measure('put8')
    case ('random')
      call measure('random_dependent')
      call measure('random_get')
      call measure('random_put')
    case ('sections')
      call measure('get_1MiB')
      call measure('put_1MiB')
      call measure('tile256')
      call measure('column2048')
    end select
    write (*, '(a)') 'done'
  end if
  sync all
  deallocate (table, walk, matrix)
end program
