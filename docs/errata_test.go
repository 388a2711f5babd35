package docs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"molehill/models/autoencoder"
	"molehill/models/generator"
	"molehill/pkg/experiment"
	"molehill/pkg/metric/utility"
)

// What errata.md says that is taken where a text is silent is what the paper presets have.
func TestWhatTextsLeaveOpenIsInThePresets(t *testing.T) {
	text, err := os.ReadFile("errata.md")
	if err != nil {
		t.Fatal(err)
	}
	_, open, ok := strings.Cut(string(text), "\n## What the texts leave open\n")
	if !ok {
		t.Fatal("errata.md does not say what the texts leave open")
	}
	setting := func(name, setting string) any {
		e, err := experiment.Registry.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]any{}
		config, err := json.Marshal(e.Config(experiment.Paper))
		if err == nil {
			err = json.Unmarshal(config, &all)
		}
		if err != nil || all[setting] == nil {
			t.Fatalf("%s has no setting %s, %v", name, setting, err)
		}
		return all[setting]
	}
	rate := func(value any) string { return map[any]string{1e-3: "10⁻³"}[value] }
	bases := func(projections any, dim int) int { return (int(projections.(float64)) + dim - 1) / dim * dim }
	learned, face := autoencoder.DefaultTrainConfig, generator.CelebADCGAN
	for _, c := range []struct{ place, says string }{
		{"h on images", fmt.Sprintf("the public code's: %v,", setting("dpswflow-r", "step_size"))},
		{"training of autoencoders", fmt.Sprintf("Adam at %s and batches of %d, as in the public code; %d epochs", rate(learned.LearningRate), learned.Batch, learned.Epochs)},
		{"DPSWgen", fmt.Sprintf("Adam at %s, falling", rate(setting("dpswgen", "learning_rate")))},
		{"DCGAN of faces", fmt.Sprintf("a first kernel of %d, for %d×%[2]d", face.Side/4, face.Side)},
		{"MLP and CNN", fmt.Sprintf("batches of %d;", utility.DefaultTraining.Batch)},
		{"the loss of an image", fmt.Sprintf("the %s over its pixels", setting("dp-swae", "reduction"))},
		{"the same, training", fmt.Sprintf("at %s throughout, from PyTorch's first weights; %d projections", rate(setting("dp-swae", "learning_rate")), bases(setting("dp-swae", "projections"), 6))},
		{"004 D.2", fmt.Sprintf("%s steps; Adam", strings.Replace(fmt.Sprint(setting("circle", "steps")), "1000", "1,000", 1))},
		{"004 D.2", fmt.Sprintf("which no gradient without noise passes; %d, whole bases", bases(setting("circle-projections", "projections"), 2))},
	} {
		_, line, _ := strings.Cut(open, c.place)
		if line, _, _ = strings.Cut(line, "\n"); !strings.Contains(line, c.says) {
			t.Errorf("errata.md does not say of %s %q, as presets have it: %s", c.place, c.says, line)
		}
	}
	for name, want := range map[string]any{"gain": 1.0, "schedule": "constant"} {
		if got := setting("dp-swae", name); got != want {
			t.Errorf("dp-swae has %s = %v; errata.md tells of %v", name, got, want)
		}
	}
	if got := setting("circle", "optimizer"); got != "adam" {
		t.Errorf("circle has the optimiser %v; errata.md tells of Adam", got)
	}
}
