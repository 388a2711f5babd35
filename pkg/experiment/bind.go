package experiment

import (
	"encoding/binary"
	"encoding/json"

	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/sampling"
)

// Bind ties a run's noise to its settings, to what it promises, and to the records
// that it looks at, rows with or without labels: the key of another release must not
// make this one (run.Run.Bind).
func Bind(r *run.Run, statement privacy.Statement, rows []float32, labels []int) error {
	id, err := r.Spec.ID()
	if err != nil {
		return err
	}
	statement.Asked, statement.NotCovered = 0, nil // which are said beside what is promised, in words that may change
	statement.Sampling = sampling.Scheme{}         // the same as Sampler, which is bound to
	plan, err := json.Marshal(statement)
	if err != nil {
		return err
	}
	what, err := binary.Append(append([]byte(id), plan...), binary.LittleEndian, rows)
	if err != nil {
		return err
	}
	for _, label := range labels {
		what = binary.LittleEndian.AppendUint64(what, uint64(label))
	}
	return r.Bind(what)
}
