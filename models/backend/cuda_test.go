package backend

import (
	"os"
	"path/filepath"
	"strings"
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

func TestInFullPrecision(t *testing.T) {
	t.Setenv("NVIDIA_TF32_OVERRIDE", "1")
	for config, want := range map[string]string{
		"xla":                            "xla:,tf32=false",
		"stablehlo":                      "stablehlo:,tf32=false",
		"xla:cuda":                       "xla:cuda,tf32=false",
		"xla:/a.so,tf32=False":           "xla:/a.so,tf32=false",
		"xla:/a.so,notf32,preallocate":   "xla:/a.so,preallocate,tf32=false",
		"xla:/a.so,tf32=0,allocator=bfc": "xla:/a.so,allocator=bfc,tf32=false",
	} {
		got, err := inFullPrecision(config)
		if err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", config, got, err, want)
		}
	}
	for _, config := range []string{"xla:cuda,tf32", "xla:cuda,tf32=true", "xla:cuda,tf32=false,tf32=1", "xla:/a.so,tf32=maybe"} {
		if got, err := inFullPrecision(config); err == nil {
			t.Errorf("%s: %s; want it refused", config, got)
		}
	}
	if os.Getenv("NVIDIA_TF32_OVERRIDE") != "0" {
		t.Error("convolutions are left to their default")
	}
}

func TestPluginsForGPUsAreCalledSo(t *testing.T) {
	for plugin, device := range map[string]string{"/p/xla_cuda_plugin.so": "cuda:0", "/p/NVIDIA.so": "cuda:0", "/p/pjrt_c_api_gpu_plugin.so": "rocm:0", "/p/cpu.so": "TFRT_CPU_0"} {
		if err := checkName(plugin, device); err != nil {
			t.Error(err)
		}
	}
	if err := checkName("/p/pjrt_c_api_gpu_plugin.so", "cuda:0 [processId=0]"); err == nil || !strings.Contains(err.Error(), "link") {
		t.Errorf("a plugin whose products would be rounded: %v", err)
	}
}
