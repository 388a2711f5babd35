// Package slurmtest starts a real Slurm cluster of one node for a test: munged,
// slurmctld and slurmd, on ports of their own on loopback, with nothing read from
// or written to the machine's own configuration.
package slurmtest

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
	"time"
)

//go:embed slurm.conf
var configuration string

// Node is the host name of the cluster's node, which is not that of the machine:
// what a run tells of its process means nothing outside.
const Node = "molehill1"

// daemons runs in a process namespace of its own, whose first process it is: when
// it ends, because its standard input does or because the test's process was
// killed, the kernel ends all others, those of jobs included.
const daemons = `
set -eu
hostname ` + Node + `
cd "$1"
munged --foreground --force --key-file=munge.key --socket="$1/munge.sock" --pid-file="$1/munged.pid" --log-file="$1/munged.log" --seed-file="$1/munge.seed" --num-threads=1 >munged.out 2>&1 &
until [ -S munge.sock ]; do sleep 0.02; done
slurmctld -D -c -f "$1/slurm.conf" >slurmctld.out 2>&1 &
slurmd -D -c -f "$1/slurm.conf" >slurmd.out 2>&1 &
read -r _ || true
`

// Start starts a cluster that ends with the test, and points Slurm's commands at
// it. It skips the test where Slurm is not installed or not allowed.
func Start(t *testing.T) {
	t.Helper()
	for _, program := range []string{"munged", "slurmctld", "slurmd", "sbatch", "unshare"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("WITHOUT Slurm: there is no %s; `apt-get install slurm-wlm munge` installs what this test needs", program)
		}
	}
	isolated := []string{"--pid", "--uts", "--mount", "--mount-proc", "--fork", "--kill-child"}
	if out, err := exec.Command("unshare", append(isolated, "hostname", Node)...).CombinedOutput(); err != nil {
		t.Skipf("WITHOUT Slurm: its daemons may not be given namespaces of their own, which root may: %v: %s", err, bytes.TrimSpace(out))
	}
	dir, err := os.MkdirTemp("", "slurm-") // short: sockets' names are
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	key := make([]byte, 1024)
	if _, err := rand.Read(key); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	err = template.Must(template.New("").Parse(configuration)).Execute(&text, map[string]any{"Dir": dir, "Node": Node, "Controller": freePort(t), "Daemon": freePort(t)})
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "slurm.conf")
	for path, content := range map[string][]byte{config: text.Bytes(), filepath.Join(dir, "munge.key"): key} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("unshare", append(isolated, "sh", "-c", daemons, "sh", dir)...)
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	alive, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		alive.Close()
		_ = cmd.Wait() // says that it was killed
	})
	t.Setenv("SLURM_CONF", config)
	deadline := time.Now().Add(30 * time.Second)
	for {
		out, err := exec.Command("sinfo", "--noheader", "--format=%T").CombinedOutput()
		if err == nil && strings.TrimSpace(string(out)) == "idle" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the cluster does not get ready: %s, %v\n%s", out, err, Logs(dir))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Logs returns the ends of what the daemons say.
func Logs(dir string) string {
	var b strings.Builder
	for _, name := range []string{"munged.out", "slurmctld.out", "slurmd.out"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		fmt.Fprintf(&b, "%s (%v):\n%s\n", name, err, text[max(0, len(text)-1500):])
	}
	return b.String()
}

// freePort returns a port of 127.0.0.1 that was free a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
