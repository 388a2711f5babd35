package kernel

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A notebook of another kernel is not run by ours: its cells would be compiled
// as Go, with a page of errors about something else.
func TestNotebookOfAnotherKernel(t *testing.T) {
	folder := t.TempDir()
	for name, want := range map[string]string{
		`{"name": "python3", "display_name": "Python 3", "language": "python"}`: `kernel "python3" (Python 3)`,
		`{"name": "ir", "display_name": "R"}`:                                   `kernel "ir" (R)`,
		`[]`:                                                                    "kernelspec",
	} {
		path := filepath.Join(folder, "other.ipynb")
		text := `{"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": ` + name + `}, "cells": [{"cell_type": "code", "metadata": {}, "execution_count": null, "outputs": [], "source": "print(1)"}]}`
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		// No environment is needed: the refusal comes before anything starts.
		_, err := Execute(t.Context(), nil, path, ExecuteOptions{InPlace: true})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Change Kernel") {
			t.Errorf("%s: %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != text {
			t.Errorf("the notebook was changed (%v)", err)
		}
	}
	for _, fine := range []string{`{"name": "molehill"}`, `{"name": "gonb", "language": "go"}`, `{}`} {
		nb, err := ParseNotebook([]byte(`{"nbformat": 4, "metadata": {"kernelspec": ` + fine + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := nb.ours(); err != nil {
			t.Errorf("%s: %v", fine, err)
		}
	}
}

func TestServeOnAPortInUse(t *testing.T) {
	e := environment(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	err = e.Serve(t.Context(), ServeOptions{Port: port})
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(port)+" is in use") {
		t.Errorf("port %d is taken: %v", port, err)
	}
	// One of addresses that no machine has (RFC 5737).
	err = e.Serve(t.Context(), ServeOptions{Address: "192.0.2.1"})
	if err == nil || !strings.Contains(err.Error(), "192.0.2.1 cannot be used") {
		t.Errorf("an address of nobody: %v", err)
	}
}

func TestServeRefusesAShortToken(t *testing.T) {
	e := &Environment{Root: t.TempDir()}
	err := e.Serve(t.Context(), ServeOptions{Token: "secret", Port: 1})
	if err == nil || !strings.Contains(err.Error(), "6 characters") || strings.Contains(err.Error(), "secret") {
		t.Errorf("a token that can be guessed: %v", err)
	}
}

func TestServeWithoutPermission(t *testing.T) {
	// Two ways in which a folder cannot be written, one of which holds for root.
	t.Run("file in its place", func(t *testing.T) {
		e := &Environment{Dir: t.TempDir()}
		if err := os.Mkdir(filepath.Join(e.Dir, "jupyter"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(e.Dir, "jupyter", "runtime"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := e.startOn(t.Context(), seat{})
		if err == nil || !strings.Contains(err.Error(), filepath.Join(e.Dir, "jupyter", "runtime")) || !strings.Contains(err.Error(), "make it yours") {
			t.Errorf("%v", err)
		}
	})
	t.Run("read-only", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root may write everywhere")
		}
		e := &Environment{Dir: t.TempDir()}
		runtime := filepath.Join(e.Dir, "jupyter", "runtime")
		if err := os.MkdirAll(runtime, 0o500); err != nil {
			t.Fatal(err)
		}
		_, err := e.startOn(t.Context(), seat{})
		if err == nil || !strings.Contains(err.Error(), runtime) || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%v", err)
		}
	})
}

// A checkout that has a JupyterLab running tells its address, and files that
// dead ones have left are passed over.
func TestServeWhereOneRuns(t *testing.T) {
	e := environment(t)
	left := filepath.Join(e.Dir, "jupyter", "runtime", "jpserver-999999999.json")
	for _, content := range []string{"", "{", `{"pid": 999999999, "port": 1, "root_dir": ` + strconv.Quote(e.Root) + `}`, `{"pid": ` + strconv.Itoa(os.Getpid()) + `, "port": 1, "hostname": "127.0.0.1", "root_dir": ` + strconv.Quote(e.Root) + `}`} {
		if err := writeFile(left, []byte(content)); err != nil {
			t.Fatal(err)
		}
		running, err := e.Running(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range running {
			if s.PID == 999999999 || s.PID == os.Getpid() {
				t.Errorf("%q passes for a server: %+v", content, s)
			}
		}
	}
	if err := os.Remove(left); err != nil {
		t.Fatal(err)
	}
	s, err := e.startOn(t.Context(), seat{root: e.Root, notebooks: e.notebooks(), token: "a token of our own"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.close(true); err != nil {
			t.Error(err)
		}
	}()
	var out strings.Builder
	if err := e.Serve(t.Context(), ServeOptions{Out: &out}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "running already: http://127.0.0.1:") || !strings.Contains(out.String(), Index+"?token=") {
		t.Errorf("it says %q", &out)
	}
}
