package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// module makes a small module named molehill, whose command prints says.
func module(t *testing.T, root, says string) {
	t.Helper()
	for name, content := range map[string]string{
		"go.mod":  "module molehill\n\ngo 1.26\n",
		"main.go": "package main\n\nfunc main() { println(\"" + says + "\") }\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func output(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command(path).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestFindBinaryBuildsTheModule(t *testing.T) {
	t.Setenv("MOLEHILL_BIN", "")
	root := t.TempDir()
	module(t, root, "one")
	below := filepath.Join(root, "notebooks")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	want := filepath.Join(root, ".molehill", "bin", "molehill")
	find := func() {
		t.Helper()
		if path, err := FindBinary(t.Context()); err != nil || path != want {
			t.Fatalf("expected %s, found %s (%v)", want, path, err)
		}
	}
	var builders sync.WaitGroup
	for range 3 {
		builders.Go(find)
	}
	builders.Wait()
	if says := output(t, want); says != "one" {
		t.Errorf("expected the command to say one, it says %s", says)
	}
	began := time.Now()
	find()
	t.Logf("nothing changed: %v", time.Since(began))

	module(t, root, "two")
	find()
	if says := output(t, want); says != "two" {
		t.Errorf("expected the changed command to say two, it says %s", says)
	}
	module(t, root, `two" + 2 + "`)
	if _, err := FindBinary(t.Context()); err == nil || !strings.Contains(err.Error(), "main.go:3") {
		t.Errorf("expected the compiler's error, found %v", err)
	}
	if says := output(t, want); says != "two" {
		t.Errorf("a failed build took the last good command; now it says %s", says)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(want), ".build-*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestFindBinaryElsewhere(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PATH", dir)
	t.Setenv("MOLEHILL_BIN", "")
	if path, err := FindBinary(t.Context()); err == nil || !strings.Contains(err.Error(), "MOLEHILL_BIN") {
		t.Errorf("expected an error that says what to do, found %s, %v", path, err)
	}
	file := filepath.Join(dir, "molehill")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if path, err := FindBinary(t.Context()); err != nil || path != file {
		t.Errorf("expected %s from the PATH, found %s (%v)", file, path, err)
	}
	t.Setenv("MOLEHILL_BIN", "./molehill")
	if path, err := FindBinary(t.Context()); err != nil || path != file {
		t.Errorf("expected %s from MOLEHILL_BIN, found %s (%v)", file, path, err)
	}
	t.Setenv("MOLEHILL_BIN", filepath.Join(dir, "none"))
	if path, err := FindBinary(t.Context()); err == nil || !strings.Contains(err.Error(), "MOLEHILL_BIN") {
		t.Errorf("expected an error that names the variable, found %s, %v", path, err)
	}
}
