package run

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// jobFile says which job of a cluster's scheduler is to compute the run, or was.
const jobFile = "job.json"

// Job is a job of a scheduler that was given the run to compute.
type Job struct {
	Scheduler string    `json:"scheduler"` // "slurm"
	ID        string    `json:"id"`        // as the scheduler calls it, "17_3"
	Name      string    `json:"name"`      // that nothing else was given: the ID may be another cluster's, or a reset one's
	Log       string    `json:"log"`       // file of what the scheduler itself says about it
	Submitted time.Time `json:"submitted"`
	// Lives is the number of processes that had computed the run before it was
	// submitted: one more says that the job has begun, whatever the clocks of two
	// machines say.
	Lives int `json:"lives"`
}

// Submitted keeps that a job was given the run.
func (r *Run) Submitted(job Job) error {
	return writeAtomic(r.path(jobFile), 0o644, asJSON(job))
}

// Job returns the job that was last given the run; found is false if none was.
func (r *Run) Job() (job Job, found bool, err error) {
	err = readJSON(r.path(jobFile), &job)
	if errors.Is(err, fs.ErrNotExist) {
		return Job{}, false, nil
	}
	if err != nil {
		return Job{}, false, fmt.Errorf("run: the job of %s: %w", r.ID, err)
	}
	return job, true, nil
}
