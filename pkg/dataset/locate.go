package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"molehill/pkg/checkout"
)

// FolderVariable is the environment variable that names the data folder.
const FolderVariable = "MOLEHILL_DATA"

// NotFoundError says that the files of a data set are in none of the places
// where they may be: the folder asked for; or, if none was, the folder that
// MOLEHILL_DATA names, shared/data beside the module or the working folder,
// and the user's cache.
type NotFoundError struct {
	Name   string   // of the data set
	Looked []string // where, and what was missing there
	Obtain string   // how to get the files; "" for those that can be fetched
}

func (e *NotFoundError) Error() string {
	obtain := e.Obtain
	if obtain == "" {
		obtain = fmt.Sprintf("run `molehill data fetch %s`", e.Name)
	}
	return fmt.Sprintf("data set %q not found: expected its files in one of these folders, found %s; %s, or set %s to the folder that has %s/",
		e.Name, strings.Join(e.Looked, "; "), obtain, FolderVariable, e.Name)
}

// CacheFolder returns the data folder in the user's cache, where Fetch puts
// files unless told otherwise.
func CacheFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("expected a cache folder for this user: %w; set %s to a folder for data", err, FolderVariable)
	}
	return filepath.Join(cache, "molehill", "data"), nil
}

// Folders returns the data folders that are searched for Options.Dir, in
// order.
func Folders(dir string) []string {
	if dir != "" {
		return []string{dir}
	}
	var folders []string
	add := func(folder string) {
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	if named := os.Getenv(FolderVariable); named != "" {
		add(named)
	}
	if here, err := os.Getwd(); err == nil {
		if root, ok := checkout.Root(here); ok {
			add(filepath.Join(root, "..", "shared", "data"))
		}
		add(filepath.Join(here, "..", "shared", "data"))
	}
	if cache, err := CacheFolder(); err == nil {
		add(cache)
	}
	return folders
}

// locate returns the paths of files in the first folder that has them all,
// packed or unpacked.
func locate(name string, files []File, dir string) ([]string, error) {
	missing := &NotFoundError{Name: name}
	for _, folder := range Folders(dir) {
		var paths, absent []string
		for _, f := range files {
			if path, ok := find(f, folder); ok {
				paths = append(paths, path)
			} else {
				absent = append(absent, f.Path)
			}
		}
		if len(absent) == 0 {
			return paths, nil
		}
		what := "none of them"
		if len(paths) > 0 {
			what = "no " + strings.Join(absent, ", ")
		}
		missing.Looked = append(missing.Looked, what+" in "+folder)
	}
	return nil, missing
}

// find returns the path of a file in a folder, packed or unpacked.
func find(f File, folder string) (path string, ok bool) {
	if exists(f.In(folder)) {
		return f.In(folder), true
	}
	path, ok = f.UnpackedIn(folder)
	return path, ok && exists(path)
}

// exists tells whether something other than a folder is at path, readable or
// not: what cannot be read deserves an error of its own.
func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
