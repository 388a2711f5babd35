// Package docker tests what the images are made of: the Dockerfile and the
// compose file by linters, and the script that does the work by running it.
package docker

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"molehill/pkg/kernel"
	"molehill/pkg/kernel/kerneltest"
)

func environment(t *testing.T) *kernel.Environment {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	found, err := kernel.Find(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Problems) > 0 {
		t.Skipf("JupyterLab is not set up (`make lab CHECK=1`): %q", found.Problems)
	}
	return found.Environment
}

func TestLint(t *testing.T) {
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("set MOLEHILL_THOROUGH=1: installs linters once, which takes the network")
	}
	programs := filepath.Join(kerneltest.Tools(t, environment(t)), "bin")
	for _, command := range [][]string{{"hadolint", "Dockerfile"}, {"shellcheck", "setup.sh"}} {
		program := filepath.Join(programs, command[0])
		if _, err := os.Stat(program); err != nil {
			t.Logf("no %s for this platform", command[0])
			continue
		}
		if out, err := exec.Command(program, command[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}

// What the Dockerfile names is there, and the user that runs is not root.
func TestDockerfile(t *testing.T) {
	data, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	file := string(data)
	users := regexp.MustCompile(`(?m)^USER (\S+)$`).FindAllStringSubmatch(file, -1)
	if len(users) == 0 || users[len(users)-1][1] == "0" || users[len(users)-1][1] == "root" {
		t.Errorf("the last USER is %v, expected one that is not root", users)
	}
	for _, want := range []string{" AS cpu", " AS cuda", "HEALTHCHECK", "quay.io/jupyter/"} {
		if !strings.Contains(file, want) {
			t.Errorf("no %q", want)
		}
	}
	script, err := os.ReadFile("setup.sh")
	if err != nil {
		t.Fatal(err)
	}
	steps := regexp.MustCompile(`(?m)^[^#]*setup\.sh"?,? "?(\w+)`).FindAllStringSubmatch(file, -1)
	var names []string
	for _, s := range steps {
		names = append(names, s[1])
		if !strings.Contains(string(script), "\n"+s[1]+"() {") {
			t.Errorf("the Dockerfile runs `setup.sh %s`, which the script does not have", s[1])
		}
	}
	for _, want := range []string{"system", "user", "gpu", "start"} {
		if !slices.Contains(names, want) {
			t.Errorf("the Dockerfile does not run `setup.sh %s`; it runs %q", want, names)
		}
	}
	// The Go that the image takes is the one that go.mod asks for.
	mod, err := os.ReadFile(filepath.Join("..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	wanted := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)[1]
	if !strings.Contains(file, "GO=golang:"+string(wanted)) {
		t.Errorf("go.mod asks for Go %s, the Dockerfile takes another", wanted)
	}
}

// The compose file is read by the YAML reader that comes with JupyterLab.
func TestCompose(t *testing.T) {
	e := environment(t)
	const read = `import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)`
	out, err := exec.Command(e.Python, "-I", "-c", read, "compose.yaml").Output()
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Services map[string]struct {
			Build          struct{ Context, Dockerfile, Target string }
			Ports, Volumes []string
		}
		Volumes map[string]any
	}
	if err := json.Unmarshal(out, &compose); err != nil {
		t.Fatal(err)
	}
	dockerfile, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if len(compose.Services) != 2 {
		t.Fatalf("%d services, expected one for the CPU and one for GPUs", len(compose.Services))
	}
	for name, s := range compose.Services {
		if !strings.Contains(string(dockerfile), " AS "+s.Build.Target+"\n") {
			t.Errorf("%s builds the target %q, which the Dockerfile does not have", name, s.Build.Target)
		}
		if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s opens port %s to the network", name, port)
			}
		}
		var places []string
		for _, v := range s.Volumes {
			volume, place, _ := strings.Cut(v, ":/")
			places = append(places, "/"+place)
			if _, known := compose.Volumes[volume]; !known && !strings.HasPrefix(volume, "$") {
				t.Errorf("%s mounts %q, which is no volume of the file", name, volume)
			}
		}
		for _, variable := range []string{"MOLEHILL_DATA=", "MOLEHILL_RUNS=", "MOLEHILL_LEDGER="} {
			_, place, _ := strings.Cut(string(dockerfile), variable)
			place, _, _ = strings.Cut(place, "\n")
			place = strings.TrimSuffix(strings.TrimSpace(strings.TrimSuffix(place, "\\")), "/ledger.db")
			if !slices.Contains(places, place) {
				t.Errorf("%s keeps %q in no volume; it mounts %q", name, place, places)
			}
		}
	}
}

// An image has all that the repository has for it, and nothing that people leave in their
// checkouts.
func TestWhatGoesIntoAnImage(t *testing.T) {
	data, err := os.ReadFile("../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	goes := func(path string) (in bool) {
		in = true
		for line := range strings.Lines(string(data)) {
			pattern := strings.TrimSpace(line)
			if pattern == "" || pattern[0] == '#' {
				continue
			}
			pattern, again := strings.CutPrefix(pattern, "!")
			if ignored(t, pattern, path) {
				in = again
			}
		}
		return in
	}
	tracked, err := exec.Command("git", "-C", "..", "ls-files").Output()
	if err != nil {
		t.Skip("this is no clone: ", err)
	}
	left := regexp.MustCompile(`^(\.ci/|\.gitignore|\.dockerignore|CHANGELOG\.md|CONTRIBUTING\.md)`)
	for _, path := range strings.Fields(string(tracked)) {
		if goes(path) == left.MatchString(path) {
			t.Errorf("%s goes into the image: %v", path, goes(path))
		}
	}
	for _, path := range []string{"people.csv", "people.schema.json", "runs/a-1/key", ".molehill/setup.json", "molehill", ".git/config", "notebooks/people.csv", "notebooks/mine.ipynb", "notebooks/executed/00_start.ipynb", "docs/people.keeper-only.html", "sweeps/a/results.json"} {
		if goes(path) {
			t.Errorf("%s goes into the image", path)
		}
	}
}

// ignored reports whether a pattern of .dockerignore matches a path or a folder that it is in.
func ignored(t *testing.T, pattern, path string) bool {
	base, anywhere := strings.CutPrefix(pattern, "**/")
	for at := path; at != "."; at = filepath.Dir(at) {
		what := at
		if anywhere {
			what = filepath.Base(at)
		}
		matches, err := filepath.Match(base, what)
		if err != nil {
			t.Fatal(err)
		}
		if matches {
			return true
		}
	}
	return false
}
