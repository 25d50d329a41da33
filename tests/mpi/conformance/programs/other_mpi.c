/* Stands for an MPI library that the drop-in does not know: its name is all that matters. */
int MPI_Init(int* count, char*** arguments);
int MPI_Init(int* count, char*** arguments) { return count != 0 && arguments == 0; }
