//go:build !linux

package viz

import "os"

// unread is not known on this system.
func unread(*os.File) int { return 0 }
