package kernel

import (
	"context"
	"crypto/sha256"
	_ "embed" // requirements
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed requirements.txt
var requirements []byte

//go:embed requirements-xla.txt
var requirementsXLA []byte

// pip's own file, for a Python that came without it (Debian and Ubuntu put
// ensurepip into a package of its own, python3-venv).
const (
	pipWheel  = "https://files.pythonhosted.org/packages/07/25/ee8c38ae72d66b844ce8eb9711ba905dba21ca1a8a0c960057c41cd23337/pip-26.3-py3-none-any.whl"
	pipSHA256 = "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"
)

// withoutXLA says why this set-up goes without the XLA plugin, if it does.
func (s *setup) withoutXLA() (reason string) {
	tools, err := s.toolchain()
	switch {
	case s.noXLA:
		return "left out as asked"
	case !xlaPlatform():
		return "no plugin is published for this platform"
	case err != nil || !tools.cgo():
		return "no C compiler found; `sudo apt install gcc`, then set up again"
	}
	return ""
}

// installPython makes the virtual environment from nothing.
func (s *setup) installPython(ctx context.Context) error {
	python, version, err := findPython(ctx)
	if err != nil {
		return err
	}
	s.say("Making a Python environment for JupyterLab with %s (Python %s) ...", python, version)
	if err := s.makeVenv(ctx, python); err != nil {
		return err
	}
	if err := s.pip(ctx, "Installing JupyterLab, about 60 MB", requirements); err != nil {
		return fmt.Errorf("%w\nIf the network or its proxy is at fault, set it right and run this again (pip obeys HTTPS_PROXY and PIP_INDEX_URL)", err)
	}
	return nil
}

// installXLA adds the plugin that graphs run on, once: where it could not be
// installed, it is not tried again unless MOLEHILL_XLA=1 asks for it. Going
// without is no error.
func (s *setup) installXLA(ctx context.Context) error {
	reason, wanted := s.withoutXLA(), digest(requirementsXLA)
	missing := s.findPlugin() == ""
	switch {
	case reason != "":
	case s.stamp.XLA == wanted && !(missing && os.Getenv("MOLEHILL_XLA") == "1"):
		reason = s.stamp.Reason // as it was
	case s.offline:
		reason = "it is not installed, and no network may be used"
	default:
		err := s.pip(ctx, "Installing XLA's plugin for the CPU, about 60 MB", requirementsXLA)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if s.stamp.XLA = wanted; err != nil {
			reason = "pip could not install it, see " + filepath.Join(s.Dir, "setup.log") + "; MOLEHILL_XLA=1 tries again"
		}
	}
	if s.Plugin = s.findPlugin(); s.Plugin == "" {
		s.Reason = reason
	}
	if s.Reason != "" && s.Reason != s.stamp.Reason {
		s.say("Graphs run on the Go backend, without XLA: %s.", s.Reason)
	}
	s.stamp.Reason = s.Reason
	return nil
}

// findPython returns the first Python that is new enough: MOLEHILL_PYTHON if it
// is set, else python3 and its numbered kin.
func findPython(ctx context.Context) (program, version string, err error) {
	names := []string{"python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"}
	if chosen := os.Getenv("MOLEHILL_PYTHON"); chosen != "" {
		names = []string{chosen}
	}
	var seen []string
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		const ask = "import sys, venv; print('%d.%d.%d' % sys.version_info[:3]); sys.exit(sys.version_info < (3, 10))"
		out, err := exec.CommandContext(ctx, path, "-I", "-c", ask).CombinedOutput()
		answer := strings.TrimSpace(string(out))
		if err == nil {
			return path, answer, nil
		}
		lines := strings.Split(answer, "\n")
		seen = append(seen, fmt.Sprintf("%s is %s", path, lines[len(lines)-1]))
	}
	found := "none was found"
	if len(seen) > 0 {
		found = strings.Join(seen, "; ")
	}
	return "", "", fmt.Errorf("JupyterLab needs Python 3.10 or newer with its venv module, but %s.\nOn Debian and Ubuntu: sudo apt install python3 python3-venv\nElse set MOLEHILL_PYTHON to the path of one", found)
}

// makeVenv makes the environment with pip in it. Where Python lacks ensurepip,
// pip's own file is fetched, and installs itself.
func (s *setup) makeVenv(ctx context.Context, python string) error {
	env := s.jupyterEnv()
	if exec.CommandContext(ctx, python, "-I", "-c", "import ensurepip").Run() == nil {
		err := s.command(ctx, "Making the Python environment", env, nil, python, "-I", "-m", "venv", s.Venv)
		if err == nil || ctx.Err() != nil {
			return err
		}
		s.say("Python could not put pip into it; trying without.")
		if err := os.RemoveAll(s.Venv); err != nil {
			return err
		}
	}
	const advice = "%w\nOn Debian and Ubuntu: sudo apt install python3-venv, then run this again"
	if err := s.command(ctx, "Making the Python environment", env, nil, python, "-I", "-m", "venv", "--without-pip", s.Venv); err != nil {
		return fmt.Errorf(advice, err)
	}
	s.say("This Python has no ensurepip (package python3-venv); fetching pip ...")
	wheel := filepath.Join(s.Venv, filepath.Base(pipWheel))
	if err := fetch(ctx, pipWheel, pipSHA256, wheel); err != nil {
		return fmt.Errorf(advice, err)
	}
	// A wheel is a zip file, which Python can run a package from.
	if err := s.command(ctx, "Installing pip", env, nil, s.Python, "-I", wheel+"/pip", "install", "--no-index", "--no-deps", wheel); err != nil {
		return fmt.Errorf(advice, err)
	}
	return os.Remove(wheel)
}

// pip installs a list of requirements, each file checked against its hash.
// Nothing is compiled: what has no wheel for this machine is an error. More
// arguments go to pip.
func (s *setup) pip(ctx context.Context, what string, list []byte, more ...string) error {
	file := filepath.Join(s.Venv, "requirements.txt")
	if err := writeFile(file, list); err != nil {
		return err
	}
	heading := what
	if packages := strings.Count(string(list), "=="); packages > 1 {
		heading += fmt.Sprintf(", up to %d packages", packages)
	}
	s.say("%s ...", heading)
	collected := 0
	watch := func(line string) {
		if strings.HasPrefix(line, "Collecting ") {
			if collected++; collected%30 == 0 {
				s.say("  %d collected", collected)
			}
		}
	}
	// The user's settings for pip hold (index, proxy, certificates), but not
	// those that would install elsewhere.
	env := withEnv(s.jupyterEnv(), map[string]string{"PIP_USER": "0", "PIP_TARGET": "", "PIP_PREFIX": "", "PIP_ROOT_USER_ACTION": "ignore"})
	args := []string{"-I", "-m", "pip", "install", "--require-hashes", "--no-deps", "--only-binary=:all:",
		"--disable-pip-version-check", "--no-input", "--progress-bar=off", "--requirement", file}
	return s.command(ctx, what, env, watch, s.Python, append(args, more...)...)
}

// healthy says whether the environment's Python runs and finds its packages;
// both end when the machine's Python is upgraded.
func (e *Environment) healthy(ctx context.Context) bool {
	const ask = "import sys, importlib.util as u; sys.exit(not all(map(u.find_spec, ['jupyterlab', 'nbclient', 'nbconvert'])))"
	return exec.CommandContext(ctx, e.Python, "-I", "-c", ask).Run() == nil
}

// fetch downloads url into path if its SHA-256 is the one expected.
func fetch(ctx context.Context, url, sum, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("fetching %s: expected 200, got %s", url, answer.Status)
	}
	const most = 16 << 20
	data, err := io.ReadAll(io.LimitReader(answer.Body, most))
	if err != nil {
		return fmt.Errorf("fetching %s: %w", url, err)
	}
	digest := sha256.Sum256(data)
	if got := hex.EncodeToString(digest[:]); got != sum {
		return errors.New("fetching " + url + ": expected SHA-256 " + sum + ", got " + got)
	}
	return writeFile(path, data)
}
