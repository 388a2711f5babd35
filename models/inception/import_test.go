package inception

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"molehill/models/inception/internal/graphdef"
	"molehill/models/layer"
	"molehill/pkg/dataset/download"
)

// graphOf writes a GraphDef.
type graphOf []byte

func message(number protowire.Number, text []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), text)
}

func number(number protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), v)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func (g *graphOf) node(name, op string, inputs []string, attrs map[string][]byte) {
	text := join(message(1, []byte(name)), message(2, []byte(op)))
	for _, in := range inputs {
		text = append(text, message(3, []byte(in))...)
	}
	for key, value := range attrs {
		text = append(text, message(5, join(message(1, []byte(key)), message(2, value)))...)
	}
	*g = append(*g, message(1, text)...)
}

// constant writes a float32 constant whose values are as in TensorFlow either
// all there, as bytes, or listed up to the last that differs.
func (g *graphOf) constant(name string, shape []int, values []float32) {
	size := 1
	var dims []byte
	for _, dim := range shape {
		size *= dim
		dims = append(dims, message(2, number(1, uint64(dim)))...)
	}
	text, _ := binary.Append(nil, binary.LittleEndian, values)
	field := protowire.Number(5)
	if len(values) == size {
		field = 4
	}
	tensor := join(number(1, 1), message(2, dims), message(field, text))
	g.node(name, "Const", nil, map[string][]byte{"value": message(8, tensor)})
}

func float(v float32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(nil, 4, protowire.Fixed32Type), math.Float32bits(v))
}

// conv writes a convolution as the graph of 2015 has it.
func (g *graphOf) conv(c conv, kernel, mean, variance, beta, gamma []float32, epsilon float32) {
	g.constant(c.Name+"/conv2d_params", []int{c.Height, c.Width, c.In, c.Out}, kernel)
	for name, values := range map[string][]float32{"moving_mean": mean, "moving_variance": variance, "beta": beta, "gamma": gamma} {
		g.constant(c.Name+"/batchnorm/"+name, []int{c.Out}, values)
	}
	padding := "SAME"
	if c.Valid {
		padding = "VALID"
	}
	var strides []byte
	for _, s := range []int{1, c.Stride, c.Stride, 1} {
		strides = append(strides, number(3, uint64(s))...)
	}
	g.node(c.Name+"/Conv2D", "Conv2D", []string{"x", c.Name + "/conv2d_params"}, map[string][]byte{
		"strides": message(1, strides), "padding": message(2, []byte(padding)),
	})
	var names []string
	for _, name := range []string{"moving_mean", "moving_variance", "beta", "gamma"} {
		names = append(names, c.Name+"/batchnorm/"+name)
	}
	g.node(c.Name+"/batchnorm", "BatchNormWithGlobalNormalization", append([]string{c.Name + "/Conv2D"}, names...), map[string][]byte{
		"variance_epsilon": float(epsilon), "scale_after_normalization": number(5, 0),
	})
}

// moments are the constants of layer i of the synthetic graph: a kernel value
// that makes activations of order 1, and batch normalisation.
func moments(i int, c conv) (kernel, mean, variance, beta float32) {
	fan := float32(c.Height * c.Width * c.In)
	return (1 + float32(i%3)) / (1.5 * fan), 0.1 * float32(i%4), 0.5 + 0.25*float32(i%5), 0.2 + 0.01*float32(i%7)
}

// synthetic is a graph with the names and shapes of that of 2015 and constant
// kernels.
func synthetic() graphOf {
	var g graphOf
	for i, c := range convs(full()) {
		k, m, v, b := moments(i, c)
		g.conv(c, []float32{k}, []float32{m}, []float32{v}, []float32{b}, []float32{7}, 0.001)
	}
	g.node("mixed_10/tower_2/pool", "MaxPool", []string{"mixed_9/join"}, nil)
	g.node("mixed_9/tower_2/pool", "AvgPool", []string{"mixed_8/join"}, nil)
	return append(g, message(2, number(1, 8))...) // versions
}

func TestFoldingIsBatchNormalisation(t *testing.T) {
	c := conv{Name: "mixed/tower/conv", In: 2, Out: 3, Height: 1, Width: 3, Stride: 1}
	kernel := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}
	mean, variance := []float32{1, -2, 3}, []float32{4, 0.25, 0}
	beta, gamma := []float32{0.5, 0.25, -1}, []float32{100, -20, 3}
	var text graphOf
	text.conv(c, kernel, mean, variance, beta, gamma, 0.001)
	g, err := graphdef.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	use := map[string]string{c.Name + "/conv2d_params": c.Name + "/Conv2D", c.Name + "/batchnorm/moving_mean": c.Name + "/batchnorm"}
	weight, bias, err := c.fold(g, use)
	if err != nil {
		t.Fatal(err)
	}
	for o := range 3 {
		// y = (w·x − μ)/√(σ²+ε) + β; this graph does not scale by γ.
		s := 1 / math.Sqrt(float64(variance[o])+0.001)
		if want := float64(beta[o]) - float64(mean[o])*s; !(math.Abs(float64(bias[o])-want) <= 1e-6*math.Abs(want)) {
			t.Errorf("bias %d is %v, want %v", o, bias[o], want)
		}
		for i := range 6 {
			if want := float64(kernel[3*i+o]) * s; !(math.Abs(float64(weight[3*i+o])-want) <= 1e-6*want) {
				t.Errorf("weight %d, %d is %v, want %v", i, o, weight[3*i+o], want)
			}
		}
	}
	// With the attribute set, γ counts, of weights and of the mean that is taken off.
	scaling := bytes.Replace(text, join([]byte("scale_after_normalization"), message(2, number(5, 0))), join([]byte("scale_after_normalization"), message(2, number(5, 1))), 1)
	if g, err = graphdef.Parse(scaling); err != nil {
		t.Fatal(err)
	}
	scaled, offset, err := c.fold(g, use)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range weight {
		if want := float64(w) * float64(gamma[i%3]); !(math.Abs(float64(scaled[i])-want) <= 1e-6*math.Abs(want)) {
			t.Errorf("with γ weight %d is %v, want %v", i, scaled[i], want)
		}
	}
	for o, b := range bias {
		want := float64(beta[o]) + float64(gamma[o])*(float64(b)-float64(beta[o]))
		if !(math.Abs(float64(offset[o])-want) <= 1e-6*math.Abs(want)) {
			t.Errorf("with γ bias %d is %v, want %v", o, offset[o], want)
		}
	}
	for name, damage := range map[string]func(){
		"negative variance": func() { variance[1] = -1; text = nil; text.conv(c, kernel, mean, variance, beta, gamma, 0.001) },
		"epsilon":           func() { text = nil; text.conv(c, kernel, mean, []float32{1}, beta, gamma, 2) },
		"stride": func() {
			d := c
			d.Stride, text = 2, nil
			text.conv(d, kernel, mean, []float32{1}, beta, gamma, 0.001)
		},
		"padding": func() {
			d := c
			d.Valid, text = true, nil
			text.conv(d, kernel, mean, []float32{1}, beta, gamma, 0.001)
		},
		"shape": func() {
			d := c
			d.Height, d.Width, text = 3, 1, nil
			text.conv(d, kernel, mean, []float32{1}, beta, gamma, 0.001)
		},
		"too many values": func() { text = nil; text.conv(c, append(kernel, 1), mean, []float32{1}, beta, gamma, 0.001) },
	} {
		damage()
		g, err := graphdef.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.fold(g, use); err == nil {
			t.Errorf("%s: folded", name)
		}
	}
}

func TestOtherNetworksAreRefused(t *testing.T) {
	whole, err := graphdef.Parse(synthetic())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fold(whole); err != nil {
		t.Fatal(err)
	}
	whole["mixed_10/tower_2/pool"].Op = "AvgPool" // as later networks have it
	if _, err := fold(whole); err == nil || !strings.Contains(err.Error(), "mixed_10/tower_2/pool") {
		t.Errorf("a later network was taken: %v", err)
	}
	whole["mixed_10/tower_2/pool"].Op = "MaxPool"
	delete(whole, "mixed_8/tower/conv_1/batchnorm/beta")
	if _, err := fold(whole); err == nil || !strings.Contains(err.Error(), "mixed_8/tower/conv_1") {
		t.Errorf("a network without a bias was taken: %v", err)
	}
}

// archived packs a graph as TensorFlow did.
func archived(t *testing.T, files map[string][]byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// serve gives content under any name, and counts.
func serve(t *testing.T, content []byte) (file download.File, asked *int) {
	asked = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked++
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(server.Close)
	return download.File{Path: archive.Path, Size: int64(len(content)), Mirrors: []string{server.URL}}, asked
}

// remains lists what a fetch left behind, but for the lock.
func remains(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(filepath.Join(dir, folderName))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".lock" {
			names = append(names, e.Name())
		}
	}
	return names
}

func anything(layer.Params, string) error { return nil }

func TestFetch(t *testing.T) {
	file, asked := serve(t, archived(t, map[string][]byte{"LICENSE": []byte("…"), graphName: synthetic()}))
	dir, ctx := t.TempDir(), context.Background()

	// The synthetic graph is not that of 2015, and its archive does not stay.
	var mismatch *MismatchError
	if err := (fetch{file: file, check: checkPrints}).into(ctx, dir); !errors.As(err, &mismatch) || mismatch.Parameter != "conv.weight" {
		t.Fatalf("%v, want *MismatchError about conv.weight", err)
	}
	if left := remains(t, dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	var missing *NotFoundError
	if _, err := Open(dir); !errors.As(err, &missing) || !strings.Contains(err.Error(), "molehill data fetch inception") {
		t.Errorf("%v, want *NotFoundError", err)
	}

	var last download.Progress
	f := fetch{download.Downloader{Report: func(p download.Progress) { last = p }}, file, anything}
	if err := f.into(ctx, dir); err != nil {
		t.Fatal(err)
	}
	if last.Done != file.Size || last.Total != file.Size {
		t.Errorf("progress ended at %+v", last)
	}
	path := filepath.Join(dir, folderName, archiveName)
	n, err := openArchive(path, anything)
	if err != nil || n.Dim() != Full || n.Metric() != "fid" || Installed(dir) != "fid" {
		t.Fatalf("%v, called %s, %v", n, Installed(dir), err)
	}
	k, m, v, beta := moments(0, convs(full())[0])
	scale := 1 / math.Sqrt(float64(v)+0.001)
	if w, b := n.params[0].Value[5], n.params[1].Value[5]; !(math.Abs(float64(w)-float64(k)*scale) <= 1e-7 && math.Abs(float64(b)-(float64(beta)-float64(m)*scale)) <= 1e-7) {
		t.Errorf("weight %v and bias %v of the first layer", w, b)
	}
	// What is there is not fetched again, and opening it checks it.
	before := *asked
	if err := f.into(ctx, dir); err != nil || *asked != before {
		t.Errorf("%d more requests, %v", *asked-before, err)
	}
	if _, err := Open(dir); !errors.As(err, &mismatch) {
		t.Errorf("%v, want *MismatchError", err)
	}
	if err := os.Truncate(path, 1000); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged file was opened: %v", err)
	}
	if err := f.into(ctx, dir); err != nil {
		t.Errorf("a damaged file was not replaced: %v", err)
	}
	if left := remains(t, dir); !slices.Equal(left, []string{archiveName}) {
		t.Errorf("left %v, want only %s", left, archiveName)
	}
	t.Run("features", func(t *testing.T) { syntheticFeatures(t, n) })
}

func TestFetchRefusesOtherArchives(t *testing.T) {
	for name, content := range map[string][]byte{
		"no archive":  []byte("<html>"),
		"no graph":    archived(t, map[string][]byte{"LICENSE": []byte("…")}),
		"no GraphDef": archived(t, map[string][]byte{graphName: []byte("\xff\xff\xff\xff\xff")}),
		"cut short":   archived(t, map[string][]byte{graphName: synthetic()})[:3000],
	} {
		file, _ := serve(t, content)
		dir := t.TempDir()
		if err := (fetch{file: file, check: anything}).into(context.Background(), dir); err == nil {
			t.Errorf("%s: fetched", name)
		}
		if left := remains(t, dir); len(left) != 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}
