package sweep

import (
	"encoding/json"
	"fmt"
	"maps"

	"molehill/pkg/experiment"
)

// Line is a run that a table asks for, whatever its seed.
type Line struct {
	Label      string // what tells it from others of the table
	Experiment string
	Settings   map[string]string
}

// Request asks for the run of a seed, which its noise comes from, too.
func (l Line) Request(preset experiment.Preset, seed int) experiment.Request {
	return experiment.Request{Experiment: l.Experiment, Preset: preset, Seed: uint64(seed), Research: true, Settings: l.Settings}
}

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
		return nil, nil, fmt.Errorf("%s: %w", l.Label, err)
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
			if value, ok := wanted[name]; ok {
				fields[name] = value
			}
		}
		if maps.EqualFunc(fields, wanted, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
			found = append(found, row)
		}
	}
	parts, err := Parts(found)
	return want, parts, err
}

// Requests asks for the runs of a table's lines, a seed after the other.
func Requests[L any](lines []L, asks func(L) Line, preset experiment.Preset, seeds int) (requests []experiment.Request) {
	for seed := 1; seed <= seeds; seed++ {
		for _, l := range lines {
			requests = append(requests, asks(l).Request(preset, seed))
		}
	}
	return requests
}

// Found are rows of one of a table's lines that differ in their seed alone.
type Found[L any] struct {
	Line   L
	Config experiment.Config // the line's
	Part
}

// FindAll sorts rows by the lines of a table that they are of (Line.Find), those of the quick
// preset before those of the papers'.
func FindAll[L any](lines func(experiment.Preset) []L, asks func(L) Line, rows []Row, pinned ...string) (all []Found[L], err error) {
	for _, preset := range []experiment.Preset{experiment.Quick, experiment.Paper} {
		for _, l := range lines(preset) {
			config, parts, err := asks(l).Find(preset, rows, pinned...)
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
