package backend

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDeviceName(t *testing.T) {
	folder := t.TempDir()
	if got := deviceName("cuda:0", folder); got != "cuda:0" {
		t.Errorf("without a driver: %q", got)
	}
	for bus, model := range map[string]string{"0000:00:01.0": "NVIDIA H100 80GB HBM3", "0000:00:02.0": "NVIDIA H100 80GB HBM3", "0000:00:03.0": ""} {
		if err := os.Mkdir(filepath.Join(folder, bus), 0o755); err != nil {
			t.Fatal(err)
		}
		text := "Model: \t\t " + model + "\nIRQ:   \t\t 27\n"
		if model == "" {
			text = "IRQ: 3\n"
		}
		if err := os.WriteFile(filepath.Join(folder, bus, "information"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := deviceName("cuda:0", folder); got != "NVIDIA H100 80GB HBM3, cuda:0" {
		t.Errorf("two alike and one unknown: %q", got)
	}
}
