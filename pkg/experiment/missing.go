package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"molehill/pkg/dataset"
	"molehill/pkg/plugin"
	"molehill/pkg/run"
)

// glyphs is the data set of digits that are drawn from fonts.
const glyphs = "glyphs"

// withoutFiles adds to an error about a data set whose files are not here that glyphs need
// none, if the same run can be of them.
func withoutFiles(spec run.Spec, err error) error {
	missing, ok := errors.AsType[*dataset.NotFoundError](err)
	var config map[string]json.RawMessage
	if !ok || json.Unmarshal(spec.Config, &config) != nil || string(config["dataset"]) != strconv.Quote(missing.Name) {
		return err
	}
	config["dataset"] = json.RawMessage(strconv.Quote(glyphs))
	text, no := json.Marshal(config)
	if no != nil {
		return err
	}
	spec.Config = text
	_, other, no := decode(spec)
	if pinner, pins := other.(Pinner); no == nil && pins {
		no = plugin.Guard(kind, spec.Experiment, "Pin", pinner.Pin)
	}
	if no != nil {
		return err
	}
	return fmt.Errorf("%w; or do without: --set dataset=%s takes digits that are drawn from fonts, in place of %s", err, glyphs, missing.Name)
}
