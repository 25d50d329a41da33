! An ordinary Fortran program: allocatable arrays that grow, arrays of a derived type with allocatable parts, character strings
! of deferred length, and a COMMON block that is large enough to be moved into the window.
program plain
  implicit none
  type cell
    integer, allocatable :: values(:)
  end type
  type(cell), allocatable :: cells(:)
  real(8), allocatable :: grid(:, :), copy(:, :)
  character(len=:), allocatable :: text
  character(len=12) :: piece
  integer :: i, n
  real(8) :: shared(100000)
  common /block/ shared

  allocate(cells(100))
  do i = 1, 100
    allocate(cells(i)%values(i * 37))
    cells(i)%values = i
  end do
  do i = 1, 100, 2
    cells(i)%values = [cells(i)%values, cells(101 - i)%values]
  end do
  n = 0
  do i = 1, 100
    n = n + sum(cells(i)%values)
  end do
  print '(a, i0)', 'cells ', n

  do i = 1, 6
    n = 100 * i
    allocate(grid(n, n))
    grid = real(i, 8)
    grid = matmul(grid(:, 1:10), grid(1:10, :))
    copy = grid
    print '(a, i0, f14.2)', 'grid ', n, sum(copy) / n
    deallocate(grid)
  end do

  text = ''
  do i = 1, 300
    write (piece, '(i0, a)') i, ','
    text = text // trim(piece)
  end do
  print '(a, i0, a)', 'text ', len(text), text(len(text) - 7:)

  shared = [(real(i, 8), i = 1, 100000)]
  call half
  print '(a, f16.2)', 'common ', sum(shared)
end program

subroutine half
  real(8) :: shared(100000)
  common /block/ shared
  shared = shared / 2
end subroutine
