package kernel

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ServeOptions says how JupyterLab is started.
type ServeOptions struct {
	Port    int       // 0: 8888, or the next free one
	Address string    // where it listens; "": 127.0.0.1. Others are for containers, whose network is their own
	Token   string    // what a browser must know; "": a fresh one
	Another bool      // start one also if this checkout has one running
	Check   bool      // start, ask for the kernel, run a cell, stop
	Out     io.Writer // the URL and what happens; nil: silent
}

// firstPort is Jupyter's usual one; the search for a free one tries 50 on.
const firstPort = 8888

// shortestToken is how many characters a token has at least. Fresh ones have 26.
const shortestToken = 12

// Serve runs JupyterLab on 127.0.0.1 with a fresh token, on the page of lessons,
// until ctx ends or the process is told to stop (Ctrl-C, SIGTERM, SIGHUP): then
// it returns nil. Where this checkout has one running already and neither Port
// nor Another is set, it tells that one's address and returns. With Check it
// returns at once, nil if all works.
func (e *Environment) Serve(ctx context.Context, o ServeOptions) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	out := o.Out
	if out == nil {
		out = io.Discard
	}
	if o.Token != "" && len(o.Token) < shortestToken {
		return fmt.Errorf("the token has %d characters, expected %d or more: whoever guesses it runs programs here; leave it out for a fresh one", len(o.Token), shortestToken)
	}
	if o.Port == 0 && !o.Another && !o.Check {
		running, err := e.Running(ctx)
		if err != nil {
			return err
		}
		if len(running) > 0 {
			fmt.Fprintf(out, "\n  JupyterLab of this checkout is running already: %s\n\n--another starts one more; Ctrl-C where it was started stops it (process %d).\n", running[0].URL, running[0].PID)
			return nil
		}
	}
	server, err := e.startOn(ctx, seat{address: o.Address, port: o.Port, token: o.Token, root: e.Root, notebooks: e.notebooks()})
	if err != nil {
		return err
	}
	if o.Check {
		err := e.check(ctx, server, out)
		return errors.Join(err, server.close(err == nil))
	}
	fmt.Fprintf(out, "\n  JupyterLab: %s\n\nKernel %q, notebooks in %s. Ctrl-C stops it.\n", server.url(), DisplayName, e.notebooks())
	select {
	case <-ctx.Done():
		fmt.Fprintln(out, "Stopping JupyterLab ...")
		return server.close(true)
	case <-server.ended:
		return fmt.Errorf("JupyterLab ended by itself (%v); the last lines of %s:\n%s", server.err, server.log, lastLines(server.log))
	}
}

// check asks a running server for our kernel and starts it there, then runs a
// cell.
func (e *Environment) check(ctx context.Context, s *server, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var specs struct {
		Default     string
		KernelSpecs map[string]struct{ Spec kernelSpec }
	}
	if err := s.ask(ctx, http.MethodGet, "/api/kernelspecs", "", &specs); err != nil {
		return err
	}
	spec, ok := specs.KernelSpecs[Name]
	if !ok || spec.Spec.DisplayName != DisplayName {
		return fmt.Errorf("JupyterLab does not list the kernel %q; delete %s and set up again", Name, e.stampFile())
	}
	fmt.Fprintf(out, "JupyterLab on port %d lists %q (default: %s)\n", s.port, spec.Spec.DisplayName, specs.Default)
	type running struct {
		ID    string
		State string `json:"execution_state"`
	}
	var k running
	if err := s.ask(ctx, http.MethodPost, "/api/kernels", `{"name": "`+Name+`"}`, &k); err != nil {
		return err
	}
	channel, err := s.connect(ctx, k.ID)
	if err != nil {
		return err
	}
	defer channel.Close()
	for k.State != "idle" {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the kernel started by JupyterLab stays %q: %w; see %s", k.State, context.Cause(ctx), s.log)
		case <-time.After(50 * time.Millisecond):
		}
		if err := s.ask(ctx, http.MethodGet, "/api/kernels/"+k.ID, "", &k); err != nil {
			return err
		}
	}
	if err := s.ask(ctx, http.MethodDelete, "/api/kernels/"+k.ID, "", nil); err != nil {
		return err
	}
	fmt.Fprintln(out, "The kernel starts and answers")
	start := time.Now()
	if err := e.hello(ctx); err != nil {
		return err
	}
	fmt.Fprintf(out, "A notebook with one cell runs in %.1f s\n", time.Since(start).Seconds())
	return nil
}

// seat is where a JupyterLab is to run and what it shows.
type seat struct {
	address         string   // "": 127.0.0.1
	port            int      // 0: a free one
	token           string   // "": a fresh one
	root, notebooks string   // what it serves, and the folder in it that it opens
	env, more       []string // added to the environment and to the arguments
}

// server is a running JupyterLab.
type server struct {
	host  string
	port  int
	token string
	page  string // opened at the start, "/lab" and what follows
	log   string
	stop  func() error
	ended chan struct{} // closed when it has ended, err is then set
	err   error
}

// startOn starts JupyterLab on the port asked for, or on a free one for 0. Such
// a port may be taken by another before JupyterLab has it; then the next is
// tried.
func (e *Environment) startOn(ctx context.Context, at seat) (*server, error) {
	asked := at.port
	if at.address == "" {
		at.address = loopback
	}
	if at.token == "" {
		at.token = rand.Text()
	}
	if err := e.jupyterFolders(); err != nil {
		return nil, err
	}
	for attempt := 0; ; attempt++ {
		port, err := choosePort(at.address, asked)
		if err != nil {
			return nil, err
		}
		at.port = port
		s, err := e.start(ctx, at)
		if err == nil || asked != 0 || attempt == 3 || !strings.Contains(err.Error(), "already in use") {
			return s, err
		}
	}
}

// loopback is this machine, for itself alone.
const loopback = "127.0.0.1"

// jupyterFolders makes the folders that Jupyter writes, and finds out before it
// does that it may.
func (e *Environment) jupyterFolders() error {
	for _, name := range []string{"", "config", "data", "runtime"} {
		folder := filepath.Join(e.Dir, "jupyter", name)
		err := os.MkdirAll(folder, 0o700)
		if err == nil {
			var probe *os.File
			if probe, err = os.CreateTemp(folder, ".writable"); err == nil {
				err = errors.Join(probe.Close(), os.Remove(probe.Name()))
			}
		}
		if err != nil {
			return fmt.Errorf("JupyterLab must write to its folder %s and cannot: %w; make it yours (sudo chown -R $USER %[1]s), or move it away", folder, err)
		}
	}
	return nil
}

// reachable is where a browser on this machine finds what listens on address.
func reachable(address string) string {
	if ip := net.ParseIP(address); ip != nil && ip.IsUnspecified() {
		return loopback
	}
	return address
}

// page is what JupyterLab opens: the page of lessons if there is one, else the
// folder of notebooks, as a path of a server whose files are those of root.
func page(root, notebooks string) string {
	folder, err := filepath.Rel(root, notebooks)
	if err != nil || folder == "." {
		return "/lab"
	}
	if _, err := os.Stat(filepath.Join(notebooks, Index)); err == nil {
		folder = filepath.Join(folder, Index)
	}
	return "/lab/tree/" + filepath.ToSlash(folder)
}

// start starts JupyterLab and waits until it answers.
func (e *Environment) start(ctx context.Context, at seat) (*server, error) {
	s := &server{
		host: reachable(at.address), port: at.port, token: at.token, page: page(at.root, at.notebooks),
		ended: make(chan struct{}), log: filepath.Join(e.Dir, "jupyter", fmt.Sprintf("lab-%d.log", os.Getpid())),
	}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := []string{"-m", "jupyterlab", "--no-browser", "--ServerApp.ip=" + at.address,
		"--ServerApp.port=" + strconv.Itoa(at.port), "--ServerApp.port_retries=0",
		"--ServerApp.root_dir=" + at.root, "--ServerApp.preferred_dir=" + at.notebooks, "--LabApp.default_url=" + s.page}
	args = append(args, at.more...)
	if os.Geteuid() == 0 {
		args = append(args, "--allow-root") // in a container there is nobody else
	}
	alive, kill := context.WithCancel(context.WithoutCancel(ctx))
	cmd := e.python(alive, args...)
	cmd.Dir = at.root
	cmd.Env = append(withEnv(cmd.Env, map[string]string{"JUPYTER_TOKEN": s.token}), at.env...) // other users do not see the token, as they would an argument
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		kill()
		return nil, fmt.Errorf("starting JupyterLab: %w", err)
	}
	go func() {
		s.err = cmd.Wait()
		close(s.ended)
	}()
	s.stop = func() error {
		kill()
		<-s.ended
		if _, exit := errors.AsType[*exec.ExitError](s.err); s.err != nil && !exit && !errors.Is(s.err, context.Canceled) {
			return s.err
		}
		return nil
	}
	if err := s.wait(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// close stops the server, and removes its log if all went well.
func (s *server) close(well bool) error {
	if err := s.stop(); err != nil || !well {
		return err
	}
	return os.Remove(s.log)
}

// wait waits until the server answers.
func (s *server) wait(ctx context.Context) error {
	deadline := time.After(time.Minute)
	for {
		err := s.ask(ctx, http.MethodGet, "/api/status", "", nil)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.ended:
			return fmt.Errorf("JupyterLab did not start (%v); the last lines of %s:\n%s", s.err, s.log, lastLines(s.log))
		case <-deadline:
			return fmt.Errorf("JupyterLab did not answer within a minute (%v); the last lines of %s:\n%s", err, s.log, lastLines(s.log))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// url is the address to open in a browser.
func (s *server) url() string { return s.address(s.page) + "?token=" + url.QueryEscape(s.token) }

// ask calls the server's REST interface and reads its JSON into answer.
func (s *server) ask(ctx context.Context, method, path, body string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, method, s.address(path), strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "token "+s.token)
	client := http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second} // no proxy on the way to this machine
	defer client.CloseIdleConnections()
	reply, err := client.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	data, err := io.ReadAll(io.LimitReader(reply.Body, 1<<24))
	if err != nil {
		return err
	}
	if reply.StatusCode >= 300 {
		return fmt.Errorf("%s %s: expected success, JupyterLab answers %s: %.200s", method, path, reply.Status, data)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(data, answer)
}

// connect opens the WebSocket of a kernel, as a browser does. That alone makes
// the server ask the kernel how it is, so no message is needed.
func (s *server) connect(ctx context.Context, kernel string) (io.Closer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address("/api/kernels/"+kernel+"/channels"), nil)
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{
		"Authorization": {"token " + s.token}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"},
		"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"bW9sZWhpbGwgbW9sZWhpbA=="}, // any 16 bytes
	}
	reply, err := (&http.Transport{}).RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if reply.StatusCode != http.StatusSwitchingProtocols {
		reply.Body.Close()
		return nil, fmt.Errorf("connecting to the kernel: expected 101, JupyterLab answers %s", reply.Status)
	}
	return reply.Body, nil
}

// address is a path of the server's REST interface as a URL.
func (s *server) address(path string) string {
	return "http://" + net.JoinHostPort(s.host, strconv.Itoa(s.port)) + path
}

// choosePort returns the port asked for if it is free, or a free one if none
// was asked for.
func choosePort(address string, asked int) (int, error) {
	if asked < 0 || asked > 65535 {
		return 0, fmt.Errorf("port %d: expected one from 1 to 65535", asked)
	}
	from := asked
	if asked == 0 {
		from = firstPort
	}
	for port := from; port < from+50 && port <= 65535; port++ {
		listener, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
		if err == nil {
			err = listener.Close()
		}
		switch {
		case err == nil && (asked == 0 || port == asked):
			return port, nil
		case err == nil:
			return 0, fmt.Errorf("port %d is in use; port %d is free", asked, port)
		case !errors.Is(err, syscall.EADDRINUSE) && (port == asked || port == from):
			return 0, fmt.Errorf("port %d of %s cannot be used: %w", port, address, err)
		}
	}
	return 0, fmt.Errorf("no free port from %d to %d; name one", from, from+49)
}
