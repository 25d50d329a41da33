/* An ordinary C program: a sort of records by way of a linked list, threads that each build a string, and a file read back. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record {
  struct record* next;
  unsigned key;
  char name[24];
};

static int by_key(const void* left, const void* right) {
  const unsigned a = (*(struct record* const*)left)->key, b = (*(struct record* const*)right)->key;
  return a < b ? -1 : a > b;
}

static void* build(void* number) {
  char* text = NULL;
  size_t length = 0;
  for (int index = 0; index < 500; ++index) {
    char* piece = NULL;
    const int more = asprintf(&piece, "%ld.%d ", (long)number, index);
    text = realloc(text, length + (size_t)more + 1);
    memcpy(text + length, piece, (size_t)more + 1);
    length += (size_t)more;
    free(piece);
  }
  return text;
}

int main(void) {
  enum { records = 5000, threads = 4 };
  struct record* list = NULL;
  unsigned random = 12345;
  for (int index = 0; index < records; ++index) {
    struct record* one = malloc(sizeof *one);
    random = random * 1664525u + 1013904223u;
    one->next = list;
    one->key = random >> 8;
    snprintf(one->name, sizeof one->name, "record %d", index);
    list = one;
  }
  struct record** table = calloc(records, sizeof *table);
  int count = 0;
  for (struct record* one = list; one; one = one->next) table[count++] = one;
  qsort(table, records, sizeof *table, by_key);
  for (int index = 0; index < records; index += 250) printf("%u %s\n", table[index]->key, table[index]->name);

  pthread_t workers[threads];
  for (long number = 0; number < threads; ++number) pthread_create(&workers[number], NULL, build, (void*)number);
  for (int number = 0; number < threads; ++number) {
    void* text = NULL;
    pthread_join(workers[number], &text);
    printf("%zu %s\n", strlen(text), (char*)text + strlen(text) - 8);
    free(text);
  }
  FILE* file = tmpfile();
  for (int index = 0; index < records; ++index) fprintf(file, "%s\n", table[index]->name);
  rewind(file);
  char* line = NULL;
  size_t room = 0, characters = 0;
  while (getline(&line, &room, file) > 0) characters += strlen(line);
  printf("%zu characters\n", characters);
  free(line);
  fclose(file);
  for (int index = 0; index < records; ++index) free(table[index]);
  free(table);
  return 0;
}
