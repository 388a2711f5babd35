package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"molehill/pkg/plugin"
)

// Apply changes the settings of config by name, as `--set name=value` gives
// them: numbers, true and false are read as such, everything else as text. An
// unknown name answers with the nearest ones, a value of the wrong kind with
// what was expected. Settings that follow the data set follow it before any other is
// changed (Suited).
func Apply(config Config, settings map[string]string) error {
	fields, err := Fields(config)
	if err != nil {
		return err
	}
	for name, empty := range unsaid(config) {
		if _, ok := fields[name]; !ok {
			fields[name] = empty
		}
	}
	known := slices.Sorted(maps.Keys(fields))
	names := slices.Sorted(maps.Keys(settings)) // the first mistake reported does not depend on luck
	suited, follows := config.(Suited)
	if at := slices.Index(names, datasetSetting); follows && at > 0 {
		names = slices.Insert(slices.Delete(names, at, at+1), 0, datasetSetting)
	}
	for _, name := range names {
		old, ok := fields[name]
		if !ok {
			return &plugin.UnknownError{Kind: "setting", Name: name, Nearest: plugin.Nearest(name, known)}
		}
		if err := set(config, name, old, settings[name]); err != nil {
			return err
		}
		if follows && name == datasetSetting {
			if err := plugin.Guard(kind, fmt.Sprintf("%T", config), "Suit", func() error { suited.Suit(); return nil }); err != nil {
				return err
			}
		}
	}
	return nil
}

// datasetSetting is the setting that others follow.
const datasetSetting = "dataset"

// With returns settings and more of them: names, each before its value.
func With(settings map[string]string, more ...string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, settings)
	for i := 0; i+1 < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

// Fields are settings by name, as they are written down.
func Fields(config Config) (fields map[string]json.RawMessage, err error) {
	text, err := json.Marshal(config)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	return fields, err
}

// unsaid are the settings that are left out while they have no value, so that a setting
// that is new makes no other runs of those that do without.
func unsaid(config Config) map[string]json.RawMessage {
	of := reflect.TypeOf(config)
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	empty := map[string]json.RawMessage{}
	if of.Kind() != reflect.Struct {
		return empty
	}
	for _, field := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.IsExported() && name != "" && strings.Contains(options, "omit") {
			empty[name], _ = json.Marshal(reflect.Zero(field.Type).Interface()) // for a message alone
		}
	}
	return empty
}

// set changes one setting: first as the JSON value that the text spells, then
// as text. A type that reads its own values says itself what it expects.
func set(config Config, name string, old json.RawMessage, value string) error {
	quoted, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var refused error
	candidates := [][]byte{[]byte(value), quoted}
	if v, err := strconv.ParseFloat(value, 64); err == nil && !json.Valid([]byte(value)) && !math.IsInf(v, 0) && v == v && !strings.ContainsAny(value, "_xX") {
		candidates = slices.Insert(candidates, 0, strconv.AppendFloat(nil, v, 'f', -1, 64)) // .5, 1. or +3
	}
	for _, candidate := range candidates {
		patch, err := json.Marshal(map[string]json.RawMessage{name: candidate})
		if err != nil {
			continue // value is no JSON by itself
		}
		decoder := json.NewDecoder(bytes.NewReader(patch))
		decoder.DisallowUnknownFields()
		if refused = decoder.Decode(config); refused == nil {
			return nil
		}
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](refused); !ok {
		return fmt.Errorf("setting %s cannot be %q: %w", name, value, refused)
	}
	return fmt.Errorf("setting %s cannot be %q; expected something like %s", name, value, old)
}
