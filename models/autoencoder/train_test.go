package autoencoder_test

import (
	"bytes"
	"strings"
	"testing"

	"molehill/models/autoencoder"
	"molehill/models/backend"
	"molehill/models/backend/backendtest"
)

// small is two epochs of two steps on ten images.
var small = autoencoder.TrainConfig{Epochs: 2, Batch: 4, LearningRate: 1e-3, Decay: 0.5, Seed: 1}

func saved(t *testing.T, a *autoencoder.Autoencoder) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := a.Save(&file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// The loss falls, and a training that is saved in the middle of an epoch,
// dropped and restored ends where the undisturbed one does, bit by bit.
func TestTrainingLearnsAndResumesExactly(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		images := discs(10, 1)
		whole := fresh(t)
		var losses []float64
		before := saved(t, whole)
		undisturbed, err := autoencoder.NewTraining(whole, b, images, small)
		if err != nil {
			t.Fatal(err)
		}
		defer undisturbed.Close()
		for !undisturbed.Done() {
			s, err := undisturbed.Step()
			if err != nil {
				t.Fatal(err)
			}
			losses = append(losses, s.Loss)
			if s.Step != len(losses) || s.Total != 4 {
				t.Errorf("step %d of %d after %d", s.Step, s.Total, len(losses))
			}
		}
		if !bytes.Equal(saved(t, whole), before) {
			t.Error("the autoencoder has changed before Commit")
		}
		if err := undisturbed.Commit(); err != nil {
			t.Fatal(err)
		}
		if len(losses) != 4 || !(losses[3] < losses[0]) {
			t.Errorf("losses %v do not fall", losses)
		}

		parts := fresh(t)
		var state bytes.Buffer
		for i, steps := range []int{1, 3} {
			training, err := autoencoder.NewTraining(parts, b, images, small)
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				if err := training.Restore(&state); err != nil {
					t.Fatal(err)
				}
			}
			for range steps {
				if _, err := training.Step(); err != nil {
					t.Fatal(err)
				}
			}
			if err := training.Save(&state); err != nil {
				t.Fatal(err)
			}
			if training.Done() {
				if err := training.Commit(); err != nil {
					t.Fatal(err)
				}
				if _, err := training.Step(); err == nil {
					t.Error("a finished training made another step")
				}
			}
			training.Close()
		}
		if !bytes.Equal(saved(t, parts), saved(t, whole)) {
			t.Error("the resumed training ended with other weights")
		}
	})
}

func TestRestoreRefusesWhatDoesNotFit(t *testing.T) {
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	a, images := fresh(t), discs(10, 1)
	start := func(c autoencoder.TrainConfig) *autoencoder.Training {
		training, err := autoencoder.NewTraining(a, b, images, c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(training.Close)
		return training
	}
	var state bytes.Buffer
	if err := start(small).Save(&state); err != nil {
		t.Fatal(err)
	}
	other := small
	other.Seed = 2
	if err := start(other).Restore(bytes.NewReader(state.Bytes())); err == nil || !strings.Contains(err.Error(), "its own") {
		t.Errorf("a state of another seed: %v", err)
	}
	if err := start(small).Restore(bytes.NewReader(state.Bytes()[:state.Len()/2])); err == nil {
		t.Error("half a state was restored")
	}
	if err := start(small).Restore(bytes.NewReader(saved(t, a))); err == nil {
		t.Error("an autoencoder was restored as a training")
	}
}
