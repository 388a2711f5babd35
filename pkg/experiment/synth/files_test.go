package synth

import (
	"errors"
	"testing"
)

func TestFilesAreRecalled(t *testing.T) {
	t.Setenv("MOLEHILL_RUNS", t.TempDir())
	for _, hash := range []string{"../x", "a/b"} {
		if f := (Files{Data: "d", Schema: "s"}); f.Remember(hash) == nil || (&Files{}).Recall(hash) == nil {
			t.Errorf("%q passes for a hash", hash)
		}
	}
	for _, dir := range []string{"/one", "/two"} { // the last counts
		f := Files{Data: dir + "/d.csv", Schema: dir + "/s.json"}
		want, recalled := f, Files{}
		if err := errors.Join(f.Remember("12ab"), recalled.Recall("12ab")); err != nil || f != (Files{}) || recalled != want {
			t.Errorf("recalled %+v, left %+v, %v", recalled, f, err)
		}
	}
}
