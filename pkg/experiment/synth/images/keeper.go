package images

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"molehill/pkg/dataset/pictures"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/metric"
	"molehill/pkg/report"
	"molehill/pkg/run"
	"molehill/transport"
	"molehill/transport/sliced"
)

// Diagnosis is how synthetic images compare with the private ones. It looks at them,
// and nothing is charged: it is for their keeper.
type Diagnosis struct {
	Images    int     // private ones
	Test      int     // held-out ones, 0 without
	Distance  float64 // sliced W₂ of the points of the code, synthetic to one half of the private ones
	Floor     float64 // that of as many of the other half
	Classes   float64 // total variation of the classes
	On        string  // what the classifiers were measured on; "" for not at all
	Unlearned string  `json:",omitempty"` // why nothing was, where there are classes
	synth.Accuracies
	Copies *metric.Copies // of the synthetic points, beside held-out ones; nil without

	Disagreement []pictures.Disagreement // of the private images with their schema

	Report report.Document `json:"-"`
}

// Most images of the comparisons.
const (
	comparedImages = 5000 // of each side
	learnedImages  = 5000
	neighbourTries = 2000
	shownNearest   = 8
)

// Diagnose compares a finished run's images with the private ones, and with held-out
// ones in test, "" for none. It leaves keeper-only/report.md, .html and values.json
// among the run's artefacts.
func Diagnose(ctx context.Context, r *run.Run, test string) (*Diagnosis, error) {
	var c Config
	if err := json.Unmarshal(r.Spec.Config, &c); err != nil {
		return nil, fmt.Errorf("images: settings of %s: %w", r.ID, err)
	}
	if err := c.Recall(c.Inputs); err != nil {
		return nil, fmt.Errorf("images: %w", err)
	}
	with, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	source, err := pictures.Open(c.Data, with.schema)
	if err != nil {
		return nil, err
	}
	k := &keeper{ctx: ctx, known: with, private: source, rng: rand.New(rand.NewPCG(1, 0x6b656570))}
	err = k.prepare(r, test)
	var d *Diagnosis
	if err == nil {
		d, err = k.diagnose(r)
	}
	return d, errors.Join(err, k.close())
}

// keeper has what is compared.
type keeper struct {
	ctx context.Context
	known
	private pictures.Source
	held    pictures.Source // nil without
	rng     *rand.Rand

	real, test encoded
	made       *made
}

func (k *keeper) close() error {
	err := k.private.Close()
	if k.held != nil {
		err = errors.Join(err, k.held.Close())
	}
	return err
}

func (k *keeper) prepare(r *run.Run, test string) (err error) {
	quietly := func(int, int) {}
	if k.real, err = encode(k.ctx, k.private, k.schema, k.code, comparedImages, quietly); err != nil {
		return err
	}
	if test != "" {
		if k.held, err = pictures.Open(test, k.schema); err != nil {
			return err
		}
		if k.test, err = encode(k.ctx, k.held, k.schema, k.code, comparedImages, quietly); err != nil {
			return err
		}
	}
	k.made, err = k.remade(r)
	return err
}

// diagnose compares.
func (k *keeper) diagnose(r *run.Run) (d *Diagnosis, err error) {
	d = &Diagnosis{Images: k.private.Len(), Test: len(k.test.labels), Disagreement: k.real.faults}
	if err := k.distance(d); err != nil {
		return nil, err
	}
	if len(k.schema.Names()) > 1 {
		h, err := metric.CompareHistograms(k.made.labels, k.real.labels, len(k.schema.Names()))
		if err != nil {
			return nil, err
		}
		d.Classes = h.TotalVariation
		if err := k.learn(d); k.ctx.Err() != nil {
			return nil, k.ctx.Err()
		} else if err != nil { // all else can still be told
			d.On, d.Unlearned = "", err.Error()
		}
	}
	if k.held != nil {
		side := min(k.real.points.Len(), k.test.points.Len())
		if d.Copies, err = synth.Nearness(k.ctx, k.some(k.made.points, neighbourTries), k.some(k.real.points, side), k.some(k.test.points, side)); err != nil {
			return nil, err
		}
	}
	if d.Report, err = k.document(r, d); err != nil {
		return nil, err
	}
	return d, synth.LeaveForKeeper(r, d.Report, d)
}

// some draws up to n points.
func (k *keeper) some(x transport.Points, n int) transport.Points {
	return x.Subset(k.rows(x.Len(), n))
}

// rows draws up to n of so many, in their order.
func (k *keeper) rows(of, n int) []int {
	rows := k.rng.Perm(of)[:min(n, of)]
	slices.Sort(rows)
	return rows
}

// distance measures how far synthetic points are from one half of the private ones, and how
// far as many of the other half are: samples of the same sizes stray by as much.
func (k *keeper) distance(d *Diagnosis) error {
	u := sliced.Orthonormal(k.code.dim(), max(1, 240/k.code.dim()), k.rng)
	n := k.real.points.Len()
	if n < 2 {
		distance, err := sliced.SW2(k.some(k.made.points, comparedImages), k.real.points, u)
		d.Distance = distance.Value
		return err
	}
	rows := k.rng.Perm(n)
	half := k.real.points.Subset(rows[n/2:])
	made := k.some(k.made.points, min(n/2, comparedImages))
	distance, err := sliced.SW2(made, half, u)
	if err != nil {
		return err
	}
	floor, err := sliced.SW2(k.real.points.Subset(rows[:min(n/2, made.Len())]), half, u)
	d.Distance, d.Floor = distance.Value, floor.Value
	return err
}

// nearest returns the record that is nearest to a synthetic image, as points, among
// those that are compared.
func (k *keeper) nearest(i int) int {
	best, least := 0, float32(0)
	row := k.made.points.Row(i)
	for j := range k.real.points.Len() {
		var squares float32
		for c, v := range k.real.points.Row(j) {
			squares += (v - row[c]) * (v - row[c])
		}
		if j == 0 || squares < least {
			best, least = j, squares
		}
	}
	return k.real.rows[best]
}
