package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"molehill/pkg/run"
)

// jobState is what squeue says of a job. The zero jobState is of a job that the
// cluster does not know, or not any more.
type jobState struct {
	State  string // "PENDING", "RUNNING", "CANCELLED", …
	Reason string // why it waits
	Node   string
}

// alive reports whether the job computes, or will without anybody's doing.
func (s jobState) alive() bool {
	switch s.State {
	case "PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED", "RESV_DEL_HOLD", "SPECIAL_EXIT":
		return true
	}
	return false
}

func (s jobState) describe(id string) string {
	if s.State == "PENDING" {
		return fmt.Sprintf("queued as Slurm job %s (%s)", id, s.Reason)
	}
	return fmt.Sprintf("Slurm job %s is %s on %s", id, strings.ToLower(s.State), s.Node)
}

// jobKey tells jobs from others. What has a job's ID, "array_task", and another name is
// somebody else's: another cluster's, or of before its numbers began anew.
type jobKey struct{ id, name string }

func keyOf(job run.Job) jobKey { return jobKey{job.ID, job.Name} }

// queue asks for the states of jobs.
func queue(ctx context.Context, jobs ...run.Job) (map[jobKey]jobState, error) {
	var arrays []string
	names := map[string][]string{}
	for _, job := range jobs {
		names[job.ID] = append(names[job.ID], job.Name)
		if array, _, _ := strings.Cut(job.ID, "_"); !slices.Contains(arrays, array) {
			arrays = append(arrays, array)
		}
	}
	states := map[jobKey]jobState{}
	for _, array := range arrays {
		if _, err := strconv.ParseUint(array, 10, 64); err != nil {
			return nil, fmt.Errorf("launch: %q is no job of Slurm's", array)
		}
		answer, err := ask(ctx, "", "squeue", "--noheader", "--array", "--states=all", "--jobs="+array, "--format=%F_%K|%T|%r|%N|%j")
		if refused, ok := errors.AsType[*askError](err); ok && strings.Contains(refused.complaint, "Invalid job id") {
			continue // forgotten, some minutes after its end
		}
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(answer) {
			fields := strings.SplitN(strings.TrimSpace(line), "|", 5)
			if len(fields) != 5 {
				continue
			}
			for _, name := range names[fields[0]] {
				if name == "" || name == fields[4] { // earlier versions kept none
					states[jobKey{fields[0], name}] = jobState{fields[1], fields[2], fields[3]}
				}
			}
		}
	}
	return states, nil
}

// jobsOf returns the jobs that runs were last given to, by the runs' IDs, and what the
// cluster says of them, by the jobs': nothing of those that it has forgotten, and where
// there is no cluster. A folder copied from one, or looked at from outside of it, has to
// tell all by itself.
func jobsOf(ctx context.Context, runs []*run.Run) (jobs map[string]run.Job, states map[jobKey]jobState, err error) {
	jobs = map[string]run.Job{}
	var given []run.Job
	for _, r := range runs {
		job, found, err := r.Job()
		if err != nil {
			return nil, nil, err
		}
		if !found {
			continue
		}
		if job.Scheduler != slurm {
			return nil, nil, fmt.Errorf("launch: %s was given to %q, this molehill knows %s", r.ID, job.Scheduler, slurm)
		}
		jobs[r.ID] = job
		given = append(given, job)
	}
	if states, err = queue(ctx, given...); errors.Is(err, ErrNoSlurm) {
		err = nil
	}
	return jobs, states, err
}

// cancelJobs interrupts jobs, or takes them from the queue.
func cancelJobs(ctx context.Context, ids ...string) error {
	_, err := ask(ctx, "", "scancel", ids...)
	return err
}

// largestArray is how many tasks an array job of the cluster may have.
func largestArray(ctx context.Context) (int, error) {
	answer, err := ask(ctx, "", "scontrol", "show", "config")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(answer) {
		name, value, _ := strings.Cut(line, "=")
		if strings.TrimSpace(name) == "MaxArraySize" {
			most, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil || most < 2 {
				return 0, fmt.Errorf("launch: the cluster takes no array jobs (MaxArraySize = %s)", strings.TrimSpace(value))
			}
			return most - 1, nil // the highest number of a task, and their number
		}
	}
	return 1000, nil // Slurm's own default
}

// QueueInterval is how often a cluster is asked about jobs: its daemon serves
// everybody.
const QueueInterval = 2 * time.Second

// silence is for how long a cluster may leave questions unanswered before nobody waits
// any more: its daemon may be restarted, or have too much to do. A variable for tests.
var silence, again = 5 * time.Minute, QueueInterval

// Patiently asks a cluster again while it does not answer, for some minutes: what was given
// to it is computed all the same. say is told once that it does not.
func Patiently(ctx context.Context, say func(string), ask func() error) error {
	told := false
	for first := time.Now(); ; {
		err := ask()
		silent, ok := errors.AsType[*askError](err)
		if !ok || strings.Contains(silent.complaint, "denied") || time.Since(first) > silence {
			return err
		}
		if !told {
			say(fmt.Sprintf("the cluster does not answer (%v); it is asked again until %s", err, first.Add(silence).Format(time.TimeOnly)))
			told = true
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Await returns when a run that was given to a cluster is computed there or
// needs to be no more, at once for all other runs; say is told where it stands
// when that changes. An error says that its job ended and computed nothing.
func Await(ctx context.Context, r *run.Run, say func(string)) error {
	job, found, err := r.Job()
	if !found || err != nil {
		return err
	}
	told := ""
	var asked time.Time
	gone := 0
	for {
		switch begun, err := begun(r, job); {
		case err != nil || begun:
			return err
		case gone > 1: // it was gone before we looked whether it had begun
			return lost(r, job)
		}
		if time.Since(asked) > QueueInterval || gone > 0 {
			var states map[jobKey]jobState
			err := Patiently(ctx, say, func() (err error) {
				states, err = queue(ctx, job)
				return err
			})
			if err != nil {
				return err
			}
			state := states[keyOf(job)]
			if asked = time.Now(); state.alive() {
				gone = 0
				if text := state.describe(job.ID); text != told {
					told = text
					say(text)
				}
			} else {
				gone++
			}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// begun reports whether a process has computed the run since its job was
// submitted, or does.
func begun(r *run.Run, job run.Job) (bool, error) {
	state, err := r.State()
	if err != nil || state == run.Running || state == run.Finished {
		return true, err
	}
	lives, err := r.Provenance()
	return len(lives) > job.Lives, err
}

// lost says why a job has computed nothing.
func lost(r *run.Run, job run.Job) error {
	said := logTail(job.Log, 0)
	if own := logTail(r.LogPath(), 0); own != "" && !strings.Contains(own, "no such file") {
		said = strings.TrimSpace(said + "\n" + own)
	}
	if _, err := os.Stat(job.Log); err != nil {
		said = fmt.Sprintf("Slurm has left no %s: it was cancelled before it began, or %s is not on a file system that the nodes share", filepath.Base(job.Log), filepath.Dir(r.Dir))
	}
	return fmt.Errorf("launch: Slurm job %s ended and computed nothing of %s; start it again to submit it anew\n%s", job.ID, r.ID, said)
}
