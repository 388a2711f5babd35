package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
)

// setting is one of a run's, as --set takes it.
type setting struct{ name, value string }

func (s setting) String() string { return s.name + "=" + s.value }

// settingsOf reads a run's settings in their order. Those that say nothing are left out.
func settingsOf(config json.RawMessage) (all []setting, err error) {
	d := json.NewDecoder(bytes.NewReader(config))
	if _, err := d.Token(); err != nil { // the brace
		return nil, err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		value := string(raw)
		var text string
		if json.Unmarshal(raw, &text) == nil {
			value = text
		}
		if value != "" {
			all = append(all, setting{fmt.Sprint(name), value})
		}
	}
	return all, nil
}

// tellSettings says what a run's settings are: first what it has instead of its
// preset's, then the preset's. Of an experiment that this program does not know
// nobody can tell them apart.
func tellSettings(s run.Spec) (string, error) {
	all, err := settingsOf(s.Config)
	if err != nil {
		return "", err
	}
	usual := map[string]string{}
	preset, unknown := experiment.Request{Experiment: s.Experiment, Preset: experiment.Preset(s.Preset)}.Spec()
	if unknown == nil {
		its, err := settingsOf(preset.Config)
		if err != nil {
			return "", err
		}
		for _, u := range its {
			usual[u.name] = u.value
		}
	}
	var own, rest []string
	for _, setting := range all {
		switch value, known := usual[setting.name]; {
		case known && value == setting.value || unknown != nil:
			rest = append(rest, setting.String())
		case known:
			own = append(own, fmt.Sprintf("%s (not %s)", setting, value))
		default:
			own = append(own, setting.String())
		}
	}
	told := fmt.Sprintf("preset %s, seed %d", s.Preset, s.Seed)
	if len(own) > 0 {
		told += "; set " + strings.Join(own, ", ")
	}
	return told + "\nsettings: " + strings.Join(rest, " "), nil
}
