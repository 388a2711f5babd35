package kernel

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
)

// Server is a JupyterLab that runs on this checkout.
type Server struct {
	URL string // to open in a browser, token included
	PID int    // its process
}

// Running lists the JupyterLabs of this checkout that answer. What Jupyter has
// left behind of others that were killed is passed over.
func (e *Environment) Running(ctx context.Context) ([]Server, error) {
	folder := filepath.Join(e.Dir, "jupyter", "runtime")
	files, err := fs.Glob(os.DirFS(folder), "jpserver-*.json")
	if err != nil {
		return nil, err
	}
	var running []Server
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			continue // another user's, or just gone
		}
		var told struct {
			PID   int    `json:"pid"`
			Host  string `json:"hostname"`
			Port  int    `json:"port"`
			Token string `json:"token"`
			Root  string `json:"root_dir"`
		}
		if json.Unmarshal(data, &told) != nil || told.PID <= 0 || told.Root != e.Root || syscall.Kill(told.PID, 0) != nil {
			continue
		}
		s := &server{host: reachable(told.Host), port: told.Port, token: told.Token, page: page(e.Root, e.notebooks())}
		if err := s.ask(ctx, http.MethodGet, "/api/status", "", nil); err != nil {
			continue // it is starting, or ending, or not ours
		}
		running = append(running, Server{URL: s.url(), PID: told.PID})
	}
	return running, ctx.Err()
}
