//go:build linux && (amd64 || arm64)

package backend

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// undisturbed calls f on a thread that takes no signals, and so do the threads that f makes
// in C, for as long as they live. XLA's CPU plugin needs that: signals on its threads,
// whatever their handler does, corrupt its memory, so that a process that is profiled ends
// by "corrupted size vs. prev_size" within seconds.
func undisturbed(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	for _, s := range []syscall.Signal{ // what a thread does to itself, and what glibc uses
		unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSYS, 32, 33,
	} {
		all.Val[(s-1)/64] &^= 1 << ((s - 1) % 64)
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &all, &before); err != nil {
		return f() // as well as without
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	return f()
}
