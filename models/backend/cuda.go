package backend

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// cuda is the kind of plugins for NVIDIA's GPUs.
const cuda = "cuda"

// inFullPrecision returns a configuration of a plugin for NVIDIA's GPUs whose products
// have all 24 bits of float32. By default they have the 11 of TF32: a clipped gradient
// would be up to a thousandth longer than its bound, where what is planned for it is a
// millionth, and Sinkhorn's marginals could not be met. (Products of matrices go by the
// option tf32, convolutions by NVIDIA's own variable, which the libraries read when they
// are loaded.)
func inFullPrecision(config string) (string, error) {
	for _, option := range strings.Split(config, ",")[1:] {
		if name, value, _ := strings.Cut(option, "="); name == "tf32" && value != "false" {
			return "", fmt.Errorf("option %q rounds products to 11 bits, with which no bound on a gradient holds; leave it out", option)
		} else if name == "tf32" {
			config = strings.Replace(config, ","+option, "", 1)
		}
	}
	os.Setenv("NVIDIA_TF32_OVERRIDE", "0")
	return config + ",tf32=false", nil
}

// besideItsLibraries keeps go-xla from warning, in six lines, that NVIDIA's libraries are
// not beside a plugin of a Python wheel: they are a folder above, and the plugin's own
// search path has that.
func besideItsLibraries(plugin string) {
	packages := filepath.Dir(filepath.Dir(filepath.Dir(plugin)))
	if _, err := os.Stat(filepath.Join(packages, "nvidia")); err != nil {
		return
	}
	if _, set := os.LookupEnv("GOPJRT_CUDA_CHECKS"); !set {
		os.Setenv("GOPJRT_CUDA_CHECKS", "0")
	}
}
