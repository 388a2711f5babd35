package kernel_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"molehill/pkg/kernel"
	"molehill/pkg/kernel/kerneltest"
)

// The tests of jupyter_kernel_test that apply to a kernel of Go programs.
func TestConformance(t *testing.T) {
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("set MOLEHILL_THOROUGH=1: Jupyter's tests of kernels, ten seconds and, once, the network")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	e, err := kernel.Setup(t.Context(), kernel.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), e.Python, "-I", filepath.Join("testdata", "conformance.py"), kerneltest.Tools(t, e), kernel.Name)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(e.Python)+":"+os.Getenv("PATH"), "JUPYTER_PREFER_ENV_PATH=1",
		"JUPYTER_RUNTIME_DIR="+t.TempDir(), "TMPDIR="+t.TempDir())
	out, err := cmd.Output()
	report := string(out)
	t.Log(report)
	if err != nil {
		t.Fatal(err)
	}
	passed := regexp.MustCompile(`(?m)^(test_\w+) .*\.\.\. ok$`).FindAllStringSubmatch(report, -1)
	var names []string
	for _, p := range passed {
		names = append(names, p[1])
	}
	// Those that must not turn into skips unseen.
	for _, want := range []string{"test_kernel_info", "test_execute_stdout", "test_execute_stderr", "test_error", "test_display_data"} {
		if !strings.Contains(strings.Join(names, " "), want) {
			t.Errorf("%s did not pass; passed: %q", want, names)
		}
	}
}
