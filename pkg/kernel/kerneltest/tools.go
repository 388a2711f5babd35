// Package kerneltest installs the programs of others that tests hold this
// repository against: Jupyter's tests of kernels, and linters of what is in
// docker/. They are no part of the product.
package kerneltest

import (
	_ "embed" // requirements
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"

	"molehill/pkg/kernel"
)

//go:embed requirements.txt
var requirements []byte

// Tools returns the folder that Python's packages of requirements.txt are in;
// their programs are in its bin. They are installed once, below .molehill. Where
// that is not possible (no network), the test is skipped and says so.
func Tools(t *testing.T, e *kernel.Environment) (folder string) {
	t.Helper()
	folder = filepath.Join(e.Dir, "tests")
	lock := flock.New(folder + ".lock")
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	installed := filepath.Join(folder, "requirements.txt")
	if have, err := os.ReadFile(installed); err == nil && string(have) == string(requirements) {
		return folder
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "requirements.txt")
	if err := os.WriteFile(list, requirements, 0o644); err != nil {
		t.Fatal(err)
	}
	pip := exec.CommandContext(t.Context(), e.Python, "-I", "-m", "pip", "install", "--require-hashes", "--no-deps", "--only-binary=:all:",
		"--disable-pip-version-check", "--no-input", "--progress-bar=off", "--quiet", "--root-user-action=ignore", "--target", folder, "--requirement", list)
	if out, err := pip.CombinedOutput(); err != nil {
		t.Skipf("the tests' tools (pkg/kernel/kerneltest/requirements.txt) cannot be installed, which takes the network: %v\n%s", err, out)
	}
	if err := os.WriteFile(installed, requirements, 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}
