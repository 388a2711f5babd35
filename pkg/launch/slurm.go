package launch

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"molehill/pkg/run"
)

// slurm is the name of the scheduler in a run's Job.
const slurm = "slurm"

// ErrNoSlurm says that this machine cannot talk to a cluster.
var ErrNoSlurm = errors.New("found no sbatch, squeue, scancel and scontrol on the PATH: log in to a machine of the cluster, or install its client (Debian: slurm-client)")

// Slurm starts runs as jobs of a Slurm cluster. The runs' folder has to lie on a
// file system that this machine and the nodes share, under the same path, and on
// which flock reaches from node to node: it is what keeps two processes from
// computing one run. Everything else is as with [Local]; the nodes need Molehill's
// program and nothing of its sources.
//
// Binary is the molehill command; if it is empty [FindBinary] finds one. It is
// copied into the runs' folder, so that jobs that wait compute with the program
// that they were submitted with. Options are sbatch's, "--partition=gpu";
// the job's name is ours, by which it is known again.
type Slurm struct {
	Binary  string
	Options []string
}

// Start implements Place: an array job of one.
func (s Slurm) Start(ctx context.Context, store run.Store, spec run.Spec) (r *run.Run, started bool, err error) {
	if err := available(); err != nil { // before there is a run that nobody can compute
		return nil, false, err
	}
	if r, err = store.Create(spec); err != nil {
		return nil, false, err
	}
	started, err = s.Resume(ctx, r)
	return r, started, err
}

// available returns ErrNoSlurm where a command of Slurm's is missing.
func available() error {
	for _, tool := range []string{"sbatch", "squeue", "scancel", "scontrol"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("launch: %w", ErrNoSlurm)
		}
	}
	return nil
}

// Resume implements Place.
func (s Slurm) Resume(ctx context.Context, r *run.Run) (started bool, err error) {
	submitted, err := s.Submit(ctx, r.Spec.Experiment, []*run.Run{r}, 0)
	return submitted > 0, err
}

// Submit gives all runs that need to be computed to the cluster as one array job
// with a task for each, and returns their number. Runs that are finished, are
// being computed, or wait in the queue already are left alone, so that asking
// twice changes nothing. At most atATime tasks run at once; 0 is as many as the
// cluster gives. All runs lie in one store.
func (s Slurm) Submit(ctx context.Context, name string, runs []*run.Run, atATime int) (submitted int, err error) {
	if len(runs) == 0 {
		return 0, nil
	}
	if err := available(); err != nil {
		return 0, err
	}
	folder := filepath.Join(runs[0].Store().Dir, ".slurm")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return 0, fmt.Errorf("launch: %w", err)
	}
	// Between looking which runs are in the queue and being there, others wait.
	lock := flock.New(filepath.Join(folder, "submit.lock"), flock.SetPermissions(0o644))
	if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return 0, fmt.Errorf("launch: waiting for another submission: %w", err)
	}
	defer lock.Close()
	waiting, err := idle(ctx, runs)
	if err != nil || len(waiting) == 0 {
		return 0, err
	}
	binary := s.Binary
	if binary == "" {
		if binary, err = FindBinary(ctx); err != nil {
			return 0, err
		}
	}
	if binary, err = keep(binary, folder); err != nil {
		return 0, err
	}
	most, err := largestArray(ctx)
	if err != nil {
		return 0, err
	}
	tasks := deal(waiting, most)
	array := fmt.Sprintf("0-%d", len(tasks)-1)
	if atATime > 0 {
		array += fmt.Sprintf("%%%d", atATime)
	}
	lives := map[string]int{} // counted before the first of them can begin
	for _, r := range waiting {
		computed, err := r.Provenance()
		if err != nil {
			return 0, err
		}
		lives[r.ID] = len(computed)
	}
	log := filepath.Join(folder, "%A_%a.log")
	own := "molehill-" + name + "-" + rand.Text()[:8]
	arguments := []string{"--parsable", "--array=" + array, "--output=" + log, "--open-mode=append", "--signal=B:TERM@30"}
	answer, err := ask(ctx, script(binary, tasks), "sbatch", slices.Concat(arguments, s.Options, []string{"--job-name=" + own})...)
	if err != nil {
		return 0, err
	}
	id, _, _ := strings.Cut(strings.TrimSpace(answer), ";") // a cluster's name may follow
	for i, task := range tasks {
		for _, r := range task {
			job := run.Job{Scheduler: slurm, ID: fmt.Sprintf("%s_%d", id, i), Name: own, Submitted: time.Now(), Lives: lives[r.ID],
				Log: filepath.Join(folder, fmt.Sprintf("%s_%d.log", id, i))}
			if err := r.Submitted(job); err != nil {
				return submitted, errors.Join(err, cancelJobs(context.WithoutCancel(ctx), id))
			}
			submitted++
		}
	}
	return submitted, nil
}

// idle returns the runs that nobody computes and that wait in no queue.
func idle(ctx context.Context, runs []*run.Run) (waiting []*run.Run, err error) {
	jobs, states, err := jobsOf(ctx, runs)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		switch state, err := r.State(); {
		case err != nil:
			return nil, err
		case state == run.Finished:
			if err := r.Settle(); err != nil {
				return nil, err
			}
		case state != run.Running && !states[keyOf(jobs[r.ID])].alive():
			waiting = append(waiting, r)
		}
	}
	return waiting, nil
}

// deal spreads runs over at most n tasks.
func deal(runs []*run.Run, n int) [][]*run.Run {
	tasks := make([][]*run.Run, min(n, len(runs)))
	for i, r := range runs {
		tasks[i%len(tasks)] = append(tasks[i%len(tasks)], r)
	}
	return tasks
}

// script is the batch script: each task becomes the process that computes, so
// that Slurm's signals reach it and its exit is the task's.
func script(binary string, tasks [][]*run.Run) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n# A process of molehill computes the runs of each task. What it prints goes to their logs.\ncase \"$SLURM_ARRAY_TASK_ID\" in\n")
	for i, task := range tasks {
		fmt.Fprintf(&b, "%d) ", i)
		if len(task) == 1 { // its log is its owner's
			fmt.Fprintf(&b, "(umask 077; : >>%s); ", quote(task[0].LogPath()))
		}
		fmt.Fprintf(&b, "exec %s compute --in-job", quote(binary))
		for _, r := range task {
			b.WriteString(" " + quote(r.Dir))
		}
		if len(task) == 1 {
			fmt.Fprintf(&b, " >>%s 2>&1", quote(task[0].LogPath()))
		}
		b.WriteString(" ;;\n")
	}
	b.WriteString("esac\n")
	return b.String()
}

// quote makes a word for the shell of any text.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// keep copies the program into folder under the hash of its content.
func keep(binary, folder string) (string, error) {
	source, err := os.Open(binary)
	if err != nil {
		return "", fmt.Errorf("launch: %w", err)
	}
	defer source.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, source); err != nil {
		return "", fmt.Errorf("launch: %w", err)
	}
	path := filepath.Join(folder, command+"-"+hex.EncodeToString(sum.Sum(nil)[:8]))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	temporary := fmt.Sprintf("%s.%d", path, os.Getpid()) // the submission's lock is held
	defer os.Remove(temporary)
	os.Remove(temporary)
	err = copyExecutable(temporary, binary)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return "", fmt.Errorf("launch: copying %s for the cluster: %w", binary, err)
	}
	return path, nil
}

// ask runs a command of Slurm's.
func ask(ctx context.Context, input, name string, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Stdin = strings.NewReader(input)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	answer, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("launch: %w", ErrNoSlurm)
	}
	if err != nil {
		return "", &askError{name, strings.TrimSpace(complaint.String()), err}
	}
	return string(answer), nil
}

// askError is what a command of Slurm's complained about.
type askError struct {
	command, complaint string
	err                error
}

func (e *askError) Error() string {
	if e.complaint == "" {
		return fmt.Sprintf("launch: %s: %v", e.command, e.err)
	}
	return fmt.Sprintf("launch: %s: %s", e.command, e.complaint)
}

func (e *askError) Unwrap() error { return e.err }
