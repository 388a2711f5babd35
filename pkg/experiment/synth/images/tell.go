package images

import (
	"context"
	"fmt"

	"molehill/pkg/experiment/synth"
	"molehill/pkg/report"
	"molehill/pkg/run"
	"molehill/viz"
)

// notCovered is what the promise does not cover, beyond what experiment.Promise adds.
func (k known) notCovered() []string {
	out := []string{
		"the schema: the size of the images, how others are brought to it, and the classes were declared public by whoever confirmed it",
		"the classes' number and names; which class an image is of is protected like the rest of it",
		"people in several images: the promise is for an image; for k images of one person ε is up to k times as large, and δ larger too",
		"what is true of all images: that is what synthetic ones are for",
		"which files count as images, by the endings of their names and the folders they lie in: one that is damaged, too large or of no class counts as a grey image, and stops nothing, unless `molehill synth` finds most to be such",
		"that an archive is well formed: its arrays have one shape for all images, and what does not fit stops the run",
		"what the keeper of the images looks at to judge the result (" + synth.KeeperFile + "): it is not private",
	}
	if k.schema.Classes == nil {
		out = append(out[:1], out[2:]...)
	}
	return append(out, k.code.notCovered()...)
}

// What a sheet shows.
const (
	sheetOfClass = 12 // images of each class
	sheetClasses = 20
	sheetAlone   = 64 // images without classes
)

// sheet chooses what a sheet shows: rows of images and the names beside them.
func sheet(labels []int, names []string) (rows []int, of viz.Images) {
	if len(names) < 2 {
		for i := range min(sheetAlone, len(labels)) {
			rows = append(rows, i)
		}
		return rows, of
	}
	members := make([][]int, len(names))
	for i, label := range labels {
		members[label] = append(members[label], i)
	}
	of.Cols = sheetOfClass
	for class := range min(sheetClasses, len(names)) {
		its := members[class]
		for k := range sheetOfClass {
			row := -1 // an empty place
			if k < len(its) {
				row = its[k*len(its)/min(len(its), sheetOfClass)]
			}
			rows = append(rows, row)
		}
		of.RowLabels = append(of.RowLabels, names[class])
	}
	return rows, of
}

// sheet draws some of the synthetic images of each class.
func (m *made) sheet(ctx context.Context) (viz.Images, error) {
	rows, of := sheet(m.labels, m.schema.Names())
	size := m.schema.Images.Dim()
	of.Title, of.Height, of.Width, of.Channels = "Synthetic images", m.schema.Images.Height, m.schema.Images.Width, m.schema.Images.Channels
	var there []int
	for _, i := range rows {
		if i >= 0 {
			there = append(there, i)
		}
	}
	// All at once: a model takes as long for a few.
	images, err := m.code.decode(ctx, m.points.Subset(there))
	if err != nil {
		return of, err
	}
	of.X = make([]float32, len(rows)*size)
	for k, i := range rows {
		if at := of.X[k*size : (k+1)*size]; i < 0 {
			blank(at)
		} else {
			images = images[copy(at, images):]
		}
	}
	if len(m.schema.Names()) > sheetClasses {
		of.Caption = fmt.Sprintf("The first %d of %d classes.", sheetClasses, len(m.schema.Names()))
	}
	return of, nil
}

// blank fills the place of an image that there is none for with white.
func blank(dst []float32) {
	for i := range dst {
		dst[i] = 1
	}
}

func counted(images int) string {
	if images == 1 {
		return "1 synthetic image"
	}
	return fmt.Sprintf("%d synthetic images", images)
}

// Tell tells of the synthetic images, of which some are drawn.
func (k known) Tell(ctx context.Context, r *run.Run, n int, p placed, released report.Section) (synth.Told, error) {
	m := made{k, p}
	shown, err := m.sheet(ctx)
	if err != nil {
		return synth.Told{}, err
	}
	return synth.Told{
		Record: "image", Released: m.seen(released, shown), Declared: k.declared(), Through: k.code.says(),
		Summary: fmt.Sprintf("%s of %v, made of %d private ones", counted(p.points.Len()), k.schema.Images.Shape, n),
		Unseen:  "This report looks at the release and the synthetic images, and at no private one. What compares with those is not private; it is in another report, for their keeper.",
		Note:    "what looks at the private images is in the keeper's report, if their keeper has asked for it",
	}, r.WriteFile(SheetFile, shown.PNG)
}

// seen completes the section of what was released by what it was released of, and by
// what was made of it.
func (m *made) seen(s report.Section, shown viz.Images) report.Section {
	s.Figures = append([]viz.Figure{shown}, s.Figures...)
	s.Text = append([]string{fmt.Sprintf("Every image became a point of a sphere in %d dimensions, through %s.", m.points.Dim, m.code.says())}, s.Text...)
	s.Text = append(s.Text, "Synthetic images show what the code and these releases can: more detail than the code has is not in them.")
	return s
}

// declared is the section of what the schema declares.
func (k known) declared() report.Section {
	t := viz.Table{Header: []string{"", "declared public"}}
	for _, p := range k.schema.Parts() {
		t.Add(p.Name, p.Says)
	}
	return report.Section{Heading: "What was declared public", Tables: []viz.Table{t},
		Text: []string{"Whoever confirmed the schema has said that this is known without looking at the images. If any of it was read off them, the promise does not hold for it."}}
}
