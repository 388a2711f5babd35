package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"molehill/pkg/experiment"
	"molehill/pkg/run"
)

// setting is one of a run's.
type setting struct{ name, value string }

// String is the setting as --set takes it, in quotes where it would not be read as one.
func (s setting) String() string {
	if strings.ContainsFunc(s.value, func(r rune) bool { return r == ',' || r == '"' || unicode.IsSpace(r) || !unicode.IsGraphic(r) }) {
		return s.name + "=" + strconv.Quote(s.value)
	}
	return s.name + "=" + s.value
}

// settingsOf reads settings in their order.
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
		var line bytes.Buffer
		if err := json.Compact(&line, raw); err != nil {
			return nil, err
		}
		value := line.String()
		if value[0] == '"' {
			if err := json.Unmarshal(raw, &value); err != nil {
				return nil, err
			}
		}
		all = append(all, setting{fmt.Sprint(name), value})
	}
	return all, nil
}

// tellSettings says what a run's settings are: first those that are not its preset's,
// then the others, but for texts that are empty as they usually are. Of an experiment
// that this program has not, or in another version, nobody can tell them apart.
func tellSettings(s run.Spec) (string, error) {
	all, err := settingsOf(s.Config)
	if err != nil {
		return "", err
	}
	usual := map[string]string{}
	preset, unknown := experiment.Usual(s)
	if unknown == nil {
		its, err := settingsOf(preset)
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
		case known && value != setting.value && value != "":
			own = append(own, fmt.Sprintf("%s (%s)", setting, value))
		case known && value != setting.value, !known && unknown == nil:
			own = append(own, setting.String())
		case setting.value != "":
			rest = append(rest, setting.String())
		}
	}
	told := fmt.Sprintf("preset %s, seed %d", s.Preset, s.Seed)
	if len(own) > 0 {
		told += "; not the preset's: " + strings.Join(own, ", ")
	}
	return told + "\nsettings: " + strings.Join(rest, " "), nil
}
