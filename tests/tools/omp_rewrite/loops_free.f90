! Loops of Fortran in free form.
program loops
  implicit none
  integer, parameter :: n = 1000
  integer :: i, j
  integer(8) :: values(n), total, table(20, 30)
  !$omp parallel do
  do i = 1, n
    values(i) = i
  end do
  total = 0
!$OMP PARALLEL DO &   ! a comment
  ! and another
!$OMP & REDUCTION(+:TOTAL) &
!$OMP SCHEDULE(STATIC)
  do i = 1, n
    total = total + values(i)
  end do
  print *, total
!$omp parallel private(i)
!$omp do
  do i = 1, n
    values(i) = values(i) * 3
  end do
!$omp end do
!$omp do
  do i = 1, n
    values(i) = values(i) + 1
  end do
!$omp end do nowait
!$omp do schedule(static)
  do i = 1, n
    values(i) = values(i) - 4
  end do
!$omp enddo
!$omp end parallel
  table = 0
!$omp paralleldo collapse(2) default(none) shared(table) private(i, j) num_threads(2) if (n > 1 .and. n < 10000000) schedule(static)
  do j = 1, 30
    do i = 1, 20
      table(i, j) = i * j
    end do
  end do
!$omp parallel do private(i)
  do j = 1, 30
    !$omp simd
    do i = 1, 20
      table(i, j) = table(i, j) + i
    end do
  end do
!$omp end parallel do
  print *, sum(values), sum(table), 'text & !$omp do'
end program
