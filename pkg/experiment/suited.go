package experiment

import (
	"encoding/json"
	"slices"

	"molehill/pkg/plugin"
)

// SuitedTo returns the defaults of an experiment that are others for a data set (Suited),
// by preset and name. It is none for an experiment that cannot be asked, and for a data set
// that it does not have.
func SuitedTo(name, dataset string) map[string]map[string]json.RawMessage {
	e, err := lookup(name)
	if err != nil {
		return nil
	}
	suited := map[string]map[string]json.RawMessage{}
	for _, preset := range []Preset{Quick, Paper} {
		config, err := settings(e, name, preset)
		if err != nil {
			return nil
		}
		if _, ok := config.(Suited); !ok {
			return nil
		}
		usual, err := Fields(config)
		if err != nil || Apply(config, map[string]string{datasetSetting: dataset}) != nil {
			return nil
		}
		its, err := Fields(config)
		if err != nil {
			return nil
		}
		for setting, value := range its {
			if setting == datasetSetting || slices.Equal(value, usual[setting]) {
				continue
			}
			if suited[string(preset)] == nil {
				suited[string(preset)] = map[string]json.RawMessage{}
			}
			suited[string(preset)][setting] = value
		}
	}
	if len(suited) == 0 {
		return nil
	}
	return suited
}

// Tell adds to the experiments and estimators of a catalogue what it does not know by
// itself: settings that are not read, and those that follow the data set.
func Tell(kinds []plugin.Kind) {
	var datasets []string
	for _, k := range plugin.Catalogue() {
		if k.Kind == "data sets" {
			for _, p := range k.Plugins {
				datasets = append(datasets, p.Name)
			}
		}
	}
	for _, k := range kinds {
		if k.Kind == "sweeps" {
			continue // it may have an experiment's name, and has settings of its own
		}
		for i, p := range k.Plugins { // an estimator has the settings of its experiment
			k.Plugins[i].Unread = Unread(p.Name)
			for _, d := range datasets {
				if suited := SuitedTo(p.Name, d); suited != nil {
					k.Plugins[i].Suited = append(k.Plugins[i].Suited, plugin.Suited{Dataset: d, Defaults: suited})
				}
			}
		}
	}
}
