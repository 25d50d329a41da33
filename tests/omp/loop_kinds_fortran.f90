! Loops as Fortran programs write them, with the same conventions as loop_kinds.c: do loops of every integer kind and
! direction, collapse, reduction, lastprivate, array sections, workshare.
program loop_kinds_fortran
  use omp_lib
  use iso_fortran_env, only: int8, int64, error_unit
  implicit none
  integer :: failures, taken
  failures = 0
  taken = 0
  call simple_loops()
  call steps()
  call collapsed()
  call orphans()
  if (failures == 0) then
    print '(a)', 'all well'
  else
    print '(a)', 'FAILED'
  end if
  write (error_unit, '(a,i0,a)') 'expected: loops intercepted ', taken, ', passed through to the OpenMP runtime 0'
  if (failures > 0) stop 1

contains

  subroutine verify(name, holds)
    character(len=*), intent(in) :: name
    logical, intent(in) :: holds
    if (holds) then
      print '(a)', name // ': holds'
    else
      print '(a)', name // ': FAILS'
      failures = failures + 1
    end if
  end subroutine

  subroutine count_loop()
    if (omp_get_thread_num() == 0) then
      !$omp atomic
      taken = taken + 1
    end if
  end subroutine

  subroutine simple_loops()
    integer :: i, last, total
    integer :: ran(1000)
    ran = 0
    taken = taken + 3
    !$omp parallel do schedule(dynamic)
    do i = 1, 1000
      ran(i) = ran(i) + 1
    end do
    !$omp end parallel do
    !$omp parallel do schedule(guided, 4) lastprivate(last)
    do i = 1, 1000
      ran(i) = ran(i) + 1
      last = i
    end do
    !$omp end parallel do
    total = 0
    !$omp parallel do schedule(runtime) reduction(+:total)
    do i = 1, 1000
      total = total + ran(i)
    end do
    !$omp end parallel do
    call verify('dynamic, guided and runtime', all(ran == 2) .and. total == 2000 .and. last == 1000)
  end subroutine

  subroutine steps()
    integer :: i
    integer(int64) :: j
    integer(int8) :: k
    integer :: ran(0:999)
    ran = 0
    !$omp parallel
    call count_loop()
    !$omp do schedule(dynamic, 3)
    do i = 999, 3, -3
      ran(i) = ran(i) + 1
    end do
    !$omp end do nowait
    call count_loop()
    !$omp do schedule(dynamic)
    do j = 4611686018427387904_int64, 4611686018427387904_int64 + 995_int64, 3_int64
      ran(int(j - 4611686018427387904_int64) + 1) = ran(int(j - 4611686018427387904_int64) + 1) + 1
    end do
    !$omp end do nowait
    call count_loop()
    !$omp do schedule(guided)
    do k = -50_int8, 50_int8, 2_int8
      !$omp atomic
      ran(0) = ran(0) + 1
    end do
    !$omp end do
    !$omp end parallel
    call verify('down, 64 bits and 8 bits', ran(0) == 51 .and. all(ran(3:999:3) == 1) .and. all(ran(1:994:3) == 1) &
                .and. all(ran(2:998:3) == 0))
  end subroutine

  subroutine collapsed()
    integer :: i, j
    integer :: ran(40, 30)
    ran = 0
    taken = taken + 1
    !$omp parallel do collapse(2) schedule(dynamic, 7)
    do j = 1, 30
      do i = 40, 1, -1
        ran(i, j) = ran(i, j) + 1
      end do
    end do
    !$omp end parallel do
    call verify('collapse', all(ran == 1))
  end subroutine

  subroutine orphan(values)
    integer, intent(inout) :: values(:)
    integer :: i
    call count_loop()
    !$omp do schedule(runtime)
    do i = 1, size(values)
      values(i) = values(i) + 1
    end do
    !$omp end do nowait
  end subroutine

  subroutine orphans()
    integer :: a(500), b(10), c(0), round
    a = 0
    b = 0
    !$omp parallel private(round)
    do round = 1, 50
      call orphan(a)
      call orphan(b)
      call orphan(c)
      !$omp barrier
    end do
    !$omp workshare
    a = a * 2
    !$omp end workshare
    !$omp end parallel
    call verify('loops in subroutines', all(a == 100) .and. all(b == 50))
  end subroutine
end program
