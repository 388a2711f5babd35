package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"molehill/pkg/checkout"
)

// command is the name of the molehill command's file.
const command = "molehill"

// FindBinary returns the path of the molehill command to compute with:
// $MOLEHILL_BIN; else, within the molehill module or where $MOLEHILL_ROOT names
// one, the command built from its sources as they are now; else this very
// program, if it is called molehill; else the one on the PATH.
func FindBinary(ctx context.Context) (string, error) {
	if path := os.Getenv("MOLEHILL_BIN"); path != "" {
		found, err := exec.LookPath(path)
		if err == nil {
			found, err = filepath.Abs(found)
		}
		if err != nil {
			return "", fmt.Errorf("launch: MOLEHILL_BIN: %w; set it to the path of the molehill command", err)
		}
		return found, nil
	}
	root, ok := checkout.Root(".")
	if !ok {
		root, ok = checkout.Root(os.Getenv("MOLEHILL_ROOT")) // set for notebooks kept elsewhere
	}
	if ok {
		return Build(ctx, root)
	}
	if path, err := os.Executable(); err == nil && filepath.Base(path) == command {
		return path, nil
	}
	path, err := exec.LookPath(command)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", fmt.Errorf("launch: found no molehill command to compute with: %w; work within molehill's repository, or set MOLEHILL_BIN to the command's path", err)
	}
	return path, nil
}

// Build builds the command of the molehill module at root and returns its path,
// root/.molehill/bin/molehill. GOFLAGS, GOEXPERIMENT and all else that go build
// heeds come from the environment, and from environment ("NAME=value"), which
// wins. Where nothing changed it only looks.
//
// Concurrent builders do not disturb each other, nor the processes that execute
// an earlier build: each builds a file of its own, which then takes the name.
func Build(ctx context.Context, root string, environment ...string) (path string, err error) {
	if root, err = filepath.Abs(root); err != nil {
		return "", fmt.Errorf("launch: building molehill: %w", err)
	}
	dir := filepath.Join(root, ".molehill", "bin")
	path = filepath.Join(dir, command)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("launch: building molehill: %w", err)
	}
	clean(dir)
	temporary, err := os.MkdirTemp(dir, ".build-")
	if err != nil {
		return "", fmt.Errorf("launch: building molehill: %w", err)
	}
	defer os.RemoveAll(temporary)
	built := filepath.Join(temporary, command)
	// go build links anew unless its target is what it would link.
	if err := copyExecutable(built, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("launch: building molehill: %w", err)
	}
	output, err := goBuild(ctx, root, built, environment)
	if err != nil && bytes.Contains(output, []byte("-buildvcs=false")) {
		// No usable git, or a repository of another owner: the run's provenance
		// lacks the revision then, which must not keep anyone from computing.
		output, err = goBuild(ctx, root, built, environment, "-buildvcs=false")
	}
	if err != nil {
		return "", fmt.Errorf("launch: building molehill in %s: %w\n%s", root, err, bytes.TrimSpace(output))
	}
	if err := os.Rename(built, path); err != nil {
		return "", fmt.Errorf("launch: building molehill: %w", err)
	}
	return path, nil
}

// clean removes what builders that were killed have left, an hour ago or more.
func clean(dir string) {
	left, _ := fs.Glob(os.DirFS(dir), ".build-*")
	for _, name := range left {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(path) // another builder may be faster
		}
	}
}

func goBuild(ctx context.Context, root, target string, environment []string, flags ...string) (output []byte, err error) {
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"build", "-o", target}, flags...), ".")...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), environment...)
	return cmd.CombinedOutput()
}

// copyExecutable copies the file at from to a new file at to.
func copyExecutable(to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
