package privateflow

import (
	"context"
	"fmt"
	"math/rand/v2"

	"molehill/pkg/experiment"
	"molehill/pkg/metric"
	"molehill/pkg/run"
	"molehill/transport"
)

// Measures implements experiment.Measurer.
func (e Experiment) Measures() []string {
	names := []string{"fid", "copies", "pixels"}
	for _, m := range metric.Registry.All() {
		if _, ofImages := m.(metric.Frechet); !ofImages {
			names = append(names, m.Describe().Name)
		}
	}
	return names
}

// Measure implements experiment.Measurer: "fid" of decoded images (fid or
// fid-768, as the network is), "copies" of latents (metric.CheckCopies), "pixels", the
// sliced W₂ of decoded images, and the registered metrics between generated and
// held-out latents.
func (e Experiment) Measure(ctx context.Context, r *run.Run, config experiment.Config, name string, rows int, say func(run.Event)) (experiment.Measured, error) {
	c := config.(*Config)
	values, dim, err := r.Table("particles.npy")
	if err != nil {
		return experiment.Measured{}, err
	}
	x := transport.Points{Dim: dim, Data: values[:min(len(values), rows*dim)]}
	data, err := Load(ctx, c.Dataset, c.Weights, say)
	if err != nil {
		return experiment.Measured{}, err
	}
	if dim != data.Test.Dim {
		return experiment.Measured{}, fmt.Errorf("particles of dimension %d, and an autoencoder of %s with latents of %d; measure with the weights of the run", dim, c.Dataset, data.Test.Dim)
	}
	switch name {
	case "fid":
		return data.fid(ctx, r, x, say)
	case "pixels":
		return data.pixels(ctx, c.Dataset, x, r.Spec.Seed, say)
	case "copies":
		say(run.Event{Message: "nearest private and held-out rows"})
		return data.copies(x, r.Spec.Seed)
	}
	v, err := metric.Measure(name, x, data.Test, rand.New(rand.NewPCG(r.Spec.Seed, 0x6d6574)))
	found := run.Values{name: v.Value}
	if v.StandardError > 0 {
		found[name+" error"] = v.StandardError
	}
	note := fmt.Sprintf("latents beside %d held-out ones", data.Test.Len())
	if v.Note != "" {
		note += "; " + v.Note
	}
	return experiment.Measured{Values: found, Rows: x.Len(), Note: note}, err
}

// nearerPrivate is the share of points that are nearer to a private row than to any
// held-out one, ofPublic what a measure's name has behind it for the value of real public
// rows.
const (
	nearerPrivate = "nearer a private row"
	ofPublic      = " of public rows"
)

// copies tells whether x are copies of private latents. Held-out ones may be of another
// law, so public ones, which nothing was copied from, are asked too.
func (d *Data) copies(x transport.Points, seed uint64) (experiment.Measured, error) {
	found, err := metric.CheckCopies(x, d.Private, d.Test)
	if err != nil {
		return experiment.Measured{}, err
	}
	chosen := rand.New(rand.NewPCG(seed, 0x636f70)).Perm(d.Public.Len())[:min(x.Len(), d.Public.Len())]
	real, err := metric.CheckCopies(d.Public.Subset(chosen), d.Private, d.Test)
	values := found.Values()
	values[nearerPrivate+ofPublic] = real.NearerPrivate
	return experiment.Measured{
		Values: values,
		Rows:   x.Len(), NonPrivate: true,
		Note: fmt.Sprintf("latents beside %d private and %d held-out ones; copies would be nearer to private rows more often than public latents are", d.Private.Len(), d.Test.Len()),
	}, err
}
