package dataset

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"molehill/pkg/dataset/download"
)

// serve gives the files of small by their names.
func serve(t *testing.T) (source images, server *httptest.Server) {
	source, contents := small()
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i, f := range source.files {
			if path.Base(f.Path) == path.Base(r.URL.Path) {
				w.Write(contents[i])
				return
			}
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	for i, f := range source.files {
		source.files[i].Mirrors = []string{server.URL + "/" + path.Base(f.Path)}
	}
	return source, server
}

func TestFetchVerifyLoad(t *testing.T) {
	source, server := serve(t)
	ctx, dir := context.Background(), t.TempDir()
	states := func() (errs []error) {
		all, err := Verify(ctx, source, dir)
		if err != nil || len(all) != 4 {
			t.Fatalf("%d files, %v", len(all), err)
		}
		for _, s := range all {
			errs = append(errs, s.Err)
		}
		return errs
	}
	for _, err := range states() {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("before: %v, want fs.ErrNotExist", err)
		}
	}
	whole := map[string]bool{}
	if err := Fetch(ctx, source, dir, func(p Progress) { whole[p.File] = p.Done == p.Total }); err != nil {
		t.Fatal(err)
	}
	for _, f := range source.files {
		if !whole[f.Path] {
			t.Errorf("progress of %s did not end at its total", f.Path)
		}
	}
	for _, err := range states() {
		if err != nil {
			t.Errorf("after: %v", err)
		}
	}
	if _, err := source.Load(ctx, Options{Dir: dir}); err != nil {
		t.Error(err)
	}

	// Damage is found, and only that file is fetched again.
	write(t, source.files[2].In(dir), []byte("damage"))
	var fetched []string
	if err := Fetch(ctx, source, dir, func(p Progress) {
		if p.Mirror != "" && p.Done == p.Total {
			fetched = append(fetched, p.File)
		}
	}); err != nil || !slices.Equal(fetched, []string{source.files[2].Path}) {
		t.Errorf("a damaged file: fetched %v, %v", fetched, err)
	}
	for _, err := range states() {
		if err != nil {
			t.Errorf("mended: %v", err)
		}
	}
	server.Close()
	if err := Fetch(ctx, source, dir, nil); err != nil {
		t.Errorf("whole files need no network: %v", err)
	}
	write(t, source.files[2].In(dir), []byte("damage"))
	var mismatch *download.MismatchError
	if err := states()[2]; !errors.As(err, &mismatch) {
		t.Errorf("damaged: %v, want *download.MismatchError", err)
	}
	var mirrors *download.MirrorsError
	if err := Fetch(ctx, source, dir, nil); !errors.As(err, &mirrors) {
		t.Errorf("without network: %v, want *download.MirrorsError", err)
	}
	if kept, err := os.ReadFile(source.files[2].In(dir)); err != nil || string(kept) != "damage" {
		t.Errorf("a failed fetch changed what was there: %q, %v", kept, err)
	}
}

func TestFetchDefaultsToTheCache(t *testing.T) {
	source, _ := serve(t)
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	if err := Fetch(context.Background(), source, "", nil); err != nil {
		t.Fatal(err)
	}
	folder, err := CacheFolder()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "small", "train-images-idx3-ubyte.gz")); err != nil {
		t.Error(err)
	}
}

func TestVerifyStopsWithItsContext(t *testing.T) {
	source, _ := small()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Verify(ctx, source, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Every source with files must be a Fetcher for `molehill data fetch`.
var _ Fetcher = mnist
