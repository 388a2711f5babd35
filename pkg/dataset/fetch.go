package dataset

import (
	"context"

	"molehill/pkg/dataset/download"
)

// File is a file of a data set whose content is known.
type File = download.File

// Progress is how far the download of a file has come.
type Progress = download.Progress

// Fetcher is a source that needs files which can be had from mirrors.
type Fetcher interface {
	Source
	Files() []File
}

// Fetch gets the files of a source into dir, or into the user's cache folder
// if dir is "". Files that are there and right are left alone; what was
// stopped goes on where it stopped; every file is verified before it takes
// its name. progress may be nil. Errors are *download.MirrorsError,
// *download.DiskError, or ctx's.
func Fetch(ctx context.Context, source Fetcher, dir string, progress func(Progress)) error {
	return fetch(ctx, download.Downloader{Report: progress}, source, dir)
}

func fetch(ctx context.Context, d download.Downloader, source Fetcher, dir string) error {
	if dir == "" {
		var err error
		if dir, err = CacheFolder(); err != nil {
			return err
		}
	}
	for _, f := range source.Files() {
		if err := d.Get(ctx, f, dir); err != nil {
			return err
		}
	}
	return nil
}

// Status is what Verify found out about a file.
type Status struct {
	Path string // where it is, or would be in the first folder searched
	Err  error  // nil: it is there and right; fs.ErrNotExist: it is not there; *download.MismatchError: it is not right
}

// Verify reads the files of a source in dir, or where Load would find them if
// dir is "", and compares their checksums. The error is ctx's.
func Verify(ctx context.Context, source Fetcher, dir string) ([]Status, error) {
	var all []Status
	for _, f := range source.Files() {
		if err := ctx.Err(); err != nil {
			return all, err
		}
		folders := Folders(dir)
		s := Status{Path: f.In(folders[0])}
		for _, folder := range folders {
			if path, ok := find(f, folder); ok {
				s.Path = path
				break
			}
		}
		s.Err = f.Check(s.Path)
		all = append(all, s)
	}
	return all, nil
}
