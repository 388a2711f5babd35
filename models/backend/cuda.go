package backend

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// cuda is the kind of plugins for NVIDIA's GPUs.
const cuda = "cuda"

// inFullPrecision returns a plugin's configuration with which products have all 24 bits
// of float32, whatever the plugin drives. On NVIDIA's GPUs they have the 11 of TF32 by
// default: a clipped gradient could be a thousandth longer than its bound, for which no
// plan has room, and Sinkhorn's marginals could not be met. (Products of matrices go by
// the option tf32, convolutions by NVIDIA's own variable, which its libraries read when
// they are loaded.)
func inFullPrecision(config string) (string, error) {
	plugin, options, _ := strings.Cut(config, ",")
	if !strings.Contains(plugin, ":") { // the backend's name alone: options come after its plugin's, which is left out
		plugin += ":"
	}
	for option := range strings.SplitSeq(options, ",") {
		name, value, _ := strings.Cut(option, "=")
		switch rounded, err := strconv.ParseBool(value); {
		case option == "" || name == "notf32" || name == "tf32" && err == nil && !rounded:
		case name == "tf32":
			return "", fmt.Errorf("option %q rounds products to 11 bits, with which no bound on a gradient holds; leave it out", option)
		default:
			plugin += "," + option
		}
	}
	os.Setenv("NVIDIA_TF32_OVERRIDE", "0")
	return plugin + ",tf32=false", nil
}

// checkName refuses a plugin that drives NVIDIA's GPUs under a name by which go-xla does
// not see that it does: it then has XLA choose the precision of products.
func checkName(plugin, device string) error {
	name := strings.ToLower(plugin) // go-xla 0.4.1's pjrt.IsCUDAName
	if strings.Contains(strings.ToLower(device), cuda) && !strings.Contains(name, cuda) && !strings.Contains(name, "nvidia") {
		return fmt.Errorf("plugin %s drives %s under a name with neither \"cuda\" nor \"nvidia\" in it, for which products would be rounded to 11 bits; give its path another name, such as by a link called xla_cuda_plugin.so", plugin, device)
	}
	return nil
}

// deviceName is what a device calls itself with the names of the machine's GPUs, as
// NVIDIA's driver tells them in a folder: a plugin has a number for its device alone.
func deviceName(device, folder string) string {
	var names []string
	files, _ := fs.Glob(os.DirFS(folder), "*/information")
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if key, value, found := strings.Cut(line, ":"); found && key == "Model" && !slices.Contains(names, strings.TrimSpace(value)) {
				names = append(names, strings.TrimSpace(value))
			}
		}
	}
	if len(names) == 0 {
		return device
	}
	return strings.Join(names, ", ") + ", " + device
}

// gpus is where the driver tells of them.
const gpus = "/proc/driver/nvidia/gpus"

// besideItsLibraries keeps go-xla from warning, in six lines, that NVIDIA's libraries are
// not beside a plugin of a Python wheel: they are a folder above, and the plugin's own
// search path has that.
func besideItsLibraries(plugin string) {
	if kindOf(plugin) != cuda {
		return
	}
	packages := filepath.Dir(filepath.Dir(filepath.Dir(plugin)))
	if _, err := os.Stat(filepath.Join(packages, "nvidia")); err != nil {
		return
	}
	if _, set := os.LookupEnv("GOPJRT_CUDA_CHECKS"); !set {
		os.Setenv("GOPJRT_CUDA_CHECKS", "0")
	}
}
