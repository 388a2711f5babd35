package viz

import (
	"os"

	"golang.org/x/sys/unix"
)

// unread is how many bytes of a pipe its reader has not taken yet; 0 for what is no pipe.
func unread(pipe *os.File) (bytes int) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(descriptor uintptr) {
		if n, err := unix.IoctlGetInt(int(descriptor), unix.TIOCINQ); err == nil {
			bytes = n
		}
	})
	return bytes
}
