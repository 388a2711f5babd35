package docker

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// inRoot runs in a mount and process namespace of its own. It lays an empty
// layer over the machine's files, hides this checkout and root's home, makes the
// base image's user with an empty home, and lets that user do what the
// Dockerfile does. Compiled packages and modules are the machine's, so that it
// takes a minute and not ten; what the user adds to them stays in the layer. The
// checkout's place holds a copy of it, since Go compiles what
// lies elsewhere anew.
const inRoot = `
set -euo pipefail
layer=$1 tree=$2 gocache=$3 modules=$4 checkout=$5
mount -t tmpfs -o mode=0755 tmpfs "$layer"
mkdir "$layer/upper" "$layer/work" "$layer/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$layer/upper,workdir=$layer/work" "$layer/root"
root=$layer/root
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mkdir -p "$root$HOME"
mount -t tmpfs -o mode=0755 tmpfs "$root$HOME"
mkdir -p "$root$(dirname "$checkout")"
mount -t tmpfs -o mode=0755 tmpfs "$root$(dirname "$checkout")"
mkdir -p "$root$checkout" "$root$modules" "$root/go-cache" "$layer/cache-upper" "$layer/cache-work"
mount --bind "$modules" "$root$modules"
mount -o remount,bind,ro "$root$modules"
# Where it is compiled packages are known by, so it stays there; every user may pass.
for ((at = 1; at < ${#modules}; at++)); do [[ ${modules:at:1} != / ]] || chmod a+x "$root${modules:0:at}"; done
mount -t overlay overlay -o "lowerdir=$gocache,upperdir=$layer/cache-upper,workdir=$layer/cache-work" "$root/go-cache"
find "$root/go-cache" -maxdepth 1 -type d -exec chmod 0777 {} +
home=/home/jovyan
rm -rf "$root$home"
mkdir -p "$root$home"
cp -r "$tree/." "$root$checkout"
chown -R 1000:100 "$root$home" "$root$checkout"
image=(env -i "HOME=$home" "PATH=$(dirname "$(command -v go)"):/usr/local/bin:/usr/bin:/bin" GOTOOLCHAIN=local
	GOCACHE=/go-cache "GOMODCACHE=$modules" GOPROXY=off NB_UID=1000 NB_GID=100 LANG=C.UTF-8
	"MOLEHILL_DATA=$home/data" "MOLEHILL_RUNS=$home/runs" "MOLEHILL_LEDGER=$home/ledger/ledger.db" MOLEHILL_WARM=0 PIP_NO_COMPILE=1 "MOLEHILL_PORT=$6"
	MOLEHILL_ADDRESS=127.0.0.1 "${@:7}")
root() { chroot "$root" "${image[@]}" "$@"; }
user() { chroot --userspec=1000:100 --groups=100 "$root" "${image[@]}" sh -c 'cd "$0" && exec "$@"' "$checkout" "$@"; }

root "$checkout/docker/setup.sh" system
if root "$checkout/docker/setup.sh" user 2> /dev/null; then echo "setup.sh user runs as root" >&2; exit 1; fi
user docker/setup.sh user
echo "SETUP $SECONDS"
health=(.molehill/bin/molehill lab --running)
if user "${health[@]}" 2> /dev/null; then echo "healthy before the start" >&2; exit 1; fi
began=$EPOCHREALTIME
user sh -c 'echo $$ > pid && exec docker/setup.sh start' > "$layer/lab.log" 2>&1 &
for _ in {1..300}; do user "${health[@]}" > "$layer/health" 2> /dev/null && break; sleep 0.2; done
cat "$layer/lab.log" "$layer/health"
user .molehill/bin/molehill notebooks first.ipynb
echo "FIRST PICTURE $(awk "BEGIN {print $EPOCHREALTIME - $began}")"
user grep -q image/png first.ipynb
user sh -c 'touch "$MOLEHILL_DATA/x" "$MOLEHILL_RUNS/x" "$(dirname "$MOLEHILL_LEDGER")/x"'
user sh -c 'kill "$(cat pid)"' # as an engine does
wait
if user "${health[@]}" 2> /dev/null; then echo "healthy after the end" >&2; exit 1; fi
find "$root/home/jovyan" -maxdepth 1 -printf 'HOME %f\n'
`

// TestSetupInARootOfItsOwn is the images' build and start on this machine's
// files, as far as that goes without a container engine.
func TestSetupInARootOfItsOwn(t *testing.T) {
	if os.Getenv("MOLEHILL_THOROUGH") == "" {
		t.Skip("set MOLEHILL_THOROUGH=1: installs JupyterLab in a root of its own, a minute and the network")
	}
	if os.Geteuid() != 0 || exec.Command("unshare", "--mount", "--pid", "--fork", "true").Run() != nil {
		t.Skip("needs root and mount namespaces (unshare, of util-linux)")
	}
	checkout, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	output(t, checkout, "sh", "-c", `git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for f; do [ -e "$f" ] && printf "%s\0" "$f"; done' sh | tar --null -T - -c | tar -x -C '`+tree+`'`)
	firstPicture(t, tree)
	var names []string
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		names = append(names, output(t, checkout, "go", "env", name))
	}
	args := []string{"--mount", "--pid", "--fork", "--kill-child", "bash", "-c", inRoot, "bash", t.TempDir(), tree, names[0], names[1], checkout, "8871"}
	for _, name := range []string{"PIP_INDEX_URL", "PIP_CERT", "HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"} {
		if value, set := os.LookupEnv(name); set {
			args = append(args, name+"="+value)
		}
	}
	cmd := exec.CommandContext(t.Context(), "unshare", args...)
	cmd.WaitDelay = 10 * time.Second
	start := time.Now()
	out, err := cmd.CombinedOutput()
	t.Logf("%.0f s\n%s", time.Since(start).Seconds(), out)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^http://127\.0\.0\.1:\d+/lab/tree/notebooks/index\.ipynb\?token=\w+$`).Match(out) {
		t.Error("the health check does not print the address of the page of lessons")
	}
	found := regexp.MustCompile(`(?m)^FIRST PICTURE (\d+)`).FindSubmatch(out)
	if found == nil {
		t.Fatal("no time from the start to the first picture")
	}
	if seconds, err := strconv.Atoi(string(found[1])); err != nil || seconds >= 60 {
		t.Errorf("from the start to the first picture: %s s, expected less than a minute (%v)", found[1], err)
	}
	// Go, pip and JupyterLab's search for Node keep their caches there.
	for _, line := range regexp.MustCompile(`(?m)^HOME (.+)$`).FindAllStringSubmatch(string(out), -1) {
		if !strings.Contains(" jovyan data runs ledger .cache .config .npm ", " "+line[1]+" ") {
			t.Errorf("%s was written to the home folder", line[1])
		}
	}
}

// firstPicture writes the cells of the first lesson up to its first picture, which
// is all that it then promises.
func firstPicture(t *testing.T, tree string) {
	t.Helper()
	const cut = `
import json, sys
nb = json.load(open(sys.argv[1]))
first = next(i for i, c in enumerate(nb["cells"]) if any("image/png" in o.get("data", {}) for o in c.get("outputs", [])))
nb["cells"] = nb["cells"][:first + 1]
nb["metadata"]["molehill"] = {"expect": {"images": 1}}
for c in nb["cells"]:
    if c["cell_type"] == "code":
        c["outputs"] = []
json.dump(nb, open(sys.argv[2], "w"))`
	output(t, tree, "python3", "-c", cut, "notebooks/00_start.ipynb", "first.ipynb")
}

func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, &stderr)
	}
	return strings.TrimSpace(string(out))
}
