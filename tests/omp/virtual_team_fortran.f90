! Fortran on virtual threads: static loops, array reductions, workshare, single with copyprivate, ordered, locks of both
! kinds, and the functions of the interface in all their forms. Prints what depends on nothing.
program virtual_team
  use omp_lib
  implicit none
  integer :: failures
  integer :: round

  failures = 0
  do round = 1, 3
    call numbers()
    call static_loops()
    call together()
    call locks()
    call in_order()
  end do
  print '(a, i0)', 'failures ', failures
  if (failures /= 0) stop 1

contains

  subroutine check(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    if (good) return
    print '(a)', what
    !$omp atomic
    failures = failures + 1
  end subroutine check

  subroutine numbers()
    integer :: most, seen(0:4095), me
    most = omp_get_max_threads()
    call check(omp_get_num_procs() >= 1, 'processors')
    call check(.not. omp_in_parallel(), 'parallel outside')
    seen = 0
    !$omp parallel private(me)
    me = omp_get_thread_num()
    seen(me) = seen(me) + 1
    call check(omp_get_num_threads() == most, 'team')
    call check(omp_get_team_size(1) == most, 'team of level 1')
    call check(omp_get_ancestor_thread_num(1_8) == me, 'ancestor, long')
    call check(omp_get_team_size(1_8) == most, 'team of level 1, long')
    call check(omp_get_level() == 1, 'level')
    call check(.not. omp_in_final(), 'final')
    !$omp end parallel
    call check(all(seen(0:most - 1) == 1), 'threads')
    call omp_set_num_threads(3_8)
    !$omp parallel
    call check(omp_get_num_threads() == 3, 'three threads')
    !$omp end parallel
    call omp_set_num_threads(most)
    call check(omp_get_max_threads() == most, 'most threads')
    print '(a)', 'numbers'
  end subroutine numbers

  subroutine static_loops()
    integer, parameter :: n = 20011
    integer :: i, j
    real(8) :: a(n), total
    integer :: histogram(0:9)
    histogram = 0
    total = 0
    !$omp parallel do schedule(static)
    do i = 1, n
      a(i) = mod(i, 1000)
    end do
    !$omp parallel do reduction(+:histogram, total)
    do i = 1, n
      j = mod(i, 10)
      histogram(j) = histogram(j) + 1
      total = total + a(i)
    end do
    !$omp parallel workshare
    a = a + 1
    where (a > 500) a = 0
    !$omp end parallel workshare
    print '(a, f0.1, 10(1x, i0), 1x, f0.1)', 'loops ', total, histogram, sum(a)
  end subroutine static_loops

  subroutine together()
    integer :: value, sum, sections_done, singles, round
    sum = 0
    sections_done = 0
    singles = 0
    !$omp parallel private(value) reduction(+:sum)
    do round = 1, 20
      value = -1
      !$omp single
      singles = singles + 1
      value = round * 3
      !$omp end single copyprivate(value)
      sum = sum + merge(0, 1, value == round * 3)
      !$omp critical (counting)
      sections_done = sections_done + 0
      !$omp end critical (counting)
      !$omp sections
      !$omp section
      !$omp atomic
      sections_done = sections_done + 1
      !$omp section
      !$omp atomic
      sections_done = sections_done + 1
      !$omp end sections
      !$omp barrier
      !$omp master
      sections_done = sections_done + 1
      !$omp end master
    end do
    !$omp end parallel
    print '(a, 3(1x, i0))', 'together', sum, sections_done, singles
  end subroutine together

  subroutine locks()
    integer(omp_lock_kind) :: lock
    integer(omp_nest_lock_kind) :: nest
    integer :: count, depth, i
    call omp_init_lock(lock)
    call omp_init_nest_lock(nest)
    count = 0
    depth = 0
    !$omp parallel do schedule(static) private(i)
    do i = 1, 2000
      call omp_set_lock(lock)
      count = count + 1
      call omp_unset_lock(lock)
      call omp_set_nest_lock(nest)
      depth = max(depth, omp_test_nest_lock(nest))
      call omp_unset_nest_lock(nest)
      call omp_unset_nest_lock(nest)
    end do
    call check(omp_test_lock(lock), 'free lock')
    call omp_unset_lock(lock)
    call omp_destroy_lock(lock)
    call omp_destroy_nest_lock(nest)
    print '(a, 2(1x, i0))', 'locks', count, depth
  end subroutine locks

  subroutine in_order()
    character(26) :: text
    integer :: i, place
    integer(8) :: long
    place = 0
    !$omp parallel do ordered schedule(static, 2)
    do i = 1, 26
      !$omp ordered
      place = place + 1
      text(place:place) = achar(96 + i)
      !$omp end ordered
    end do
    place = 0
    !$omp parallel do ordered schedule(dynamic)
    do long = 26, 2, -2
      !$omp ordered
      place = place + 1
      text(place:place) = achar(64 + int(long))
      !$omp end ordered
    end do
    print '(a)', text
  end subroutine in_order
end program virtual_team
