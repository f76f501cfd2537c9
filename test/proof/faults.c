/*
 * A disk that can be broken, under one process: loaded before libc, this stands between SQLite and the kernel.
 *
 * HEARTLINE_FAULT names a file with one rule, `<what> <calls> <part of the path> <skip>`, looked at before every call; when
 * there is none, all is well. What: `EIO`, `ENOSPC` (the call fails), `KILL` (a write does its first half, and the process
 * is gone). Calls: any of w (write), s (fsync), t (truncate). So many matching calls are let through first.
 *
 * HEARTLINE_WRITES names a file that takes down what was done to the files of its own directory, in order: a header of five
 * numbers (call, microseconds on the monotonic clock, length of the name, offset, length of the data), the name, the data.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static int (*real_fsync)(int);
static int (*real_ftruncate)(int, off64_t);

static const char *rule_file;
static const char *log_file;
static size_t log_directory_length;
static int log_fd = -1;

static char rule[256];
static long let_through;

__attribute__((constructor)) static void begin(void) {
  real_write = dlsym(RTLD_NEXT, "write");
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
  rule_file = getenv("HEARTLINE_FAULT");
  log_file = getenv("HEARTLINE_WRITES");
  if (log_file != NULL) {
    log_fd = open(log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    log_directory_length = (size_t)(strrchr(log_file, '/') - log_file) + 1;
  }
}

static int path_of(int fd, char *path, size_t size) {
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, size - 1);
  if (length <= 0 || path[0] != '/') return 0;
  path[length] = 0;
  return 1;
}

/* The error to give, -1 to be killed, 0 when all is well. */
static int fault(char call, const char *path) {
  char found[sizeof rule] = "";
  int fd = open(rule_file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t length = read(fd, found, sizeof found - 1);
  close(fd);
  if (length <= 0) return 0;
  if (strcmp(found, rule) != 0) {
    memcpy(rule, found, sizeof rule);
    let_through = 0;
  }
  char what[16], calls[8], part[128];
  long skip;
  if (sscanf(rule, "%15s %7s %127s %ld", what, calls, part, &skip) != 4) abort();
  if (strchr(calls, call) == NULL || strstr(path, part) == NULL) return 0;
  if (let_through++ < skip) return 0;
  if (strcmp(what, "EIO") == 0) return EIO;
  if (strcmp(what, "ENOSPC") == 0) return ENOSPC;
  return -1;
}

static void note(char call, const char *path, int64_t offset, const void *data, size_t length) {
  if (strncmp(path, log_file, log_directory_length) != 0 || strcmp(path, log_file) == 0) return;
  const char *name = path + log_directory_length;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t at = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
  int64_t header[5] = {call, at, (int64_t)strlen(name), offset, (int64_t)length};
  real_write(log_fd, header, sizeof header);
  real_write(log_fd, name, strlen(name));
  if (length > 0) real_write(log_fd, data, length);
}

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

/* What is done and what is taken down come in the same order, whichever thread does it. */
#define AROUND(type, call, offset, data, length, half, really)                                     \
  char path[4096];                                                                                 \
  if ((rule_file == NULL && log_fd < 0) || !path_of(fd, path, sizeof path)) return really;         \
  pthread_mutex_lock(&one_at_a_time);                                                              \
  int error = rule_file == NULL ? 0 : fault(call, path);                                           \
  if (error < 0) {                                                                                 \
    half;                                                                                          \
    die();                                                                                         \
  }                                                                                                \
  type result = -1;                                                                                \
  if (error == 0) {                                                                                \
    result = really;                                                                               \
    error = errno;                                                                                 \
    if (log_fd >= 0 && result >= 0) note(call, path, offset, data, length);                        \
  }                                                                                                \
  pthread_mutex_unlock(&one_at_a_time);                                                            \
  errno = error;                                                                                   \
  return result;

ssize_t write(int fd, const void *data, size_t size) {
  AROUND(ssize_t, 'w', -1, data, (size_t)result, (void)!real_write(fd, data, size / 2), real_write(fd, data, size))
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
  AROUND(ssize_t, 'w', offset, data, (size_t)result, (void)!real_pwrite(fd, data, size / 2, offset),
         real_pwrite(fd, data, size, offset))
}

int fsync(int fd) {
  AROUND(int, 's', 0, NULL, 0, (void)0, real_fsync(fd))
}

int ftruncate64(int fd, off64_t size) {
  AROUND(int, 't', size, NULL, 0, (void)0, real_ftruncate(fd, size))
}
