"""The system calls that are left to a student's process, on Linux with libseccomp: those for computing, and for its own files.

What is not named here looks to the process as if this Linux were too old to have it, so libraries go other ways.  Which files it
may write is not seen here; Landlock sees to that.
"""

import ctypes
import errno
import os
import sys

ALLOW, FAIL = 0x7FFF0000, 0x00050000  # see seccomp_init(3)
EQUAL, MASKED = 4, 7  # see seccomp_rule_add(3)

CALLS = """
    brk madvise membarrier mincore mmap mprotect mremap msync munmap
    access close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64 fallocate fdatasync flock fstat
    fstatfs fsync ftruncate getcwd getdents getdents64 lseek lstat newfstatat open openat pread64 preadv pwrite64 pwritev read
    readlink readlinkat readv sendfile stat statfs statx truncate umask write writev
    chdir fchdir link linkat mkdir mkdirat rename renameat renameat2 rmdir symlink symlinkat unlink unlinkat
    epoll_create1 epoll_ctl epoll_pwait epoll_wait eventfd2 pipe pipe2 poll ppoll pselect6 select
    getpeername getsockname getsockopt recvfrom recvmsg shutdown socketpair
    exit exit_group futex get_robust_list getcpu gettid rseq sched_getaffinity sched_yield set_robust_list set_tid_address
    alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep setitimer time times
    rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait sigaltstack restart_syscall
    getegid geteuid getgid getgroups getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid getrlimit
    getrusage getsid getuid sysinfo uname wait4 waitid
"""
PRETENDED = "chmod fchmod fchmodat utime utimes futimesat utimensat"  # they do nothing, for libraries that copy files
THREAD = 0x10000  # clone(2) makes a thread, which ends with the process
FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 1030)  # copies, flags and locks, but no signals
IOCTL = (0x5401, 0x5413, 0x5421, 0x5450, 0x5451)  # is it a terminal, how wide; may it block; does it stay open


class _Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("how", ctypes.c_int), ("one", ctypes.c_uint64), ("two", ctypes.c_uint64)]


def library() -> ctypes.CDLL | None:
    """Libseccomp, none where it is missing or Linux has no such filters."""
    try:
        found = ctypes.CDLL("libseccomp.so.2", use_errno=True)
        kernel = ctypes.CDLL(None, use_errno=True)
    except OSError:
        return None
    kernel.prctl(22, 2, None)  # PR_SET_SECCOMP to no filter at all: a fault where filters are known
    return found if sys.platform == "linux" and ctypes.get_errno() == errno.EFAULT else None


def confine() -> None:
    """From now on this process, and its threads, make no other system calls than these."""
    if not (calls := library()):
        return
    calls.seccomp_init.restype = ctypes.c_void_p
    rules = ctypes.c_void_p(calls.seccomp_init(FAIL | errno.ENOSYS))

    def rule(names: str, what: int = ALLOW, *only: tuple[int, int, int, int]) -> None:
        for name in names.split():
            number = calls.seccomp_syscall_resolve_name(name.encode())
            if number >= 0:  # known to the library, and there on this processor
                comparisons = (_Comparison * len(only))(*(_Comparison(*each) for each in only))
                _done(calls.seccomp_rule_add_array(rules, what, number, len(only), comparisons))

    rule(CALLS)
    rule(PRETENDED, FAIL)
    rule("clone", ALLOW, (0, MASKED, THREAD, THREAD))
    rule("tgkill", ALLOW, (0, EQUAL, os.getpid(), 0))
    rule("prlimit64", ALLOW, (2, EQUAL, 0, 0))  # asks
    rule("sendto", ALLOW, (4, EQUAL, 0, 0))  # to where it is connected
    rule("prctl", ALLOW, (0, EQUAL, 15, 0))  # names a thread
    for name, commands in (("fcntl", FCNTL), ("ioctl", IOCTL)):
        for each in commands:
            rule(name, ALLOW, (1, EQUAL, each, 0))
    _done(calls.seccomp_load(rules))
    calls.seccomp_release(rules)


def _done(result: int) -> None:
    if result < 0:
        raise OSError(-result, "libseccomp is there, but refuses: " + os.strerror(-result))
