package latent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"molehill/pkg/experiment"
	"molehill/pkg/metric"
	"molehill/transport"
)

// NearerPrivate is the share of points that are nearer to a private row than to any
// held-out one, OfPublic what a measure's name has behind it for the value of real public
// rows.
const (
	NearerPrivate = "nearer a private row"
	OfPublic      = " of public rows"
)

// Copies tells whether x are copies of private latents. Held-out ones may be of another
// law, so public ones, which nothing was copied from, are asked too.
func (d *Data) Copies(ctx context.Context, x transport.Points, seed uint64) (experiment.Measured, error) {
	found, err := metric.CheckCopies(ctx, x, d.Private, d.Test)
	if err != nil {
		return experiment.Measured{}, err
	}
	chosen := rand.New(rand.NewPCG(seed, 0x636f70)).Perm(d.Public.Len())[:min(x.Len(), d.Public.Len())]
	real, err := metric.CheckCopies(ctx, d.Public.Subset(chosen), d.Private, d.Test)
	values := found.Values()
	for name, value := range real.Values() {
		if name == NearerPrivate || strings.HasPrefix(name, "nearest ") {
			values[name+OfPublic] = value
		}
	}
	return experiment.Measured{
		Values: values,
		Rows:   x.Len(), NonPrivate: true, Computed: d.computed(),
		Note: fmt.Sprintf("latents beside %d private and %d held-out ones; copies would be nearer to private rows more often than public latents are", d.Private.Len(), d.Test.Len()),
	}, err
}
