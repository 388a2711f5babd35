package flow

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"molehill/transport"
	"molehill/transport/harmonic"
	"molehill/transport/sliced"
)

// sphericalKnots is how many levels stand for a quantile function. A density of
// low degree is smooth, so that these are more than it can use.
const sphericalKnots = 256

// recurring holds the quantile functions of densities on directions that come again
// (Directions.Rounds), for each of these 4·sphericalKnots bytes a density, where that is
// not more than mostRecurring.
type recurring struct {
	sync.Mutex
	rounds []round
}

// mostRecurring is in bytes. Those of 148 classes on 3,456 directions fit.
var mostRecurring = 512 << 20

// round is what a step goes by.
type round struct {
	on        sliced.Directions
	quantiles [][]transport.Quantile // [densities][directions]
}

// at returns what a step goes by.
func (r *recurring) at(densities []*harmonic.Density, directions Directions, step int) (now round, err error) {
	if len(densities) == 0 || slices.Contains(densities, nil) {
		return now, errors.New("flow: a target without densities; make it with NewSpherical, NewSphericalBeside or NewLabelled")
	}
	if step < 0 {
		return now, fmt.Errorf("flow: step %d; they are numbered from 0", step)
	}
	r.Lock()
	defer r.Unlock()
	if r.rounds == nil && directions.Rounds*directions.Count*len(densities)*4*sphericalKnots <= mostRecurring {
		r.rounds = make([]round, max(0, directions.Rounds))
	}
	if len(r.rounds) > 0 {
		if now = r.rounds[step%len(r.rounds)]; now.quantiles != nil {
			return now, nil
		}
	}
	if now.on, err = directions.Draw(densities[0].Dim(), step); err != nil {
		return now, err
	}
	if now.quantiles, err = harmonic.Quantiles(densities, now.on, sphericalKnots); err == nil && len(r.rounds) > 0 {
		r.rounds[step%len(r.rounds)] = now
	}
	return now, err
}
