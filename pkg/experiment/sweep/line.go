package sweep

import (
	"encoding/json"
	"fmt"
	"maps"

	"molehill/pkg/experiment"
)

// Line is a run that a table asks for, whatever its seed.
type Line struct {
	Experiment string
	Settings   map[string]string
}

// Asks implements Asking.
func (l Line) Asks() Line { return l }

// Asking is what a table has of each of its lines: a Line, or more.
type Asking interface{ Asks() Line }

// Find returns a line's settings, and the rows that are of it, by what else tells them
// apart (Parts). Settings that a row's program did not have yet are as in the preset; those
// that are pinned when a run starts are not compared.
func (l Line) Find(preset experiment.Preset, rows []Row, pinned ...string) (experiment.Config, []Part, error) {
	e, err := experiment.Registry.Lookup(l.Experiment)
	if err != nil {
		return nil, nil, err
	}
	want := e.Config(preset)
	if err := experiment.Apply(want, l.Settings); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", l.Experiment, err)
	}
	wanted, err := experiment.Fields(want)
	if err != nil {
		return nil, nil, err
	}
	var found []Row
	for _, row := range rows {
		if row.Experiment != l.Experiment {
			continue
		}
		config := e.Config(preset)
		if err := json.Unmarshal(row.Config, config); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", row.Run, err)
		}
		fields, err := experiment.Fields(config)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range pinned {
			delete(fields, name)
			delete(wanted, name)
		}
		if maps.EqualFunc(fields, wanted, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
			found = append(found, row)
		}
	}
	parts, err := Parts(found)
	return want, parts, err
}

// Requests asks for the runs of a table's lines, a seed after the other, which their noise
// comes from, too.
func Requests[L Asking](lines []L, preset experiment.Preset, seeds int) (requests []experiment.Request) {
	for seed := 1; seed <= seeds; seed++ {
		for _, l := range lines {
			of := l.Asks()
			requests = append(requests, experiment.Request{Experiment: of.Experiment, Preset: preset, Seed: uint64(seed), Research: true, Settings: of.Settings})
		}
	}
	return requests
}

// Found are rows of one of a table's lines that differ in their seed alone.
type Found[L Asking] struct {
	Line   L
	Config experiment.Config // the line's
	Part
}

// FindAll sorts rows by the lines of a table that they are of (Line.Find), those of the quick
// preset before those of the papers'.
func FindAll[L Asking](lines func(experiment.Preset) []L, rows []Row, pinned ...string) (all []Found[L], err error) {
	for _, preset := range []experiment.Preset{experiment.Quick, experiment.Paper} {
		for _, l := range lines(preset) {
			config, parts, err := l.Asks().Find(preset, rows, pinned...)
			if err != nil {
				return nil, err
			}
			for _, part := range parts {
				all = append(all, Found[L]{l, config, part})
			}
		}
	}
	return all, nil
}
