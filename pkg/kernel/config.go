package kernel

import (
	"encoding/json"
	"path/filepath"
)

// kernelSpec is a kernel.json, see "Kernel specs" in the documentation of
// jupyter_client. In values of Env, ${NAME} stands for what Jupyter inherited.
type kernelSpec struct {
	Argv          []string          `json:"argv"`
	DisplayName   string            `json:"display_name"`
	Language      string            `json:"language"`
	InterruptMode string            `json:"interrupt_mode"`
	Env           map[string]string `json:"env"`
}

// spec is our kernel: GoNB with this repository in the go.work of every
// notebook and compiler messages as plain text.
func (e *Environment) spec() kernelSpec {
	env := e.goSettings()
	env["PATH"] = e.path() + ":${PATH}"
	env["GOPROXY"] = "off" // go.mod pins what cells may import; GoNB's `go get` stays on this machine
	env["GOSUMDB"] = "off" // nothing is downloaded, so nothing is to be looked up
	env["GOWORK"] = "auto" // GoNB's own, whatever the user has set
	env["GOMLX_NO_AUTO_INSTALL"] = "1"
	env["MOLEHILL_ROOT"] = e.Root
	return kernelSpec{
		Argv: []string{
			filepath.Join(e.Venv, "bin", "gonb"), "--kernel", "{connection_file}",
			"-raw_error", "-go_work=" + e.Root,
		},
		DisplayName:   DisplayName,
		Language:      "go",
		InterruptMode: "message",
		Env:           env,
	}
}

func (e *Environment) specFile() string {
	return filepath.Join(e.Venv, "share", "jupyter", "kernels", Name, "kernel.json")
}

// writeConfig writes the kernel and JupyterLab's settings into the environment:
// our kernel is the default, and nothing of JupyterLab asks the network.
func (e *Environment) writeConfig() error {
	etc := filepath.Join(e.Venv, "etc", "jupyter")
	files := map[string]any{
		e.specFile(): e.spec(),
		filepath.Join(etc, "jupyter_server_config.json"): map[string]any{
			"MultiKernelManager": map[string]any{"default_kernel_name": Name},
		},
		filepath.Join(etc, "jupyter_lab_config.json"): map[string]any{
			"LabApp": map[string]any{
				"check_for_updates_class": "jupyterlab.handlers.announcements.NeverCheckForUpdate",
				"news_url":                nil,
				"extension_manager":       "readonly",
			},
		},
		filepath.Join(etc, "labconfig", "page_config.json"): map[string]any{
			"disabledExtensions": map[string]bool{"@jupyterlab/apputils-extension:announcements": true},
		},
	}
	for path, content := range files {
		data, err := json.MarshalIndent(content, "", "  ")
		if err != nil {
			return err
		}
		if err := writeFile(path, append(data, '\n')); err != nil {
			return err
		}
	}
	return nil
}
