package synth

import (
	"cmp"
	"context"

	"molehill/pkg/experiment"
	"molehill/pkg/report"
	"molehill/pkg/run"
)

// Kind is what differs between tables and images in a run, whose schema has been read.
type Kind[Private Records, Made any] interface {
	// Name is what the schema calls the data.
	Name() string
	// Read reads the private records.
	Read(ctx context.Context, r *run.Run) (Private, error)
	// Method is the one that the settings choose. What it draws of the seed is public.
	Method(seed uint64) (Method[Private, Made], error)
	// Promise says of which records the noise is, and what is not covered.
	Promise(private Private) experiment.Promise
	// Leave leaves what was made among the run's artefacts, with SchemaFile.
	Leave(ctx context.Context, r *run.Run, made Made) error
	// Tell tells of what was made of n records, and completes what the method has told.
	Tell(ctx context.Context, r *run.Run, n int, made Made, released report.Section) (Told, error)
}

// Records are private ones.
type Records interface{ Len() int }

// Run makes a release of so many synthetic records, 0 for as many as there are private
// ones: it reads these, promises and pays, learns of them by the method's releases, and
// makes and tells the rest of what was learned. It leaves release.npy (what was released at
// once), report.md and report.html, which tell nothing that was not paid for, and what
// method and kind leave.
func Run[Private Records, Made any](ctx context.Context, r *run.Run, t *Terms, kind Kind[Private, Made], count int) (result run.Result, err error) {
	private, err := kind.Read(ctx, r)
	if err == nil {
		err = r.ComputedOn("", Own+kind.Name())
	}
	if err != nil { // which others can read
		return result, t.Unnamed(err)
	}
	method, err := kind.Method(r.Spec.Seed)
	if err != nil {
		return result, err
	}
	defer method.Close()
	n := private.Len()
	paid, releases, err := promise(ctx, r, kind, method, private)
	if err != nil {
		return result, err
	}
	if err := method.Learn(ctx, r, private, paid.Releaser, releases); err != nil {
		return result, err
	}
	// From here on nothing looks at a record.
	private = *new(Private)
	made, err := method.Make(ctx, r, n, cmp.Or(count, n))
	if err != nil {
		return result, err
	}
	if err := kind.Leave(ctx, r, made); err != nil {
		return result, err
	}
	released, values, err := method.Tell(paid.Statement, made)
	if err != nil {
		return result, err
	}
	told, err := kind.Tell(ctx, r, n, made, released)
	if err != nil {
		return result, err
	}
	if err := publish(r, kind.Name(), t.Method, paid.Statement, told); err != nil {
		return result, err
	}
	return run.Result{Metrics: values, Note: told.Note}, paid.Commit(ctx)
}

// promise plans, binds and pays, before the first release.
func promise[Private Records, Made any](ctx context.Context, r *run.Run, kind Kind[Private, Made], method Method[Private, Made], private Private) (paid experiment.Paid, releases int, err error) {
	plan, err := method.Plan(private.Len())
	if err != nil {
		return paid, 0, err
	}
	name, err := Enter(kind.Name())
	if err != nil {
		return paid, 0, err
	}
	p := kind.Promise(private)
	p.Data, p.Plan = name, plan
	if paid, err = p.Make(ctx, r); err == nil && plan.Steps == 1 {
		paid.Keep(r)
	}
	return paid, plan.Steps, err
}
