C     An old program: fixed form, mpif.h, everything in COMMON, a ring of messages and a sum.
      PROGRAM LEGACY
      INCLUDE 'mpif.h'
      INTEGER N
      PARAMETER (N = 65536)
      DOUBLE PRECISION A, B
      COMMON /BLOCK/ A(N), B(N)
      INTEGER IERR, ME, NP, NEXT, LAST, I, K, REQ(2), STAT(MPI_STATUS_SIZE, 2), BAD, ALLBAD, L, LENGTH(4)
      LOGICAL FLAG
      DATA LENGTH /1, 100, 5000, 65536/
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, NP, IERR)
      NEXT = MOD(ME + 1, NP)
      LAST = MOD(ME + NP - 1, NP)
      BAD = 0
      DO 30 K = 1, 4
        L = LENGTH(K)
        DO 10 I = 1, L
          A(I) = ME * 1.0D6 + I
          B(I) = -1
   10   CONTINUE
        CALL MPI_IRECV(B, L, MPI_DOUBLE_PRECISION, LAST, K, MPI_COMM_WORLD, REQ(1), IERR)
        CALL MPI_ISEND(A, L, MPI_DOUBLE_PRECISION, NEXT, K, MPI_COMM_WORLD, REQ(2), IERR)
        CALL MPI_TEST(REQ(1), FLAG, STAT, IERR)
        CALL MPI_WAITALL(2, REQ, STAT, IERR)
        IF (.NOT. FLAG) THEN
          IF (STAT(MPI_SOURCE, 1) .NE. LAST) BAD = BAD + 1
        END IF
        DO 20 I = 1, L
          IF (B(I) .NE. LAST * 1.0D6 + I) BAD = BAD + 1
   20   CONTINUE
        CALL MPI_SENDRECV(A, L, MPI_DOUBLE_PRECISION, NEXT, 9, B, N, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE,
     &                    MPI_ANY_TAG, MPI_COMM_WORLD, STAT, IERR)
        IF (B(L) .NE. LAST * 1.0D6 + L) BAD = BAD + 1
   30 CONTINUE
      CALL MPI_ALLREDUCE(BAD, ALLBAD, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, IERR)
      IF (ME .EQ. 0 .AND. ALLBAD .EQ. 0) PRINT '(A)', 'fortran/legacy ok'
      IF (ME .EQ. 0 .AND. ALLBAD .NE. 0) PRINT '(A)', 'fortran/legacy FAILED'
      CALL MPI_FINALIZE(IERR)
      END
