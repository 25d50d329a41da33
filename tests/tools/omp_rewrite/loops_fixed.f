c     Loops of Fortran in fixed form.
      program loops
      integer n, i
      parameter (n = 1000)
      integer values(n), total
c$omp parallel do private(i) shared(values) default(none) if(n .gt. 1)
c     a comment, where the new line goes before
      do 10 i = 1, n
   10 values(i) = i
      total = 0
C$OMP PARALLEL DO PRIVATE(I) SHARED(VALUES) DEFAULT(NONE)               00000010
C$OMP+SCHEDULE(STATIC) COLLAPSE(1) IF(N .GT. 1)                         00000020
      do i = 1, n
        values(i) = values(i) * 3
      enddo
*$omp paralleldo default(none) shared(values) reduction(+:total)
c     a comment
*$omp+private(i) sched
*$omp&ule(static)
      do i = 1, n
        total = total + values(i)
      enddo
!$omp par allel
!$omp do
      do i = 1, n
        values(i) = values(i) - i
      enddo
!$omp enddo nowait
!$omp do private(i) lastprivate(total) schedule(static) collapse(1)
      do i = 1, n
        total = values(i)
      enddo
!$omp end parallel
      print *, total, sum(values)
      end
