//go:build cgo && !noxla && ((linux && (amd64 || arm64)) || (darwin && arm64))

package backend

// XLA's bindings need a C compiler; without one a build has the Go backend
// alone.
import _ "github.com/gomlx/go-xla/compute/xla" // registers "xla"
